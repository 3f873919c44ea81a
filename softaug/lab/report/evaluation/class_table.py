"""Error, NLL and Brier score of every class."""

from collections.abc import Sequence

from softaug.lab.report.evaluation.shapes import Arm, PerClass
from softaug.lab.report.evaluation.tables import Cell, Table, number, plain_table, whole


def class_table(arms: Sequence[Arm]) -> Table:
    """A row for each class, with each arm's means over seeds."""
    first = arms[0]["evaluations"][0]
    rows = [
        [
            Cell(name),
            whole(first["per_class"]["count"][place]),
            *(cell for arm in arms for cell in _cells(arm, place)),
        ]
        for place, name in enumerate(first["class_names"])
    ]
    before = [f"{arm['name']}: " if len(arms) > 1 else "" for arm in arms]
    heads = [f"{arm}{told}" for arm in before for told in ("error, %", "NLL", "Brier score")]
    caption = f"Every class of the {first['split']} images; means over seeds, before scaling."
    return plain_table("every-class", caption, ["Class", "Images", *heads], rows)


def _cells(arm: Arm, place: int) -> list[Cell]:
    parts = [evaluation["per_class"] for evaluation in arm["evaluations"]]
    return [
        number(class_mean(parts, "error", place), 1, 100),
        number(class_mean(parts, "nll", place), 3),
        number(class_mean(parts, "brier", place), 3),
    ]


def class_mean(parts: Sequence[PerClass], key: str, place: int) -> float | None:
    """Mean over evaluations of a class's number; None where the class has no image."""
    columns = [{"error": p["error"], "nll": p["nll"], "brier": p["brier"]}[key] for p in parts]
    known = [value for column in columns if (value := column[place]) is not None]
    return sum(known) / len(known) if known else None
