"""How the runs were made: differences of the recipes, seeds, machines, commands."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from softaug.report.evaluation.shapes import Arm, Comparison, Evaluation
from softaug.report.evaluation.tables import NONE, Cell, Table, plain_table

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
    keys = dict.fromkeys(key for column in columns for key in column)
    unlike: list[list[Cell]] = []
    alike: list[list[Cell]] = []
    for key in keys:
        values = [column.get(key, [NONE]) for column in columns]
        if len({value for seeds in values for value in seeds}) == 1:
            alike.append([Cell(key), Cell(values[0][0])])
        else:
            told = (_told(v, arm["seeds"]) for v, arm in zip(values, arms, strict=True))
            unlike.append([Cell(key), *map(Cell, told)])
    heads = ["Setting", *(arm["name"] for arm in arms)]
    caption = "A setting that differs between the seeds of an arm is given for each."
    return (
        plain_table("recipe-differences", caption, heads, unlike),
        plain_table("recipe-shared", "The same in all runs.", ["Setting", "Value"], alike),
    )


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
            Cell(f"{member['step']:,}", member["step"], (str(member["step"]),)),
            Cell(member["folder"]),
            Cell(member["weights_sha256"][:12], csv=(member["weights_sha256"],)),
        ]
        for arm in arms
        for evaluation in arm["evaluations"]
        for member in evaluation["members"]
    ]
    heads = ["Arm", "Seed", "Steps", "Folder", "SHA-256 of the weights"]
    return plain_table("runs", "The trained networks.", heads, rows)


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
    """The commands that make such a file again."""
    evaluations = [e for arm in comparison["arms"] for e in arm["evaluations"]]
    train = [
        f"softaug train {shlex.quote(str(PurePath(member['folder'], 'recipe.json')))}"
        for e in evaluations
        for member in e["members"]
    ]
    evaluate = [_evaluate(e) for e in evaluations]
    if len(evaluations) == 1:
        return [*train, *evaluate]
    folders = " ".join(shlex.quote(_result_folder(e)) for e in evaluations)
    return [*train, *evaluate, f"softaug compare {folders}"]


def _evaluate(evaluation: Evaluation) -> str:
    folders = [shlex.quote(member["folder"]) for member in evaluation["members"]]
    draws = sorted({ordeal["draws"] for ordeal in evaluation["robustness"].values()})
    also = [shlex.quote(f"{name}=...") for name in evaluation["sets"] if name != "test"]
    parts = ["softaug evaluate", *folders]
    parts += ["--ensemble"] if len(folders) > 1 else []
    parts += [f"--draws {draws[0]}"] if draws else []
    parts += ["--also", *also] if also else []
    return " ".join(parts)


def _result_folder(evaluation: Evaluation) -> str:
    """Where `softaug evaluate` puts its result: with the run, or beside the first of several."""
    first = PurePath(evaluation["members"][0]["folder"])
    alone = len(evaluation["members"]) == 1
    return str(first if alone else first.parent / f"ensemble-{first.name}")


def recipes(arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """The name and the whole recipe, as JSON, of each arm's first run."""
    return [
        (arm["name"], json.dumps(arm["evaluations"][0]["recipe"], indent=2, ensure_ascii=False))
        for arm in arms
    ]
