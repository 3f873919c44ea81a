"""What changes from class to class, and which classes are taken for which."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from softaug.lab.report.evaluation.class_table import class_mean
from softaug.lab.report.evaluation.drawing import Colours, Picture, literal, slug
from softaug.lab.report.evaluation.shapes import Arm, Comparison, Evaluation, Pair
from softaug.lab.report.evaluation.tables import Cell, Table, number, plain_table, plural, whole
from softaug.lab.report.palette import INK

NUM_CHANGED, NUM_CONFUSED = 10, 15
_NAMED = 20  # classes: more names than that do not fit beside the matrix
_SHADE = to_rgb("#c05a10")  # seen on light and on dark paper


@dataclass(frozen=True)
class Change:
    """A class and its mean error, in percent, in two arms."""

    name: str
    ours: float
    theirs: float
    count: int

    @property
    def change(self) -> float:
        return self.ours - self.theirs


def changes(pair: Pair, comparison: Comparison) -> list[Change]:
    """All classes that have images, from the largest fall of the error to the largest rise."""
    arms = {arm["name"]: arm for arm in comparison["arms"]}
    ours, theirs = (_paired(arms[name], pair) for name in (pair["arm"], pair["against"]))
    first, found = ours[0], []
    for place, name in enumerate(first["class_names"]):
        mine, other = _error(ours, place), _error(theirs, place)
        if mine is not None and other is not None:
            found.append(Change(name, mine, other, first["per_class"]["count"][place]))
    return sorted(found, key=lambda one: one.change)


def _paired(arm: Arm, pair: Pair) -> list[Evaluation]:
    """The evaluations of the shared seeds; all where none is shared."""
    both = zip(arm["seeds"], arm["evaluations"], strict=True)
    return [e for seed, e in both if seed in pair["seeds"]] or arm["evaluations"]


def _error(evaluations: Sequence[Evaluation], place: int) -> float | None:
    found = class_mean([evaluation["per_class"] for evaluation in evaluations], "error", place)
    return None if found is None else 100 * found


def change_picture(pair: Pair, comparison: Comparison, index: int) -> Picture:
    """Bars for the classes that gain and lose most."""
    every = changes(pair, comparison)
    some = len(every) > 2 * NUM_CHANGED
    shown = [*every[:NUM_CHANGED], *every[-NUM_CHANGED:]] if some else every
    better, worse = (sum(1 for c in every if sign * c.change > 0) for sign in (-1, 1))
    which = f"The {NUM_CHANGED} that fall and rise most" if some else "All classes"

    def draw(figure: Figure, colours: Colours) -> None:
        axes = figure.add_subplot()
        places = list(range(len(shown)))
        axes.barh(places, [one.change for one in shown], color=colours(2), alpha=0.6)
        axes.axvline(0, color=INK, linewidth=0.9)
        axes.set_yticks(places, [literal(one.name, 18) for one in shown])
        axes.set_xlabel("change of the error, points\n← better · worse →")
        axes.grid(visible=False, axis="y")
        axes.set_ylim(len(shown) - 0.4, -0.6)

    counts = f"{better} of {len(every)} classes better, {worse} worse"
    alt = f"Change of each class’s error, {pair['arm']} minus {pair['against']}: {counts}"
    if every:
        alt += f"; from {every[0].change:+.1f} ({every[0].name}) to {every[-1].change:+.1f}"
        alt += f" points ({every[-1].name})"
    caption = (
        f"{pair['arm']} minus {pair['against']}: {counts}. {which}; means over shared seeds. "
        "One class has few images: single bars are noisy."
    )
    table = _change_table(f"classes-{index}", shown, pair)
    height = 70 + 14 * max(4, len(shown))
    name = f"class-change-{index}-{slug(pair['arm'])}"
    told = "Classes in numbers, and files"
    return Picture(name, alt + ".", caption, height, draw, table, summary=told)


def _change_table(name: str, shown: Sequence[Change], pair: Pair) -> Table:
    rows = [
        [
            Cell(one.name),
            whole(one.count),
            number(one.theirs, 1),
            number(one.ours, 1),
            number(one.change, 1),
        ]
        for one in shown
    ]
    heads = ["Class", "Images", f"{pair['against']}, error, %", f"{pair['arm']}, error, %"]
    return plain_table(name, "Classes in the figure.", [*heads, "Change, points"], rows)


def confusion_pictures(arms: Sequence[Arm]) -> list[Picture]:
    """A matrix for each arm, all on one scale."""
    top = max(max(map(max, _shares(_summed(arm)))) for arm in arms) or 1.0
    return [_confusion(arm, index, top) for index, arm in enumerate(arms)]


def _shares(matrix: list[list[int]]) -> list[list[float]]:
    """Shares of each true class's images that were taken for each other class."""
    return [
        [0.0 if i == j else count / (sum(row) or 1) for j, count in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def _confusion(arm: Arm, index: int, top: float) -> Picture:
    names = arm["evaluations"][0]["class_names"]
    matrix = _summed(arm)
    totals, shares = [sum(row) for row in matrix], _shares(matrix)

    def draw(figure: Figure, colours: Colours) -> None:
        axes, scale = figure.subplots(2, 1, height_ratios=(24, 1))
        shaded = [[(*_SHADE, share / top) for share in row] for row in shares]
        axes.imshow(shaded, interpolation="none", aspect="equal")
        axes.plot([-0.5, len(names) - 0.5], [-0.5, len(names) - 0.5], color=INK, linewidth=0.5)
        axes.grid(visible=False)
        axes.set(xlabel="answer", ylabel="true class")
        if len(names) <= _NAMED:
            told = [literal(name, 12) for name in names]
            turn = 0 if max(map(len, told)) <= 2 else 90
            axes.set_xticks(range(len(names)), told, rotation=turn)
            axes.set_yticks(range(len(names)), told)
        steps = [[(*_SHADE, step / 31) for step in range(32)]]
        scale.imshow(steps, interpolation="none", aspect="auto", extent=(0, 100 * top, 0, 1))
        scale.set(yticks=[], xlabel="share of the true class, %")
        scale.grid(visible=False)

    pairs = _confused(matrix, totals)
    table = _confused_table(f"confusion-{index}", pairs, names, arm)
    wrong = sum(map(sum, matrix)) - sum(matrix[i][i] for i in range(len(names)))
    alt = f"Confusions of {arm['name']}: {wrong:,} wrong answers"
    if pairs:
        i, j = pairs[0]
        alt += f"; most often {names[i]} was taken for {names[j]}, {matrix[i][j]} of {totals[i]}"
    caption = (
        f"{arm['name']}: {wrong:,} wrong answers of {sum(totals):,}, summed over "
        f"{plural(len(arm['evaluations']), 'seed')}. Rows: true class; columns: answer; the "
        "stronger the colour, the more often. "
        "Right answers, on the diagonal, are left out so that the mistakes can be seen."
    )
    name = f"confusion-{index}-{slug(arm['name'])}"
    told = "The most confused pairs, and files"
    return Picture(name, alt + ".", caption, 330, draw, table, summary=told)


def _summed(arm: Arm) -> list[list[int]]:
    parts = [evaluation["per_class"]["confusion"] for evaluation in arm["evaluations"]]
    return [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]


def _confused(matrix: list[list[int]], totals: list[int]) -> list[tuple[int, int]]:
    """The pairs that are confused most often, as a share of the true class."""
    found = [
        (i, j) for i, row in enumerate(matrix) for j, count in enumerate(row) if i != j and count
    ]
    found.sort(key=lambda pair: -matrix[pair[0]][pair[1]] / totals[pair[0]])
    return found[:NUM_CONFUSED]


def _confused_table(
    name: str, pairs: Sequence[tuple[int, int]], names: Sequence[str], arm: Arm
) -> Table:
    matrix = _summed(arm)
    rows = [
        [
            Cell(names[i]),
            Cell(names[j]),
            whole(matrix[i][j]),
            whole(sum(matrix[i])),
            number(100 * matrix[i][j] / sum(matrix[i]), 1),
        ]
        for i, j in pairs
    ]
    heads = ["True class", "Taken for", "Times", "Images", "Share, %"]
    caption = f"{arm['name']}: the {len(rows)} most confused pairs, summed over seeds."
    return plain_table(name, caption, heads, rows)
