"""Images with what each arm says of them, whole and occluded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.evaluation.drawing import Colours, Picture, literal
from softaug.lab.report.evaluation.reading import open_png
from softaug.lab.report.evaluation.shapes import Answered, Arm, Evaluation

_ACROSS, _CELL = 6, 92  # images beside each other; points for each


@dataclass(frozen=True)
class Answer:
    """What one arm says: its first answer, and the others as a text."""

    arm: str
    right: bool
    name: str
    confidence: float
    others: str


@dataclass(frozen=True)
class Card:
    """An image, its class, and the answer of each arm."""

    png: str
    width: int
    height: int
    label: str
    note: str
    answers: tuple[Answer, ...]

    @property
    def differ(self) -> bool:
        return len({answer.name for answer in self.answers}) > 1


def shown_evaluations(arms: Sequence[Arm]) -> dict[str, tuple[int, Evaluation]]:
    """The seed and evaluation of each arm whose answers are shown: one seed, if all share one."""
    common = [seed for seed in arms[0]["seeds"] if all(seed in arm["seeds"] for arm in arms)]
    found = {}
    for arm in arms:
        place = arm["seeds"].index(common[0]) if common else 0
        found[arm["name"]] = (arm["seeds"][place], arm["evaluations"][place])
    return found


def whole_cards(arms: Sequence[Arm]) -> list[Card]:
    """The images as they are."""
    shown = {name: e["examples"]["whole"] for name, (_, e) in shown_evaluations(arms).items()}
    first = arms[0]["evaluations"][0]
    names, split = first["class_names"], first["split"]
    cards = []
    for place, example in enumerate(shown[arms[0]["name"]]):
        seen = {name: examples[place] for name, examples in shown.items()}
        note = f"{split} image {example['index']}"
        cards.append(_card(example, example["label"], note, seen, names))
    return cards


def occluded_cards(arms: Sequence[Arm]) -> list[list[Card]]:
    """For each of the first images a row of cards, one for each hidden share."""
    shown = {name: e["examples"] for name, (_, e) in shown_evaluations(arms).items()}
    names, first = arms[0]["evaluations"][0]["class_names"], shown[arms[0]["name"]]
    rows: list[list[Card]] = []
    for place, example in enumerate(first["whole"]):
        row = []
        for level, hidden in enumerate(first["occluded"]):
            if place < len(hidden["images"]):
                seen = {arm: e["occluded"][level]["images"][place] for arm, e in shown.items()}
                note = f"{100 * hidden['share']:.0f} % hidden"
                row.append(_card(hidden["images"][place], example["label"], note, seen, names))
        rows += [row] if row else []
    return rows


def _card(
    image: Answered, label: int, note: str, seen: Mapping[str, Answered], names: Sequence[str]
) -> Card:
    picture = open_png(image["png"])
    answers = tuple(_answer(name, part, label, names) for name, part in seen.items())
    return Card(image["png"], picture.width, picture.height, names[label], note, answers)


def _answer(arm: str, image: Answered, label: int, names: Sequence[str]) -> Answer:
    (number, confidence), *rest = image["answers"]
    others = ", ".join(f"{names[int(n)]}: {100 * share:.1f} %" for n, share in rest)
    return Answer(arm, int(number) == label, names[int(number)], confidence, others)


def example_pictures(whole: Sequence[Card], occluded: Sequence[Sequence[Card]]) -> list[Picture]:
    """The same as figures for a paper; the page shows cards in their place."""
    found = []
    if whole:
        rows = [whole[at : at + _ACROSS] for at in range(0, len(whole), _ACROSS)]
        found.append(_grid("examples", "Images and the answers to them", rows))
    if occluded:
        found.append(_grid("occluded-examples", "Images with a part hidden", occluded))
    return found


def _grid(name: str, title: str, rows: Sequence[Sequence[Card]]) -> Picture:
    across = max(map(len, rows))
    num_lines = 2 + max(len(card.answers) for row in rows for card in row)

    def draw(figure: Figure, colours: Colours) -> None:
        every = figure.subplots(len(rows), across, squeeze=False)
        for axes_row, row in zip(every, rows, strict=True):
            for axes in axes_row:
                axes.axis("off")
            for axes, card in zip(axes_row, row, strict=False):
                _draw_card(axes, card, colours)
        lines = "\n".join(literal(arm, 12 * across + 12) for arm in arms)
        figure.suptitle(lines, x=0.01, ha="left", fontsize=7)

    arms = [f"{_letter(i)}: {answer.arm}" for i, answer in enumerate(rows[0][0].answers)]
    told = ", ".join(arms)
    alt = f"{title}. Below each: its class, then each arm’s answer with its confidence. {told}."
    height = 10 + 10 * len(arms) + len(rows) * (_CELL - 10 + 10 * num_lines)
    return Picture(name, alt, alt, height, draw, width=across * _CELL)


def _letter(place: int) -> str:
    return chr(ord("A") + place % 26)


def _draw_card(axes: Axes, card: Card, colours: Colours) -> None:
    axes.imshow(open_png(card.png), interpolation="nearest")
    axes.set_title(f"{literal(card.label, 16)}\n{literal(card.note, 18)}", fontsize=7)
    for place, answer in enumerate(card.answers):
        sign = "✓" if answer.right else "✗"
        confidence = f"{100 * answer.confidence:.0f} %"
        text = f"{_letter(place)} {sign} {literal(answer.name, 12)}, {confidence}"
        axes.annotate(
            text,
            (0.5, 0),
            (0, -9 - 9 * place),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            fontsize=7,
            color=colours(place),
        )
