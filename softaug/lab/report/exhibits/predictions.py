"""Figures 4, 6 and 7: images, whole or partly hidden, with each arm's answer and confidence."""

from collections.abc import Sequence
from pathlib import Path

from softaug.lab.report.evaluation.examples import Card, occluded_cards, whole_cards
from softaug.lab.report.evaluation.reading import check_comparison, read_comparison
from softaug.lab.report.evaluation.shapes import Arm, Comparison
from softaug.lab.report.exhibits.drawing import PAGE, Drawing
from softaug.lab.report.exhibits.progress import evaluations
from softaug.lab.report.exhibits.shapes import Examples
from softaug.lab.report.figures.answers import draw_answers, grid_height

ACROSS = 6  # whole images beside each other
_ROWS = {"figure4": slice(0, 3), "figure7": slice(3, None)}  # of the occluded images
_CHANCE = "The images were drawn at random once for all runs, not chosen."


def predictions_drawing(exhibit: Examples, folder: Path) -> Drawing | None:
    """The images that the runs kept, with the answers of those that are evaluated; else None."""
    arms = read_arms(exhibit, folder)
    rows = _rows(exhibit["name"], arms) if arms else []
    if not rows:
        return None
    names = [arm["name"] for arm in arms]
    told = ", ".join(names)
    alt = f"{len(rows)} rows of images with the class and the answer of each arm: {told}."
    caption = (
        f"Below each image the answer and confidence of {told}; ✓ right, ✗ wrong. One run each. "
        f"{_CHANCE}"
    )
    height = grid_height(rows, PAGE)
    return Drawing(
        alt, caption, PAGE, height, lambda f, c: draw_answers(f, rows, c), cards=tuple(rows)
    )


def read_arms(exhibit: Examples, folder: Path) -> list[Arm]:
    """The arms whose runs are evaluated; all were shown the same images."""
    arms: list[Arm] = []
    for label, file in evaluations(exhibit, folder).items():
        (arm,) = read_comparison(file)["arms"]
        arms.append({**arm, "name": label})
    if arms:
        _check_alike(arms, exhibit["name"])
    return arms


def _check_alike(arms: list[Arm], name: str) -> None:
    """Refuse arms that were shown other images or have one name."""
    together: Comparison = {
        "schema": arms[0]["evaluations"][0]["schema"],
        "kind": "comparison",
        "measures": [],
        "calibration": [],
        "arms": arms,
        "pairs": [],
        "command": "",
        "environment": {},
    }
    check_comparison(together, f"exhibit {name}")


def _rows(name: str, arms: Sequence[Arm]) -> list[tuple[Card, ...]]:
    if name in _ROWS:
        return [tuple(row) for row in occluded_cards(arms)[_ROWS[name]]]
    whole = whole_cards(arms)
    return [tuple(whole[at : at + ACROSS]) for at in range(0, len(whole), ACROSS)]
