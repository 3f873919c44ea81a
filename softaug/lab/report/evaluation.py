"""The page of an evaluation or a comparison: its sections and tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from softaug.lab.evaluation.stats import estimate
from softaug.lab.report import evaluation_figures as figures
from softaug.lab.report.findings import (
    SIGNS,
    Difference,
    count_images,
    find_difference,
    format_range,
    image_ends,
    lean,
    mean_difference,
    seed_range,
    write_cautions,
    write_findings,
)
from softaug.lab.report.model import (
    NONE,
    Block,
    Cards,
    Cell,
    Column,
    Figure,
    Figures,
    Page,
    Paragraph,
    Row,
    RowGroup,
    Section,
    Table,
    capitalize,
    count_cell,
    make_cell,
    make_table,
    number_cell,
)
from softaug.lab.report.settings import flatten, settings_section
from softaug.lab.schema import Arm, Comparison, Estimate, Evaluation, Interval, MetricSpec, Pair

_CORRUPTIONS = {
    "occlusion": "Part of the image hidden",
    "shift": "Image moved out of frame",
    "noise": "Noise",
}


def comparison_of_one(evaluation: Evaluation) -> Comparison:
    """Return what compare would write of one evaluation: one arm and no pairs."""
    values = {metric.key: [metric.value] for metric in evaluation.metrics}
    arm = Arm(
        name=evaluation.name,
        seeds=[evaluation.seed],
        folders=[member.folder for member in evaluation.members],
        values=values,
        estimates={key: estimate(numbers) for key, numbers in values.items()},
        evaluations=[evaluation],
    )
    return Comparison(
        metrics=list(evaluation.metrics),
        calibration=evaluation.calibration,
        arms=[arm],
        pairs=[],
        command="",
        environment=evaluation.environment,
    )


def evaluation_page(comparison: Comparison, file: str) -> Page:
    """Build the page; `file` is the name of the result file.

    A comparison opens with the differences of all metrics, a single arm with its reliability
    and its accuracy under the first corruption.
    """
    arms = comparison.arms
    reliability = figures.reliability_figures(arms, arms[0].evaluations[0].split)
    corruptions = figures.corruption_figures(arms)
    if comparison.pairs:
        first: tuple[Figure, ...] = (figures.difference_figure(comparison),)
    else:
        beside = [replace(one, height=reliability[0].height) for one in corruptions[:1]]
        first, reliability = (reliability[0], *beside), reliability[1:]
        corruptions = corruptions[1:]
    sections = [
        Section("All measures", (_main_table(comparison), _runs_section(comparison)), printed=True),
        *_pair_sections(comparison),
        *_figure_section("Corrupted images", corruptions),
        _calibration_section(comparison, reliability),
        _class_section(comparison),
        *_example_section(arms),
        *_figure_section("While training", figures.training_figures(arms)),
        settings_section(comparison),
    ]
    return Page(
        title=_title(comparison),
        lead=_lead(comparison),
        figures=first,
        findings=write_findings(comparison),
        cautions=write_cautions(comparison),
        sections=tuple(sections),
        footer=(
            f"Made by softaug {comparison.environment.get('softaug', '')} from {file} beside this "
            "page; every number comes from that file. Every figure is in the folder figures, as "
            "SVG and PNG."
        ),
        files_only=figures.example_figures(arms),
    )


def _title(comparison: Comparison) -> str:
    names = [arm.name for arm in comparison.arms]
    if len(names) == 2 and comparison.pairs:
        return f"{names[1]} against {names[0]}"
    return f"Evaluation of {names[0]}" if len(names) == 1 else f"{len(names)} arms compared"


def _lead(comparison: Comparison) -> str:
    """Say what was measured: networks, data, seeds."""
    arms = comparison.arms
    recipes = [dict(flatten(one.recipe)) for arm in arms for one in arm.evaluations]
    models, data = (
        " and ".join(dict.fromkeys(recipe.get(key, "not known") for recipe in recipes))
        for key in ("model", "data.name")
    )
    first = arms[0].evaluations[0]
    seeds = dict.fromkeys(", ".join(map(str, arm.seeds)) for arm in arms)
    if len(seeds) > 1:
        seeds = dict.fromkeys(f"{arm.name}: {', '.join(map(str, arm.seeds))}" for arm in arms)
    return (
        f"{models} on {data}, {len(first.class_names)} classes, {count_images(first)}. "
        f"{'Seed' if max(len(arm.seeds) for arm in arms) == 1 else 'Seeds'} {'; '.join(seeds)}."
    )


# Measures and differences.


def _main_table(comparison: Comparison) -> Table:
    """Tabulate metrics against arms."""
    arms = comparison.arms
    columns = [Column("Measure"), *(_mean_column(arm.name) for arm in arms)]
    star = ", ★ best mean of the row, which need not be a difference beyond chance"
    caption = (
        f"{_over_seeds(arms)}; {count_images(arms[0].evaluations[0])}. ↓ lower is better, ↑ "
        f"higher is better{star if len(arms) > 1 else ''}. NLL: negative log-likelihood. ECE: "
        "expected calibration error, the mean gap between confidence and accuracy. Scaled: after "
        "temperature scaling."
    )
    rows = {metric.key: _main_row(metric, arms) for metric in comparison.metrics}
    return _grouped("all-measures", "All measures", columns, rows, comparison, caption)


def _grouped(
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: dict[str, Row],
    comparison: Comparison,
    caption: str,
) -> Table:
    """Make a table of a row for each metric, grouped by what was done to the images."""
    groups: dict[str, list[Row]] = {}
    whole = f"{capitalize(comparison.arms[0].evaluations[0].split)} images"
    for key, row in rows.items():
        images = key.rpartition("/")[0]
        heading = _CORRUPTIONS.get(images, images) or whole
        groups.setdefault(heading, []).append(row)
    parts = tuple(RowGroup(heading, tuple(found)) for heading, found in groups.items())
    return Table(name, title, tuple(columns), parts, caption)


def _main_row(metric: MetricSpec, arms: Sequence[Arm]) -> Row:
    means = [arm.estimates[metric.key].mean for arm in arms]
    top = max(means) if metric.higher_is_better else min(means)
    best = [len(arms) > 1 and mean == top for mean in means]
    cells = (_mean_cell(metric, arm, best=is_best) for arm, is_best in zip(arms, best, strict=True))
    return (_label_cell(metric), *cells)


def _label_cell(metric: MetricSpec) -> Cell:
    """Write a metric as the heading of a row, with the way that is better."""
    arrow = {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]
    return Cell(f"{metric.label}{arrow}", csv=(metric.label,))


def _mean_column(name: str) -> Column:
    return Column(name, (f"{name} mean", f"{name} standard error", f"{name} n"))


def _mean_cell(metric: MetricSpec, arm: Arm, *, best: bool) -> Cell:
    """Write mean ± standard error of an arm; of one run, its interval over images."""
    found = arm.estimates[metric.key]
    ends = image_ends(metric, arm) if found.se is None else ""
    after = f" ({ends})" if ends else ""
    return _estimate_cell(metric, found, metric.format(found.mean), after, best=best)


def _estimate_cell(
    metric: MetricSpec, found: Estimate, text: str, after: str = "", *, best: bool = False
) -> Cell:
    mean, se = metric.in_unit(found.mean), found.se
    if se is not None:
        text, se = f"{text} ± {metric.format(se)}", metric.in_unit(se)
    return make_cell(text + after, mean, se, found.n, best=best)


def _over_seeds(arms: Sequence[Arm]) -> str:
    """Say over how many seeds the means are."""
    counts = [len(arm.seeds) for arm in arms]
    if max(counts) == 1:
        return "One seed; in brackets 95 % intervals over images (bootstrap)"
    shown = str(counts[0])
    if len(set(counts)) > 1:
        shown = ", ".join(f"{n} ({arm.name})" for n, arm in zip(counts, arms, strict=True))
    alone = "; of one seed, 95 % interval over images" if min(counts) == 1 else ""
    return f"Mean ± standard error over n = {shown} seeds{alone}"


def _runs_section(comparison: Comparison) -> Section:
    rows = []
    for arm in comparison.arms:
        for place, seed in enumerate(arm.seeds):
            values = ((m, arm.values[m.key][place]) for m in comparison.metrics)
            cells = [make_cell(m.format(value), m.in_unit(value)) for m, value in values]
            rows.append((Cell(arm.name), Cell(str(seed), seed), *cells))
    heads = ["Arm", "Seed", *(metric.label for metric in comparison.metrics)]
    return Section("Every run", (make_table("every-run", "Every run", heads, rows, ""),))


def _pair_sections(comparison: Comparison) -> list[Section]:
    if not comparison.pairs:
        return []
    tables = tuple(
        _pair_table(pair, comparison, index) for index, pair in enumerate(comparison.pairs)
    )
    caption = (
        "In points where the measure is in %. Over seeds: Student’s t on differences paired by "
        "seed. Over images: paired bootstrap of one pair of runs, whose difference is given first; "
        "it says nothing about other seeds. ▲ better and ▼ worse mean that the interval excludes "
        "zero; = means that no difference was shown, which is not “equal”, and · that there was "
        "nothing to judge by. Of twenty true ties, about one would be called a difference."
    )
    return [Section("Differences", (*tables, Paragraph(caption)), printed=True)]


def _pair_table(pair: Pair, comparison: Comparison, index: int) -> Table:
    """Tabulate differences, their intervals and verdicts."""
    columns = (
        Column("Measure"),
        Column("Difference"),
        Column("95 % interval over seeds", ("seeds low", "seeds high")),
        Column("One pair, over images", ("images difference", "images low", "images high")),
        Column("Verdict"),
    )
    found = [find_difference(pair, metric) for metric in comparison.metrics]
    rows = {one.metric.key: _pair_row(pair, one) for one in found}
    seeds = ", ".join(map(str, pair.seeds)) or "none"
    title = f"{pair.arm} minus {pair.against}"
    return _grouped(
        f"pair-{index}", title, columns, rows, comparison, f"{title}; shared seeds: {seeds}."
    )


def _pair_row(pair: Pair, found: Difference) -> Row:
    metric, key = found.metric, found.metric.key
    mean, shown = mean_difference(pair, key), Cell(NONE)
    if mean is not None:
        shown = make_cell(metric.format_signed(mean), metric.in_unit(mean))
    sign = SIGNS[found.verdict.word]
    return (
        _label_cell(metric),
        shown,
        _range_cell(metric, seed_range(pair, key)),
        _image_cell(metric, pair.by_image.get(key)),
        Cell(f"{sign} {found.verdict}", csv=(str(found.verdict),)),
    )


def _range_cell(metric: MetricSpec, found: Interval | None) -> Cell:
    if found is None:
        return make_cell(NONE, None, None)
    low, high = metric.in_unit(found.low), metric.in_unit(found.high)
    return make_cell(format_range(metric, found), low, high)


def _image_cell(metric: MetricSpec, found: Interval | None) -> Cell:
    if found is None:
        return make_cell(NONE, None, None, None)
    text = f"{metric.format_signed(found.value)} ({format_range(metric, found)})"
    return make_cell(text, *map(metric.in_unit, (found.value, found.low, found.high)))


# Calibration, classes, examples.

When = Literal["before", "after"]
_SIGNED = "gap"  # above 0 over-confident, below 0 under-confident: neither way is better


def _calibration_section(comparison: Comparison, reliability: Sequence[Figure]) -> Section:
    arms = comparison.arms
    explained = (
        "Answers grouped by confidence. A calibrated network is right as often as it says: its "
        "bars end on the dashed line. A hatched gap above the bar means over-confident, inside "
        "the bar under-confident. Few answers make a noisy bar; their number is below, on a "
        "logarithmic scale."
    )
    blocks: list[Block] = [Paragraph(explained), Figures(tuple(reliability))]
    sets = comparison.shared_sets
    blocks += [_calibration_table(comparison, name, place) for place, name in enumerate(sets)]
    for place, name in enumerate(name for name in sets if name != arms[0].evaluations[0].split):
        extra = figures.reliability_figures(arms, name, f"reliability-extra-{place}")
        blocks.append(Section(f"Reliability on {name} images", (Figures(tuple(extra)),)))
    blocks += [_temperature_table(comparison), Figures(tuple(figures.histogram_figures(arms)))]
    return Section("Calibration", tuple(blocks))


def _calibration_table(comparison: Comparison, name: str, place: int) -> Table:
    """Tabulate every figure of calibration before and after temperature scaling."""
    arms = comparison.arms
    sides: list[tuple[Arm, When]] = [(arm, when) for arm in arms for when in ("before", "after")]
    heads = [w.capitalize() if len(arms) == 1 else f"{arm.name}, {w}" for arm, w in sides]
    rows = [
        (_label_cell(metric), *(_calibration_cell(metric, arm, name, w) for arm, w in sides))
        for metric in comparison.calibration
    ]
    has_seeds = any(len(arm.evaluations) > 1 for arm in arms)
    seeds = "; mean ± standard error over seeds" if has_seeds else ""
    caption = (
        f"{count_images(arms[0].evaluations[0], name)}, before and after temperature scaling"
        f"{seeds}. ECE: expected calibration error. The debiased figure is the root of a squared "
        "gap: not to be compared with an ECE. Scaling changes no answer, so no error."
    )
    columns = [Column("Figure"), *map(_mean_column, heads)]
    title = f"Calibration on {name} images"
    return make_table(f"calibration-{place}", title, columns, rows, caption)


def _calibration_cell(metric: MetricSpec, arm: Arm, name: str, when: When) -> Cell:
    found = estimate([getattr(one.test_sets[name], when)[metric.key] for one in arm.evaluations])
    if metric.key != _SIGNED:
        return _estimate_cell(metric, found, metric.format(found.mean))
    text, after = metric.format_signed(found.mean), f", {lean(found.mean)}"
    return _estimate_cell(metric, found, text, after)


def _temperature_table(comparison: Comparison) -> Table:
    rows = []
    for arm in comparison.arms:
        for seed, evaluation in zip(arm.seeds, arm.evaluations, strict=True):
            values = evaluation.temperature.values
            in_full = (" ".join(map(repr, values)),)
            shown = Cell(", ".join(f"{value:.3f}" for value in values), values[0], in_full)
            how = Cell(evaluation.temperature.how)
            rows.append((Cell(arm.name), Cell(str(seed), seed), shown, how))
    heads = ["Arm", "Seed", "Temperature", "How it was fitted"]
    caption = (
        "Temperature scaling divides the logits by one number: it changes confidences, never "
        "answers. Above 1, the network was over-confident; below 1, under-confident."
    )
    return make_table("temperature", "Temperatures", heads, rows, caption)


def _class_section(comparison: Comparison) -> Section:
    changes = figures.change_figures(comparison)
    blocks: list[Block] = [Figures(tuple(changes))] if changes else []
    blocks.append(Figures(tuple(figures.confusion_figures(comparison.arms))))
    every = Section("Every class: error, NLL, Brier score", (_class_table(comparison.arms),))
    return Section("Classes", (*blocks, every))


def _class_table(arms: Sequence[Arm]) -> Table:
    first = arms[0].evaluations[0]
    rows = []
    for place, name in enumerate(first.class_names):
        cells = [Cell(name), count_cell(first.per_class.count[place])]
        for arm in arms:
            error = figures.class_mean(arm.evaluations, "error", place)
            cells.append(number_cell(None if error is None else 100 * error, 1))
            for key in ("nll", "brier"):
                cells.append(number_cell(figures.class_mean(arm.evaluations, key, place), 3))
        rows.append(cells)
    before = [f"{arm.name}: " if len(arms) > 1 else "" for arm in arms]
    heads = [f"{arm}{name}" for arm in before for name in ("error, %", "NLL", "Brier score")]
    caption = f"Every class of the {first.split} images; means over seeds, before scaling."
    return make_table("every-class", "Every class", ["Class", "Images", *heads], rows, caption)


def _example_section(arms: Sequence[Arm]) -> list[Section]:
    whole, occluded = figures.whole_cards(arms), figures.occluded_cards(arms)
    if not whole:
        return []
    shown = figures.shown_evaluations(arms)
    seeds = ", ".join(f"{name}: seed {one.seed}" for name, one in shown.items())
    explained = (
        f"{capitalize(arms[0].evaluations[0].split)} images drawn at random, once for all "
        f"networks, and what one network of each arm ({seeds}) answers: ✓ correct, ✗ wrong, with "
        "its confidence; below, its next answers."
    )
    blocks: list[Block] = [Paragraph(explained), Cards(tuple(whole))]
    if occluded:
        hidden = "The first of these images behind a patch of growing size, placed alike for all."
        blocks += [Paragraph(hidden), *(Cards(tuple(row)) for row in occluded)]
    return [Section("Examples", tuple(blocks))]


def _figure_section(title: str, shown: Sequence[Figure]) -> list[Section]:
    return [Section(title, (Figures(tuple(shown)),))] if shown else []
