"""Images in rows with the answers of several networks beneath, for print."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from softaug.lab.report.evaluation.drawing import Colours, literal
from softaug.lab.report.evaluation.examples import Answer, Card
from softaug.lab.report.evaluation.reading import open_png

_SMALL = 6.0  # points
_LINE = 1.25 * _SMALL
_COARSE = 96  # pixels: below, an image shows its pixels as squares
_LETTERS = 84  # of class names that a line of answers has room for, beside their confidences


def grid_height(rows: Sequence[Sequence[Card]], width: float) -> float:
    """Inches that the rows take at a width in inches."""
    cell = 72 * width / max(map(len, rows))
    num_answers = max(len(card.answers) for row in rows for card in row)
    heads = 1 if _is_series(rows) else 2 * len(rows)
    return (24 + heads * _LINE + len(rows) * (cell + (num_answers + 0.5) * _LINE)) / 72


def draw_answers(figure: Figure, rows: Sequence[Sequence[Card]], colours: Colours) -> None:
    """A row of axes for each row of cards; the arms are named above by letter.

    Where each row is one image, its class stands once, beside it, and what was done to the
    images of a column once above.
    """
    every = figure.subplots(len(rows), max(map(len, rows)), squeeze=False)
    head = _head_of_series if _is_series(rows) else _head
    for down, row in enumerate(rows):
        for axes in every[down, len(row) :]:
            axes.set_axis_off()
        for across, card in enumerate(row):
            axes = every[down, across]
            _draw_card(axes, card, colours, _LETTERS // every.shape[1])
            head(axes, card, down, across)
    figure.legend(
        handles=_arms(rows[0][0].answers, colours),
        loc="outside upper left",
        ncols=len(rows[0][0].answers),
        handletextpad=0.2,
    )


def letter(place: int) -> str:
    """What stands for an arm below the images."""
    return chr(ord("A") + place % 26)


def _arms(answers: Sequence[Answer], colours: Colours) -> list[Line2D]:
    return [
        Line2D(
            [],
            [],
            linestyle="none",
            marker=rf"$\mathsf{{{letter(place)}}}$",
            color=colours(place),
            markersize=5,
            markeredgewidth=0,
            label=literal(answer.arm),
        )
        for place, answer in enumerate(answers)
    ]


def _is_series(rows: Sequence[Sequence[Card]]) -> bool:
    """Whether each row is of one class, and each column of one kind."""
    alike = all(len({card.label for card in row}) == 1 for row in rows)
    return alike and len({tuple(card.note for card in row) for row in rows}) == 1


def _head(axes: Axes, card: Card, down: int, across: int) -> None:
    axes.set_title(f"{literal(card.label, 20)}\n{literal(card.note, 24)}", fontsize=_SMALL, pad=2)


def _head_of_series(axes: Axes, card: Card, down: int, across: int) -> None:
    if down == 0:
        axes.set_title(literal(card.note, 24), fontsize=_SMALL, pad=2)
    if across == 0:
        axes.set_ylabel(literal(card.label, 24), fontsize=_SMALL, labelpad=2)


def _draw_card(axes: Axes, card: Card, colours: Colours, num_letters: int) -> None:
    coarse = card.width < _COARSE
    axes.imshow(open_png(card.png), interpolation="nearest" if coarse else "antialiased")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.grid(False)
    for place, answer in enumerate(card.answers):
        axes.annotate(
            answer_text(place, answer, num_letters),
            (0, 0),
            (0, -_LINE * (place + 0.9)),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=_SMALL,
            color=colours(place),
        )


def answer_text(place: int, answer: Answer, num_letters: int = 14) -> str:
    """What an arm says, the class in few letters.

    >>> answer_text(1, Answer("soft", True, "golf ball", 0.874, ""))
    'B ✓ golf ball, 87 %'
    """
    sign, name = "✓" if answer.right else "✗", literal(answer.name, num_letters)
    return f"{letter(place)} {sign} {name}, {100 * answer.confidence:.0f} %"
