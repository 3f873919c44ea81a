"""Example images with what each arm answers: read from evaluations, drawn in one figure."""

import base64
import binascii
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure as MplFigure
from matplotlib.lines import Line2D
from PIL import Image

from softaug.checks import describe, refuse
from softaug.lab.report.charts import add_legend_above, literal
from softaug.lab.report.model import WIDE, Colors, Figure, format_list
from softaug.lab.schema import Arm, Evaluation, ImagePrediction

_COARSE = 96  # pixels: below, an image shows its pixels as squares
_LINE = 10  # points
_ACROSS = 6  # images beside each other


@dataclass(frozen=True)
class Card:
    """An image with words above, and lines below: one, or one for each arm."""

    image: Any
    """a picture, or RGB pixels [H, W, 3]"""
    label: str
    note: str
    lines: tuple[str, ...]


def crops_figure(arm: str, cards: Sequence[Card]) -> Figure:
    """Draw images as an arm's training sees them, with the target of each one's class."""
    caption = (
        f"Images as “{arm}” is trained on them: the farthest of eight crops of each. The "
        "less of the image is visible, the lower the target of its class."
    )
    return _draw_later("crops", caption, (cards,), (), WIDE)


def shown_evaluations(arms: Sequence[Arm]) -> dict[str, Evaluation]:
    """Choose the evaluation of each arm whose answers are shown: one seed, if all share one."""
    common = [seed for seed in arms[0].seeds if all(seed in arm.seeds for arm in arms)]
    places = {arm.name: arm.seeds.index(common[0]) if common else 0 for arm in arms}
    return {arm.name: arm.evaluations[places[arm.name]] for arm in arms}


def whole_cards(arms: Sequence[Arm]) -> list[list[Card]]:
    """Make a card of each example as it is, in rows."""
    shown = {name: one.examples.whole for name, one in shown_evaluations(arms).items()}
    first = arms[0].evaluations[0]
    cards = []
    for place, example in enumerate(shown[arms[0].name]):
        seen = {name: examples[place] for name, examples in shown.items()}
        note = f"{first.split} image {example.index}"
        cards.append(_card(example.label, note, seen, first.class_names))
    return [cards[at : at + _ACROSS] for at in range(0, len(cards), _ACROSS)]


def occluded_cards(arms: Sequence[Arm]) -> list[list[Card]]:
    """Make a row of cards of each of the first examples, one for each hidden share."""
    shown = {name: one.examples for name, one in shown_evaluations(arms).items()}
    names, first = arms[0].evaluations[0].class_names, shown[arms[0].name]
    rows: list[list[Card]] = []
    for place, example in enumerate(first.whole):
        row = []
        for level, hidden in enumerate(first.occluded):
            if place < len(hidden.images):
                seen = {arm: one.occluded[level].images[place] for arm, one in shown.items()}
                note = f"{100 * hidden.share:.0f} % hidden"
                row.append(_card(example.label, note, seen, names))
        rows += [row] if row else []
    return rows


def _card(label: int, note: str, seen: Mapping[str, ImagePrediction], names: Sequence[str]) -> Card:
    lines = []
    for place, image in enumerate(seen.values()):
        number, confidence = image.answers[0]
        sign, name = "✓" if number == label else "✗", literal(names[number], 15)
        lines.append(f"{_letter(place)} {sign} {name}, {100 * confidence:.0f} %")
    return Card(_open_png(next(iter(seen.values())).png), names[label], note, tuple(lines))


def _letter(place: int) -> str:
    """What stands for an arm below the images."""
    return chr(ord("A") + place % 26)


def _open_png(text: str) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(text, validate=True)), formats=["PNG"])
        return picture.convert("RGB")
    except (binascii.Error, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        remedy = "run `softaug evaluate` again"
        refuse("report", "examples must be PNG pictures", describe(text), remedy)


def answers_figure(name: str, rows: Sequence[Sequence[Card]], arms: Sequence[Arm]) -> Figure:
    """Draw rows of images with the answers of arms."""
    labels = [f"{_letter(place)} {arm.name}" for place, arm in enumerate(arms)]
    caption = f"Below each image the answer and confidence of {format_list(labels)}."
    return _draw_later(name, caption, rows, labels, WIDE)


def _draw_later(
    name: str, caption: str, rows: Sequence[Sequence[Card]], arms: Sequence[str], width: float
) -> Figure:
    cards = [card for row in rows for card in row]
    told = "; ".join(f"{one.label}, {one.note}: {', '.join(one.lines)}" for one in cards)
    across = max(map(len, rows))
    height = 24 + len(rows) * (width / across + _LINE * (3 + len(cards[0].lines)))
    draw = partial(_draw_cards, rows, across, arms)
    return Figure(name, f"{caption} {told}.", caption, draw, height, width)


def _draw_cards(
    rows: Sequence[Sequence[Card]],
    across: int,
    arms: Sequence[str],
    figure: MplFigure,
    colors: Colors,
) -> None:
    every = figure.subplots(len(rows), across, squeeze=False)
    for (down, right), axes in np.ndenumerate(every):
        axes.set_axis_off()
        if right >= len(rows[down]):
            continue
        card = rows[down][right]
        pixels = np.asarray(card.image)
        axes.imshow(pixels, interpolation="none" if len(pixels) < _COARSE else "antialiased")
        axes.set_title(f"{literal(card.label, 20)}\n{card.note}", fontsize=8, pad=2)
        for place, line in enumerate(card.lines):
            axes.annotate(
                line,
                (0, 0),
                (0, -_LINE * (place + 1)),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=8,
                color=colors(place),
            )
    handles = [Line2D([], [], color=colors(place), linewidth=4) for place in range(len(arms))]
    add_legend_above(figure, handles, [literal(arm) for arm in arms])
