"""How runs were made: differences of their recipes, networks, machines, commands."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from softaug.lab.report.model import NONE, Block, Cell, Code, Section, Table, make_table
from softaug.lab.schema import Arm, Comparison, Environment

_OWN = ("name", "seed")  # differ from run to run by design


def flatten(value: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """List settings with their keys joined by dots.

    >>> dict(flatten({"loss": {"soften": "both"}, "order": ["flip", "crop"]}))
    {'loss.soften': 'both', 'order': '["flip", "crop"]'}
    """
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from flatten(part, f"{before}{key}.")
        else:
            text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
            yield f"{before}{key}", text


def recipe_settings(arm: Arm) -> dict[str, list[str]]:
    """Return each setting of an arm's recipe with its value for each seed."""
    recipes = [dict(flatten(evaluation.recipe)) for evaluation in arm.evaluations]
    keys = dict.fromkeys(key for recipe in recipes for key in recipe if key not in _OWN)
    return {key: [recipe.get(key, NONE) for recipe in recipes] for key in keys}


def settings_section(comparison: Comparison) -> Section:
    """Build the last section: what differs, recipes, networks, commands, machines."""
    arms = comparison.arms
    differing = difference_table(arms)
    blocks: list[Block] = []
    if differing.rows:
        blocks.append(differing)
    elif len(arms) > 1:
        blocks.append("The recipes differ in nothing but name and seed.")
    for arm in arms:
        recipe = json.dumps(arm.evaluations[0].recipe, indent=2, ensure_ascii=False)
        blocks.append(Section(f"The whole recipe of {arm.name}", (Code(recipe),)))
    data = (
        "The commands that make these results again. Data sets are looked for in $SOFTAUG_DATA, "
        "else in a cache folder; --data-dir names another."
    )
    blocks += [_member_table(arms), data, Code("\n".join(list_commands(comparison)))]
    environments = [one.environment for arm in arms for one in arm.evaluations]
    blocks.append(environment_table([*environments, comparison.environment]))
    return Section("Settings, commands and machines", tuple(blocks))


def difference_table(arms: Sequence[Arm]) -> Table:
    """Tabulate settings in which arms, or seeds of one arm, differ."""
    columns = [recipe_settings(arm) for arm in arms]
    rows: list[list[Cell]] = []
    keys = dict.fromkeys(key for column in columns for key in column)
    for key in keys:
        if any(other.startswith(f"{key}.") for other in keys):
            continue  # a part that only some recipes have (mix): its own settings tell (mix.kind)
        values = [column.get(key, [NONE]) for column in columns]
        if len({value for seeds in values for value in seeds}) > 1:
            texts = (_by_seed(v, arm.seeds) for v, arm in zip(values, arms, strict=True))
            rows.append([Cell(key), *map(Cell, texts)])
    caption = (
        "A setting that differs between the seeds of an arm is given for each; "
        f"{NONE} where a recipe has no such part."
    )
    heads = ["Setting", *(arm.name for arm in arms)]
    return make_table("settings", "Settings that differ", heads, rows, caption, heads)


def _by_seed(values: Sequence[str], seeds: Sequence[int]) -> str:
    if len(set(values)) == 1:
        return values[0]
    both = zip(values, seeds, strict=True)
    return "; ".join(f"{value} (seed {seed})" for value, seed in both)


def _member_table(arms: Sequence[Arm]) -> Table:
    rows = []
    for arm in arms:
        for member in (member for one in arm.evaluations for member in one.members):
            of_all = "" if member.finished else f" of {member.num_steps:,}"
            steps = f"{member.step:,}{of_all}"
            texts = (arm.name, str(member.seed), steps, member.folder, member.weights_sha256[:12])
            rows.append(list(map(Cell, texts)))
    words = ("Folder", "SHA-256 of the weights")
    return make_table("runs", "Trained networks", ("Arm", "Seed", "Steps", *words), rows, "", words)


def environment_table(environments: Sequence[Environment]) -> Table:
    """Tabulate versions and hardware; all values where they differ."""
    rows = []
    for key in dict.fromkeys(key for one in environments for key in one):
        found = dict.fromkeys(one[key] for one in environments if key in one)
        values = ["not known" if value is None else str(value) for value in found]
        if key == "date" and len(values) > 1:
            values = [f"{min(values)} to {max(values)}"]
        rows.append([Cell(key), Cell("; ".join(values))])
    return make_table("environment", "Made with", ("", "Value"), rows, "", ("Value",))


def list_commands(comparison: Comparison) -> list[str]:
    """List the commands that make such a file again: train, evaluate, compare."""
    evaluations = [one for arm in comparison.arms for one in arm.evaluations]
    folders = dict.fromkeys(member.folder for one in evaluations for member in one.members)
    train = [
        shlex.join(["softaug", "train", str(PurePath(folder, "recipe.json")), "--out", folder])
        for folder in folders
    ]
    compare = [comparison.command] if comparison.command else []
    return [*train, *(one.command for one in evaluations), *compare]
