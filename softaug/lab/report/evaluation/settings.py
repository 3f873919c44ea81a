"""How the runs were made: differences of the recipes, seeds, machines, commands."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from softaug.lab.report.evaluation.shapes import Arm, Comparison, Member
from softaug.lab.report.evaluation.tables import NONE, Cell, Column, Table, plain_table

_OWN = ("name", "seed")  # differ from run to run by design


def flat(value: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """Settings with their places joined by dots.

    >>> dict(flat({"loss": {"soften": "both"}, "order": ["flip", "crop"]}))
    {'loss.soften': 'both', 'order': '["flip", "crop"]'}
    """
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from flat(part, f"{before}{key}.")
        else:
            text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
            yield f"{before}{key}", text


def recipe_tables(arms: Sequence[Arm]) -> tuple[Table, Table]:
    """The settings in which arms, or seeds of one arm, differ; and those that all share."""
    columns = [recipe_settings(arm) for arm in arms]
    unlike: list[list[Cell]] = []
    alike: list[list[Cell]] = []
    for key in _keys(columns):
        values = [column.get(key, [NONE]) for column in columns]
        if len({value for seeds in values for value in seeds}) == 1:
            alike.append([Cell(key), Cell(values[0][0])])
        else:
            told = (_told(v, arm["seeds"]) for v, arm in zip(values, arms, strict=True))
            unlike.append([Cell(key), *map(Cell, told)])
    heads = ["Setting", *(arm["name"] for arm in arms)]
    caption = (
        "A setting that differs between the seeds of an arm is given for each; "
        f"{NONE} where a recipe has no such part."
    )
    return (
        plain_table("recipe-differences", caption, heads, unlike),
        plain_table("recipe-shared", "The same in all runs.", ["Setting", "Value"], alike),
    )


def _keys(columns: Sequence[Mapping[str, object]]) -> list[str]:
    """All settings; a part that only some recipes have (mix) by its own ones (mix.kind)."""
    keys = dict.fromkeys(key for column in columns for key in column)
    return [key for key in keys if not any(other.startswith(f"{key}.") for other in keys)]


def recipe_settings(arm: Arm) -> dict[str, list[str]]:
    """Each setting of an arm's recipe with its value for each seed."""
    recipes = [dict(flat(evaluation["recipe"])) for evaluation in arm["evaluations"]]
    keys = dict.fromkeys(key for recipe in recipes for key in recipe if key not in _OWN)
    return {key: [recipe.get(key, NONE) for recipe in recipes] for key in keys}


def _told(values: Sequence[str], seeds: Sequence[int]) -> str:
    """One value, or each seed's where they differ."""
    if len(set(values)) == 1:
        return values[0]
    both = zip(values, seeds, strict=True)
    return "; ".join(f"{value} (seed {seed})" for value, seed in both)


def member_table(arms: Sequence[Arm]) -> Table:
    """Every trained network: where it lies, how long it trained, its weights."""
    rows = [
        [
            Cell(arm["name"]),
            Cell(str(member["seed"]), member["seed"]),
            Cell(_steps(member), member["step"], (str(member["step"]), str(member["num_steps"]))),
            Cell(member["folder"]),
            Cell(member["weights_sha256"][:12], csv=(member["weights_sha256"],)),
        ]
        for arm in arms
        for evaluation in arm["evaluations"]
        for member in evaluation["members"]
    ]
    columns = (
        *(Column("Arm"), Column("Seed"), Column("Steps", ("Step", "Steps in all"))),
        *(Column("Folder"), Column("SHA-256 of the weights")),
    )
    return Table("runs", "The trained networks.", columns, tuple(map(tuple, rows)))


def _steps(member: Member) -> str:
    rest = "" if member["finished"] else f" of {member['num_steps']:,}"
    return f"{member['step']:,}{rest}"


def environment_rows(comparison: Comparison) -> list[tuple[str, str]]:
    """Versions and hardware of the evaluations and the comparison; all values where they differ."""
    every = [e["environment"] for arm in comparison["arms"] for e in arm["evaluations"]]
    every.append(comparison["environment"])
    keys = dict.fromkeys(key for one in every for key in one)
    rows = []
    for key in keys:
        values = list(dict.fromkeys(_plain(one[key]) for one in every if key in one))
        if key == "date" and len(values) > 1:
            values = [f"{min(values)} to {max(values)}"]
        rows.append((key, "; ".join(values)))
    return rows


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    return value if isinstance(value, str) else json.dumps(value)


def commands(comparison: Comparison) -> list[str]:
    """The commands that make such a file again: train, evaluate, compare."""
    evaluations = [e for arm in comparison["arms"] for e in arm["evaluations"]]
    folders = dict.fromkeys(m["folder"] for e in evaluations for m in e["members"])
    evaluate = [evaluation["command"] for evaluation in evaluations]
    compare = [comparison["command"]] if comparison["command"] else []
    return [*map(_train, folders), *evaluate, *compare]


def _train(folder: str) -> str:
    recipe = str(PurePath(folder, "recipe.json"))
    return shlex.join(["softaug", "train", recipe, "--out", folder])


def recipes(arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """The name and the whole recipe, as JSON, of each arm's first run."""
    return [
        (arm["name"], json.dumps(arm["evaluations"][0]["recipe"], indent=2, ensure_ascii=False))
        for arm in arms
    ]
