"""Tables of the page: what is shown, what it is sorted by, and what is copied as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

from softaug.lab.evaluation.stats import Estimate, Interval, can_be_judged, seed_interval
from softaug.lab.report.evaluation.shapes import (
    Arm,
    Comparison,
    Evaluation,
    Measure,
    Pair,
    scaled,
    show,
    signed,
)

NONE = "–"
SIGNS = {"better": "▲", "worse": "▼", "no difference shown": "=", "not tested": "·"}


@dataclass(frozen=True)
class Cell:
    """A text; the number it is sorted by; its parts as CSV has them (default: the text)."""

    text: str
    value: float | None = None
    csv: tuple[str, ...] = ()
    best: bool = False

    @property
    def parts(self) -> list[str]:
        return list(self.csv or (self.text,))

    @property
    def is_text(self) -> bool:
        return self.value is None and self.text != NONE


@dataclass(frozen=True)
class Column:
    """A heading, and the headings of its parts in CSV."""

    name: str
    csv: tuple[str, ...] = ()

    @property
    def parts(self) -> list[str]:
        return list(self.csv or (self.name,))


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first cell of a row is its heading. `name` is unique on the page."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def is_text(self, place: int) -> bool:
        """Whether a column holds words, not numbers."""
        return any(row[place].is_text for row in self.rows)


def plain_table(
    name: str, caption: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> Table:
    """A table whose columns have one part each."""
    return Table(name, caption, tuple(map(Column, heads)), tuple(map(tuple, rows)))


def number(value: float | None, digits: int = 2, scale: float = 1) -> Cell:
    """A number as a cell; CSV has it in full."""
    if value is None:
        return Cell(NONE)
    return Cell(
        f"{value * scale:.{digits}f}".replace("-", "−"), value * scale, (repr(value * scale),)
    )


def whole(value: int) -> Cell:
    """A count as a cell."""
    return Cell(f"{value:,}", value, (str(value),))


def plural(num: int, unit: str) -> str:
    """A count with its unit.

    >>> plural(1, "seed"), plural(1000, "image")
    ('1 seed', '1,000 images')
    """
    return f"{num:,} {unit}{'' if num == 1 else 's'}"


def arrow(measure: Measure) -> str:
    """Which way is better."""
    return "↑" if measure["higher_is_better"] else "↓"


def best_arms(comparison: Comparison, measure: Measure) -> list[str]:
    """Names of the arms with the best mean, where there are several arms."""
    means = {a["name"]: a["estimates"][measure["key"]]["mean"] for a in comparison["arms"]}
    if len(means) < 2:
        return []
    top = max(means.values()) if measure["higher_is_better"] else min(means.values())
    return [name for name, mean in means.items() if mean == top]


def mean_text(measure: Measure, arm: Arm) -> str:
    """Mean ± standard error of an arm; of one run, its interval over images where known."""
    found = arm["estimates"][measure["key"]]
    shown = show(measure, found["mean"])
    if found["se"] is not None:
        return f"{shown} ± {show(measure, found['se'])}"
    ends = image_ends(measure, arm)
    return f"{shown} ({ends})" if ends else shown


def image_ends(measure: Measure, arm: Arm) -> str:
    """The 95 % interval over images of the arm's first run; empty where there is none."""
    for measured in arm["evaluations"][0]["measures"]:
        ends = measured["interval"]
        if measured["key"] == measure["key"] and isinstance(ends, list):
            return " to ".join(show(measure, end) for end in ends)
    return ""


def set_images(evaluation: Evaluation, name: str) -> str:
    """How many images a set holds, and of which: "1,000 test images"."""
    return f"{evaluation['sets'][name]['n']:,} {name} images"


def split_images(evaluation: Evaluation) -> str:
    """How many images of which split were measured on."""
    return set_images(evaluation, evaluation["split"])


def main_table(comparison: Comparison) -> Table:
    """Measures against arms."""
    arms = comparison["arms"]
    heads = [_arm_column(arm["name"]) for arm in arms]
    rows = []
    for measure in comparison["measures"]:
        best = best_arms(comparison, measure)
        cells = [_mean_cell(measure, arm, arm["name"] in best) for arm in arms]
        rows.append((label_cell(measure), *cells))
    star = ", ★ best mean of the row, which need not be a difference beyond chance"
    caption = (
        f"{over_seeds(arms)}; {split_images(arms[0]['evaluations'][0])}. "
        f"↓ lower is better, ↑ higher is better"
        f"{star if len(arms) > 1 else ''}. NLL: negative log-likelihood. ECE: expected "
        "calibration error, the mean gap between confidence and accuracy. Scaled: after "
        "temperature scaling."
    )
    return Table("all-measures", caption, (Column("Measure"), *heads), tuple(rows))


def over_seeds(arms: Sequence[Arm]) -> str:
    """Over how many seeds the means are."""
    counts = [len(arm["seeds"]) for arm in arms]
    if max(counts) == 1:
        return "One seed; in brackets 95 % intervals over images (bootstrap)"
    told = str(counts[0])
    if len(set(counts)) > 1:
        told = ", ".join(f"{n} ({arm['name']})" for n, arm in zip(counts, arms, strict=True))
    alone = "; of one seed, 95 % interval over images" if min(counts) == 1 else ""
    return f"Mean ± standard error over n = {told} seeds{alone}"


def label_cell(measure: Measure, *, arrowed: bool = True) -> Cell:
    """A measure as the heading of a row, with the way that is better."""
    way = f"\N{NO-BREAK SPACE}{arrow(measure)}" if arrowed else ""
    return Cell(f"{measure['label']}{way}", csv=(measure["label"],))


def _arm_column(name: str) -> Column:
    return Column(name, (f"{name} mean", f"{name} standard error", f"{name} n"))


def _mean_cell(measure: Measure, arm: Arm, best: bool) -> Cell:
    found = arm["estimates"][measure["key"]]
    mean = scaled(measure, found["mean"])
    se = "" if found["se"] is None else repr(scaled(measure, found["se"]))
    return Cell(mean_text(measure, arm), mean, (repr(mean), se, str(found["n"])), best)


def seed_range(pair: Pair, key: str) -> Interval | None:
    """The 95 % interval of a difference over seeds; None where they cannot judge it."""
    found = pair["by_seed"].get(key)
    if found is None:
        return None
    estimate = Estimate(found["mean"], found["se"], found["n"])
    return seed_interval(estimate) if can_be_judged(estimate) else None


def image_range(pair: Pair, key: str) -> Interval | None:
    """The 95 % interval of a difference over images, where there is one."""
    found = pair["by_image"].get(key)
    return None if found is None else Interval(**found)


def range_text(measure: Measure, found: Interval) -> str:
    """The ends of an interval."""
    return f"{signed(measure, found.low)} to {signed(measure, found.high)}"


def difference(pair: Pair, key: str) -> float | None:
    """The mean difference over seeds, else that over images."""
    if key in pair["by_seed"]:
        return pair["by_seed"][key]["mean"]
    return pair["by_image"][key]["value"] if key in pair["by_image"] else None


def judged(pair: Pair, key: str) -> Interval | None:
    """The interval that the verdict is about."""
    over = pair["verdicts"][key]["over"]
    return image_range(pair, key) if over == "images" else seed_range(pair, key)


def pair_table(pair: Pair, measures: Sequence[Measure], index: int) -> Table:
    """Differences, their intervals and verdicts."""
    images = ("images difference", "images low", "images high")
    columns = (
        Column("Measure"),
        Column("Difference"),
        Column("95 % interval over seeds", ("seeds low", "seeds high")),
        Column("One pair of runs, 95 % interval over images", images),
        Column("Verdict"),
    )
    rows = [_pair_row(pair, measure) for measure in measures]
    seeds = ", ".join(map(str, pair["seeds"])) or "none"
    caption = (
        f"{pair['arm']} minus {pair['against']}, in points where the measure is in %. Over "
        f"seeds: Student’s t on differences paired by seed (shared seeds: {seeds}). Over images: "
        "paired bootstrap of one pair of runs, whose difference is given first; it says nothing "
        "about other seeds. ▲ better and "
        "▼ worse mean that the interval excludes zero; = means that no difference was shown, "
        "which is not “equal”, and · that there was nothing to judge by. Of twenty true "
        "ties, about one would be called a difference."
    )
    return Table(f"pair-{index}", caption, columns, tuple(rows))


def _pair_row(pair: Pair, measure: Measure) -> tuple[Cell, ...]:
    key, verdict = measure["key"], pair["verdicts"][measure["key"]]
    found = difference(pair, key)
    shown = Cell(NONE)
    if found is not None:
        value = scaled(measure, found)
        shown = Cell(signed(measure, found), value, (repr(value),))
    return (
        label_cell(measure),
        shown,
        _range_cell(measure, seed_range(pair, key)),
        _image_cell(measure, image_range(pair, key)),
        Cell(f"{SIGNS[verdict['word']]} {verdict['text']}", csv=(verdict["text"],)),
    )


def _range_cell(measure: Measure, found: Interval | None) -> Cell:
    if found is None:
        return Cell(NONE, csv=("", ""))
    low, high = scaled(measure, found.low), scaled(measure, found.high)
    return Cell(range_text(measure, found), low, (repr(low), repr(high)))


def _image_cell(measure: Measure, found: Interval | None) -> Cell:
    if found is None:
        return Cell(NONE, csv=("", "", ""))
    ends = _range_cell(measure, found)
    text = f"{signed(measure, found.value)} ({ends.text})"
    value = scaled(measure, found.value)
    return Cell(text, value, (repr(value), *ends.csv))


def run_table(comparison: Comparison) -> Table:
    """Every evaluation with all its measures."""
    measures = comparison["measures"]
    rows = []
    for arm in comparison["arms"]:
        for place, seed in enumerate(arm["seeds"]):
            values = ((m, arm["values"][m["key"]][place]) for m in measures)
            cells = [
                Cell(show(m, value), scaled(m, value), (repr(scaled(m, value)),))
                for m, value in values
            ]
            rows.append((Cell(arm["name"]), Cell(str(seed), seed), *cells))
    heads = ["Arm", "Seed", *(measure["label"] for measure in measures)]
    return plain_table("every-run", "Every evaluation, each measure.", heads, rows)
