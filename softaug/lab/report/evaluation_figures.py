"""The figures of an evaluation or a comparison, each with its words and numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report import charts
from softaug.lab.report.charts import Bin, Dot, DotRow, Line, Spread
from softaug.lab.report.findings import find_difference, lean
from softaug.lab.report.model import (
    NONE,
    Answer,
    Card,
    Cell,
    Column,
    Figure,
    capitalize,
    count_cell,
    make_cell,
    make_table,
    number_cell,
    plural,
    slug,
)
from softaug.lab.report.style import GRAY
from softaug.lab.schema import Arm, Comparison, Evaluation, ImagePrediction, MetricSpec, Pair

# Crops: what an arm was trained on.


def crops_figure(arm: str, crops: Sequence[charts.TrainingCrop]) -> Figure:
    """Draw images as an arm's training sees them, with the target of each one's class."""
    shown = "; ".join(f"{one.label} {100 * one.visible:.0f} %, {one.target:.2f}" for one in crops)
    return Figure(
        name="crops",
        alt=f"Training images of {arm}, visible share and target of the class: {shown}.",
        caption=(
            f"What the arm {arm!r} is trained on, the farthest of eight crops of each image: the "
            "less is visible, the softer the target."
        ),
        draw=partial(charts.draw_crops, crops),
        height=235,
    )


# Differences: the picture that a comparison opens with.

_WIDE = 720
_UNITS = {  # a group of metrics in one unit, by what their keys begin with
    "Error, points": ("error", "top5_error", "knn"),
    "NLL and Brier score": ("nll", "brier"),
    "Calibration error, points": ("ece_15",),
    "Accuracy, part of the image hidden, points": ("occlusion/",),
    "Accuracy, moved out of frame, points": ("shift/",),
    "Accuracy, noise, points": ("noise/",),
}
_NEAR_COPIES = ("ece_15_mass",)  # in the table only: ECE by other bins
_OF_EXTRA_SETS = ("error", "nll", "ece_15")
_COLOR = {"better": 2, "worse": 1}  # of one pair, by its verdict; else gray


def difference_figure(comparison: Comparison) -> Figure:
    """Draw the difference of each metric with its interval, better to the right."""
    pairs = comparison.pairs
    groups: dict[str, list[DotRow]] = {}
    for metric in comparison.metrics:
        if unit := _unit(metric):
            groups.setdefault(unit, []).append(_dot_row(pairs, metric))
    arms = {index + 1: pair.arm for index, pair in enumerate(pairs)} if len(pairs) > 1 else {}
    rows = [row for rows in groups.values() for row in rows]
    names = "; ".join(f"{pair.arm} minus {pair.against}" for pair in pairs)
    alt = f"Differences, {names}: " + "; ".join(f"{row.label} {row.text}" for row in rows) + "."
    caption = (
        f"{names}. Each dot is a difference with its 95 % interval; to the right of the line is "
        "better. Filled: the interval excludes no difference. Each group has a scale of its own."
    )
    height = 34 + 12 * len(arms) + 32 * len(groups) + (9 + 4 * len(pairs)) * len(rows)
    draw = partial(charts.draw_dots, groups, arms)
    return Figure("differences", alt, caption, draw, height, wide=_WIDE)


def _unit(metric: MetricSpec) -> str | None:
    """Find the group of a metric; None for near copies of others."""
    for heading, prefixes in _UNITS.items():
        if metric.key.startswith(prefixes):
            return None if metric.key in _NEAR_COPIES else heading
    name, _, key = metric.key.rpartition("/")
    return f"{name} images" if name and key in _OF_EXTRA_SETS else None


def _dot_row(pairs: Sequence[Pair], metric: MetricSpec) -> DotRow:
    found = [find_difference(pair, metric) for pair in pairs]
    dots = []
    for index, one in enumerate(found):
        if one.value is not None:
            color = index + 1 if len(pairs) > 1 else _COLOR.get(one.verdict.word, GRAY)
            interval, ends = one.interval, None
            if interval is not None:
                ends = (one.in_gain(interval.low), one.in_gain(interval.high))
            dots.append(Dot(color, one.gain, ends, one.verdict.word in _COLOR))
    label = metric.label.removeprefix("Accuracy, ").removesuffix(", %")
    return DotRow(label, tuple(dots), "; ".join(one.text for one in found))


# Reliability and confidence.


def reliability_figures(arms: Sequence[Arm], name: str, stem: str = "reliability") -> list[Figure]:
    """Draw reliability on a set of images, before and after scaling, for each arm."""
    return [
        _reliability(arm, index, name, when, f"{stem}-{when}-{index}-{slug(arm.name)}")
        for index, arm in enumerate(arms)
        for when in ("before", "after")
    ]


def _reliability(arm: Arm, index: int, name: str, when: str, stem: str) -> Figure:
    bins = pool_bins(arm, name, when)
    total = sum(part.count for part in bins)
    confidence = sum(part.count * part.confidence for part in bins) / total
    accuracy = sum(part.count * part.accuracy for part in bins) / total
    ece = estimate([getattr(one.test_sets[name], when)["ece_15"] for one in arm.evaluations])
    num = len(arm.evaluations)
    pooled = f", mean over {num} seeds, whose bins are pooled" if num > 1 else ""
    caption = (
        f"{arm.name} on {name} images, {when} temperature scaling: mean confidence "
        f"{100 * confidence:.1f} %, accuracy {100 * accuracy:.1f} %, "
        f"{lean(confidence - accuracy)}-confident by {100 * abs(confidence - accuracy):.1f} "
        f"points; ECE {100 * ece.mean:.2f} %{pooled}."
    )
    widest = max(bins, key=lambda part: part.count * abs(part.accuracy - part.confidence))
    alt = (
        f"Reliability of {caption} The bin that adds most to the ECE, {100 * widest.low:.0f} to "
        f"{100 * widest.high:.0f} %, holds {widest.count} answers of mean confidence "
        f"{100 * widest.confidence:.1f} % and accuracy {100 * widest.accuracy:.1f} %."
    )
    rows = [
        [
            Cell(f"{100 * part.low:.0f}–{100 * part.high:.0f}", part.low),
            count_cell(part.count),
            number_cell(100 * part.confidence, 1),
            number_cell(100 * part.accuracy, 1),
        ]
        for part in bins
    ]
    heads = ["Confidence, %", "Answers", "Mean confidence, %", "Accuracy, %"]
    table = make_table(f"{stem}-data", f"Bins of {arm.name}", heads, rows, "Bins with answers.")
    draw = partial(charts.draw_reliability, bins, index)
    return Figure(stem, alt, caption, draw, 290, table=table)


def pool_bins(arm: Arm, name: str, when: str) -> list[Bin]:
    """Pool the bins of an arm's runs, weighted by count; empty bins are left out."""
    parts = [getattr(one.test_sets[name].reliability, when) for one in arm.evaluations]
    bins = []
    for place, (low, high) in enumerate(pairwise(parts[0].edges)):
        counts = [part.count[place] for part in parts]
        if total := sum(counts):
            confidence, accuracy = (
                sum(n * (column[place] or 0) for n, column in zip(counts, columns, strict=True))
                for columns in ([p.confidence for p in parts], [p.accuracy for p in parts])
            )
            bins.append(Bin(low, high, total, confidence / total, accuracy / total))
    return bins


def histogram_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw how sure correct and wrong answers were, for each arm."""
    return list(map(_histogram, arms, range(len(arms))))


def _histogram(arm: Arm, index: int) -> Figure:
    parts = [evaluation.main_set.histogram for evaluation in arm.evaluations]
    correct, wrong = (
        [sum(counts) for counts in zip(*columns, strict=True)]
        for columns in ([part.right for part in parts], [part.wrong for part in parts])
    )
    num = len(correct)
    first = 9 * num // 10  # the bin that holds 90 %
    high = [
        f"{sum(side[first:]):,} of {sum(side):,} {word}"
        for side, word in ((correct, "correct"), (wrong, "wrong"))
    ]
    caption = (
        f"{arm.name}: with a confidence of {100 * first / num:g} % or more, {' and '.join(high)} "
        "answers. Logarithmic scale; the hatched bars stand before the plain ones, not on top of "
        "them."
    )
    rows = [
        [
            Cell(f"{100 * place / num:.0f}–{100 * (place + 1) / num:.0f}", place / num),
            count_cell(correct[place]),
            count_cell(wrong[place]),
        ]
        for place in range(num)
        if correct[place] or wrong[place]
    ]
    name = f"confidence-{index}-{slug(arm.name)}"
    heads = ["Confidence, %", "Correct answers", "Wrong answers"]
    title = f"Confidence of {arm.name}"
    table = make_table(f"{name}-data", title, heads, rows, "Summed over seeds, no empty bins.")
    draw = partial(charts.draw_histogram, correct, wrong, index)
    return Figure(name, f"Confidence of answers. {caption}", caption, draw, 215, table=table)


# Corruptions and training.


_CORRUPTIONS = {  # title, axis, and what levels are multiplied by
    "occlusion": ("Occlusion", "hidden share of the image, %", 100),
    "shift": ("Shift", "share left in frame, %", 100),
    "noise": ("Noise", "noise, sd in full ranges", 1),
}


def corruption_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw accuracy at each level of each corruption that all have, all arms in one figure."""
    first, *others = [one.corruptions for arm in arms for one in arm.evaluations]
    return [_corruption(arms, name) for name in first if all(name in other for other in others)]


def _corruption(arms: Sequence[Arm], kind: str) -> Figure:
    title, axis, scale = _CORRUPTIONS.get(kind, (kind, kind, 1))
    first = arms[0].evaluations[0]
    levels = [level * scale for level in first.corruptions[kind].levels]
    lines = [_accuracy_line(arm, kind, levels) for arm in arms]
    draw = partial(charts.draw_corruption, lines, axis, 100 / len(first.class_names))
    at = ", ".join(f"{level:g}" for level in levels)
    means = "; ".join(f"{one.label} {', '.join(f'{m:.1f}' for m in one.mean)} %" for one in lines)
    alt = f"{title}: accuracy at {axis.removesuffix(', %')} of {at}: {means}."
    counts = sorted({one.corruptions[kind].draws for arm in arms for one in arm.evaluations})
    draws = " or ".join(plural(count, "draw") for count in counts)
    caption = (
        f"{title}. {_describe_bars(arms)} Each level is the mean of {draws} on "
        f"{first.corruptions[kind].n:,} images. Guessing reaches the dotted line."
    )
    heads = [
        Column(one.label, (f"{one.label} mean", f"{one.label} standard error")) for one in lines
    ]
    rows = [
        [Cell(f"{level:g}", level), *(_level_cell(one, place) for one in lines)]
        for place, level in enumerate(levels)
    ]
    table = make_table(f"{slug(kind)}-data", title, [axis, *heads], rows, "Accuracy, %.")
    height = 215 + 15 * len(arms)
    return Figure(f"robustness-{slug(kind)}", alt, caption, draw, height, table=table)


def _accuracy_line(arm: Arm, name: str, levels: Sequence[float]) -> Line:
    """Mean and standard error in percent at each level: over seeds, else over images."""
    parts = [evaluation.corruptions[name] for evaluation in arm.evaluations]
    found = [estimate([part.accuracy[place] for part in parts]) for place in range(len(levels))]
    errors = [parts[0].se[i] if one.se is None else one.se for i, one in enumerate(found)]
    return Line(arm.name, levels, [100 * one.mean for one in found], [100 * se for se in errors])


def _level_cell(line: Line, place: int) -> Cell:
    mean, se = line.mean[place] or 0.0, line.se[place] or 0.0
    return make_cell(f"{mean:.1f} ± {se:.1f}", mean, se)


def _describe_bars(arms: Sequence[Arm]) -> str:
    counts = [len(arm.evaluations) for arm in arms]
    if max(counts) == 1:
        return "Bars: ± one standard error over the images of one run."
    seeds = ", ".join(f"{arm.name}: {num}" for arm, num in zip(arms, counts, strict=True))
    alone = " (over the images where there is one)" if min(counts) == 1 else ""
    return f"Bars: ± one standard error over seeds{alone}; seeds of {seeds}."


_NOT_DRAWN = {"seconds", "lr"}
_WORDS = {"nll": "NLL", "ece": "ECE"}
_REMARKS = {
    "train_loss": " Of augmented images; arms with different losses cannot be compared by it.",
    "train_error": " Of augmented images: how hard they are differs from arm to arm.",
    "sigma": " Strength of the crop, which a pacer set for each epoch.",
    "sigma_low": " A tenth of the classes or samples, each with its own strength, had less.",
    "sigma_high": " A tenth of the classes or samples, each with its own strength, had more.",
    "k": " Softening curve, which a pacer set for each epoch.",
    "lead": " After an epoch whose lead is above 0 the pacer raised sigma, else it lowered it.",
}


def training_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw one figure for each number that the runs logged while training."""
    rows = (
        row for arm in arms for one in arm.evaluations for m in one.members for row in m.history
    )
    keys = dict.fromkeys(key for row in rows for key in row.numbers)
    return [_training(arms, key) for key in keys if key not in _NOT_DRAWN]


def _training(arms: Sequence[Arm], key: str) -> Figure:
    percent = key.endswith(("_error", "_ece"))
    curves = {arm.name: _by_epoch(arm, key, 100 if percent else 1) for arm in arms}
    label = " ".join(_WORDS.get(word, word) for word in key.split("_")) + (", %" if percent else "")
    name = f"training-{slug(key)}"
    last = []
    for arm, points in curves.items():
        if points:
            epoch, spread = list(points.items())[-1]
            last.append(f"{arm}: {spread.mean:.3g} at {epoch:g} (n = {spread.num})")
    alt = f"{capitalize(label)}, by epoch, {'; '.join(last)}."
    caption = f"{capitalize(label)}. Mean over runs; the band reaches from the least to the most."
    heads = [Column(arm, (f"{arm} mean", f"{arm} runs")) for arm in curves]
    rows = [
        [Cell(f"{at:g}", at), *(_spread_cell(points.get(at)) for points in curves.values())]
        for at in sorted({at for points in curves.values() for at in points})
    ]
    title = f"{capitalize(label)} by epoch"
    table = make_table(f"{name}-data", title, ["Epoch", *heads], rows, "Means over runs.")
    draw, height = partial(charts.draw_training, curves, label), 200 + 15 * len(arms)
    return Figure(name, alt, caption + _REMARKS.get(key, ""), draw, height, table=table)


def _by_epoch(arm: Arm, key: str, scale: float) -> dict[float, Spread]:
    found: dict[float, list[float]] = {}
    for member in (member for one in arm.evaluations for member in one.members):
        for row in member.history:
            if key in row.numbers:
                found.setdefault(row.epoch, []).append(scale * row.numbers[key])
    return {
        at: Spread(sum(values) / len(values), min(values), max(values), len(values))
        for at, values in sorted(found.items())
    }


def _spread_cell(found: Spread | None) -> Cell:
    if found is None:
        return make_cell(NONE, None, None)
    return make_cell(f"{found.mean:.4g} (n = {found.num})", found.mean, found.num)


# Classes.

_NUM_CHANGED, _NUM_CONFUSED = 10, 15


@dataclass(frozen=True)
class Change:
    """A class and its mean error, in percent, in two arms."""

    name: str
    ours: float
    theirs: float
    count: int

    @property
    def change(self) -> float:
        """The difference in points."""
        return self.ours - self.theirs


def class_mean(evaluations: Sequence[Evaluation], key: str, place: int) -> float | None:
    """Average a class's number over evaluations; None where the class has no image."""
    values = [getattr(one.per_class, key)[place] for one in evaluations]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def find_changes(pair: Pair, comparison: Comparison) -> list[Change]:
    """List all classes that have images, from the largest fall of the error to the largest rise."""
    arms = {arm.name: arm for arm in comparison.arms}
    ours, theirs = (_shared_seeds(arms[name], pair) for name in (pair.arm, pair.against))
    changes = []
    for place, name in enumerate(ours[0].class_names):
        mine, other = (class_mean(side, "error", place) for side in (ours, theirs))
        if mine is not None and other is not None:
            count = ours[0].per_class.count[place]
            changes.append(Change(name, 100 * mine, 100 * other, count))
    return sorted(changes, key=lambda one: one.change)


def _shared_seeds(arm: Arm, pair: Pair) -> Sequence[Evaluation]:
    """Return the evaluations of the shared seeds; all where none is shared."""
    both = zip(arm.seeds, arm.evaluations, strict=True)
    return [one for seed, one in both if seed in pair.seeds] or arm.evaluations


def change_figures(comparison: Comparison) -> list[Figure]:
    """Draw the classes that gain and lose most, for each pair."""
    return [_change(pair, comparison, index) for index, pair in enumerate(comparison.pairs)]


def _change(pair: Pair, comparison: Comparison, index: int) -> Figure:
    every = find_changes(pair, comparison)
    some = len(every) > 2 * _NUM_CHANGED
    shown = [*every[:_NUM_CHANGED], *every[-_NUM_CHANGED:]] if some else every
    better, worse = (sum(1 for one in every if sign * one.change > 0) for sign in (-1, 1))
    counts = f"{better} of {len(every)} classes better, {worse} worse"
    which = f"The {_NUM_CHANGED} that fall and rise most" if some else "All classes"
    alt = f"Change of each class’s error, {pair.arm} minus {pair.against}: {counts}"
    if every:
        alt += f"; from {every[0].change:+.1f} ({every[0].name}) to {every[-1].change:+.1f}"
        alt += f" points ({every[-1].name})"
    caption = (
        f"{pair.arm} minus {pair.against}: {counts}. {which}; means over shared seeds. "
        "One class has few images: single bars are noisy."
    )
    rows = [
        [
            Cell(one.name),
            count_cell(one.count),
            *(number_cell(value, 1) for value in (one.theirs, one.ours, one.change)),
        ]
        for one in shown
    ]
    heads = ["Class", "Images", f"{pair.against}, error, %", f"{pair.arm}, error, %"]
    heads.append("Change, points")
    table = make_table(f"classes-{index}", "Classes of the figure", heads, rows, "")
    draw = partial(charts.draw_changes, [(one.name, one.change) for one in shown])
    name, height = f"class-change-{index}-{slug(pair.arm)}", 70 + 14 * max(4, len(shown))
    return Figure(name, f"{alt}.", caption, draw, height, table=table)


def confusion_figures(arms: Sequence[Arm]) -> list[Figure]:
    """Draw which classes are taken for which, a matrix for each arm, all on one scale."""
    matrices = [_sum_confusion(arm) for arm in arms]
    top = max(share for matrix in matrices for row in _shares(matrix) for share in row) or 1.0
    return [_confusion(arm, index, matrices[index], top) for index, arm in enumerate(arms)]


def _sum_confusion(arm: Arm) -> list[list[int]]:
    parts = [evaluation.per_class.confusion for evaluation in arm.evaluations]
    return [[sum(cells) for cells in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]


def _shares(matrix: Sequence[Sequence[int]]) -> list[list[float]]:
    """Share of each true class's images that were taken for each other class."""
    return [
        [0.0 if i == j else count / (sum(row) or 1) for j, count in enumerate(row)]
        for i, row in enumerate(matrix)
    ]


def _confusion(arm: Arm, index: int, matrix: list[list[int]], top: float) -> Figure:
    names, shares = arm.evaluations[0].class_names, _shares(matrix)
    pairs = [(i, j) for i, row in enumerate(shares) for j, share in enumerate(row) if share]
    pairs = sorted(pairs, key=lambda pair: -shares[pair[0]][pair[1]])[:_NUM_CONFUSED]
    total = sum(map(sum, matrix))
    wrong = total - sum(matrix[i][i] for i in range(len(names)))
    alt = f"Confusions of {arm.name}: {wrong:,} wrong answers"
    if pairs:
        i, j = pairs[0]
        alt += (
            f"; most often {names[i]} was taken for {names[j]}, {matrix[i][j]} of {sum(matrix[i])}"
        )
    caption = (
        f"{arm.name}: {wrong:,} wrong answers of {total:,}, summed over "
        f"{plural(len(arm.evaluations), 'seed')}. Rows: true class; columns: answer; the "
        "stronger the color, the more often. Correct answers, on the diagonal, are left out."
    )
    rows = [
        [
            *(Cell(names[i]), Cell(names[j])),
            *(count_cell(matrix[i][j]), count_cell(sum(matrix[i]))),
            number_cell(100 * shares[i][j], 1),
        ]
        for i, j in pairs
    ]
    heads = ["True class", "Taken for", "Times", "Images", "Share, %"]
    title = f"{arm.name}: the {len(rows)} most confused pairs"
    table = make_table(f"confusion-{index}", title, heads, rows, "Summed over seeds.")
    draw = partial(charts.draw_confusion, shares, top, names)
    name = f"confusion-{index}-{slug(arm.name)}"
    summary = "The most confused pairs, and files"
    return Figure(name, alt + ".", caption, draw, 330, table=table, summary=summary)


# Images with answers.

_ACROSS, _CELL = 6, 92  # images beside each other; points for each


def shown_evaluations(arms: Sequence[Arm]) -> dict[str, Evaluation]:
    """Choose the evaluation of each arm whose answers are shown: one seed, if all share one."""
    common = [seed for seed in arms[0].seeds if all(seed in arm.seeds for arm in arms)]
    places = {arm.name: arm.seeds.index(common[0]) if common else 0 for arm in arms}
    return {arm.name: arm.evaluations[places[arm.name]] for arm in arms}


def whole_cards(arms: Sequence[Arm]) -> list[Card]:
    """Make a card of each example as it is."""
    shown = {name: one.examples.whole for name, one in shown_evaluations(arms).items()}
    first = arms[0].evaluations[0]
    cards = []
    for place, example in enumerate(shown[arms[0].name]):
        seen = {name: examples[place] for name, examples in shown.items()}
        note = f"{first.split} image {example.index}"
        cards.append(_card(example.label, note, seen, first.class_names))
    return cards


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
    png = next(iter(seen.values())).png
    picture = charts.open_png(png)
    answers = tuple(_answer(arm, image, label, names) for arm, image in seen.items())
    return Card(png, picture.width, picture.height, names[label], note, answers)


def _answer(arm: str, image: ImagePrediction, label: int, names: Sequence[str]) -> Answer:
    (number, confidence), *rest = image.answers
    others = ", ".join(f"{names[n]}: {100 * share:.1f} %" for n, share in rest)
    return Answer(arm, number == label, names[number], confidence, others)


def example_figures(arms: Sequence[Arm]) -> tuple[Figure, ...]:
    """Draw the examples for a paper; the page shows cards in their place."""
    whole = whole_cards(arms)
    rows = [whole[at : at + _ACROSS] for at in range(0, len(whole), _ACROSS)]
    every = {"examples": rows, "occluded-examples": occluded_cards(arms)}
    return tuple(answers_figure(name, cards, 0) for name, cards in every.items() if cards)


def answers_figure(name: str, rows: Sequence[Sequence[Card]], width: float) -> Figure:
    """Draw rows of images with answers; `width` is in points, 0 for that of the images."""
    arms = ", ".join(answer.arm for answer in rows[0][0].answers)
    alt = f"{len(rows)} rows of images with the class and the answer of each arm: {arms}."
    caption = f"Below each image the answer and confidence of {arms}; ✓ correct, ✗ wrong."
    width = width or max(map(len, rows)) * _CELL
    height = charts.measure_answers(rows, width)
    return Figure(name, alt, caption, partial(charts.draw_answers, rows), height, width)
