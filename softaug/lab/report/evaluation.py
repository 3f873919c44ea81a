"""The page of an evaluation or a comparison: written, printed, and built of sections."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from softaug.lab import schema
from softaug.lab.evaluation.stats import estimate
from softaug.lab.io import write_bytes
from softaug.lab.report import evaluation_figures as figures
from softaug.lab.report.examples import (
    answers_figure,
    occluded_cards,
    shown_evaluations,
    whole_cards,
)
from softaug.lab.report.findings import (
    SIGNS,
    Difference,
    count_images,
    find_difference,
    format_estimate,
    format_mean,
    format_range,
    lean,
    mean_difference,
    seed_range,
    write_cautions,
    write_findings,
)
from softaug.lab.report.model import (
    NONE,
    Block,
    Cell,
    Column,
    Figure,
    Page,
    Row,
    Section,
    Table,
    capitalize,
    format_list,
    make_table,
    number_cell,
)
from softaug.lab.report.render import figure_files, render_html
from softaug.lab.report.settings import flatten, settings_section
from softaug.lab.report.text import print_page
from softaug.lab.schema import Arm, Comparison, Evaluation, MetricSpec, Pair


def write_report(file: Path, title: str = "", opening: tuple[Figure, ...] = ()) -> Path:
    """Write report.html and figures/NAME.svg, NAME.png beside a result file; return the page.

    `file` is a comparison.json or an evaluation.json. The page has this title, if any is given,
    and begins with the figures of `opening`.
    """
    page = _read_page(file)
    page = replace(page, title=title or page.title, figures=(*opening, *page.figures))
    for figure in page.all_figures():
        for kind, content in figure_files(figure).items():
            write_bytes(content, file.parent / "figures" / f"{figure.name}.{kind}")
    return write_bytes(render_html(page).encode(errors="replace"), file.parent / "report.html")


def print_report(file: Path, console: Console) -> None:
    """Print the tables and findings of a comparison or an evaluation; Markdown if piped."""
    print_page(_read_page(file), console)


def print_findings(file: Path, console: Console) -> None:
    """Print what a comparison or an evaluation shows, in sentences."""
    for finding in _read_page(file).findings:
        console.print(finding, markup=False, highlight=False)


def _read_page(file: Path) -> Page:
    if file.name == "evaluation.json":
        comparison = comparison_of_one(schema.read_evaluation(file))
    else:
        comparison = schema.read(file, Comparison)
    return evaluation_page(comparison, file.name)


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

    A comparison opens with the differences of the headline, a single arm with its reliability
    and its accuracy under the first corruption.
    """
    comparison, family = shorten_names(comparison)
    arms = comparison.arms
    reliability = figures.reliability_figures(arms, arms[0].evaluations[0].split)
    corruptions = figures.corruption_figures(arms)
    if comparison.pairs:
        first: tuple[Figure, ...] = (figures.headline_figure(comparison),)
    else:
        beside = [replace(one, height=reliability[0].height) for one in corruptions[:1]]
        first, reliability = (reliability[0], *beside), reliability[1:]
        corruptions = corruptions[1:]
    sections = [
        *_pair_sections(comparison),
        Section("All measures", (_main_table(comparison), _runs_section(comparison)), printed=True),
        *_figure_section("Corrupted images", corruptions),
        _calibration_section(comparison, reliability),
        _class_section(comparison),
        *_example_section(arms),
        settings_section(comparison),
    ]
    return Page(
        title=_title(comparison),
        lead=f"{f'Recipes {family}*: ' if family else ''}{_lead(comparison)}",
        figures=first,
        findings=write_findings(comparison),
        cautions=write_cautions(comparison),
        sections=tuple(sections),
        footer=(
            f"Made by softaug {comparison.environment.get('softaug', '')} from {file} beside this "
            "page; every number comes from that file. Every figure is in the folder figures, as "
            "SVG and PNG."
        ),
    )


def shorten_names(comparison: Comparison) -> tuple[Comparison, str]:
    """Remove what the names of all arms begin with, up to a hyphen; return it too."""
    first, *others = [arm.name for arm in comparison.arms]
    parts = first.split("-")
    starts = ["-".join(parts[:num]) + "-" for num in range(len(parts))[:0:-1]]
    family = next((one for one in starts if all(name.startswith(one) for name in others)), "")
    if not others or not family:
        return comparison, ""
    arms = [
        arm.model_copy(update={"name": arm.name.removeprefix(family)}) for arm in comparison.arms
    ]
    pairs = [
        pair.model_copy(
            update={
                "arm": pair.arm.removeprefix(family),
                "against": pair.against.removeprefix(family),
            }
        )
        for pair in comparison.pairs
    ]
    return comparison.model_copy(update={"arms": arms, "pairs": pairs}), family


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
    arms = comparison.arms
    columns = [Column("Measure"), *(Column(arm.name) for arm in arms)]
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
        heading = figures.GROUPS.get(images, images) or whole
        groups.setdefault(heading, []).append(row)
    return Table(name, title, tuple(columns), groups, caption)


def _main_row(metric: MetricSpec, arms: Sequence[Arm]) -> Row:
    means = [arm.estimates[metric.key].mean for arm in arms]
    top = max(means) if metric.higher_is_better else min(means)
    judged = len(arms) > 1 and metric.higher_is_better is not None
    best = [judged and mean == top for mean in means]
    texts = [format_mean(arm, metric) for arm in arms]
    return (_label_cell(metric), *map(Cell, texts, best))


def _label_cell(metric: MetricSpec) -> Cell:
    """Write a metric as the heading of a row, with the way that is better."""
    arrow = {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]
    return Cell(f"{metric.label}{arrow}")


def _over_seeds(arms: Sequence[Arm]) -> str:
    counts = [len(arm.seeds) for arm in arms]
    if max(counts) == 1:
        return "One seed; in brackets 95 % intervals over images (bootstrap)"
    shown = format_list(list(map(str, dict.fromkeys(counts))))
    alone = "; of one seed, 95 % interval over images" if min(counts) == 1 else ""
    return f"Mean ± standard error over n = {shown} seeds{alone}"


def _runs_section(comparison: Comparison) -> Section:
    rows = []
    for arm in comparison.arms:
        for place, seed in enumerate(arm.seeds):
            values = [m.format(arm.values[m.key][place]) for m in comparison.metrics]
            rows.append(list(map(Cell, (arm.name, str(seed), *values))))
    heads = ["Arm", "Seed", *(metric.label for metric in comparison.metrics)]
    return Section("Every run", (make_table("every-run", "Every run", heads, rows),))


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
    drawn = (figures.difference_figure(comparison),)
    return [Section("Differences", (drawn, *tables, caption), printed=True)]


def _pair_table(pair: Pair, comparison: Comparison, index: int) -> Table:
    heads = ("Measure", "Difference", "95 % interval over seeds", "One pair, over images")
    columns = (*map(Column, heads), Column("Verdict", words=True))
    found = [find_difference(pair, metric) for metric in comparison.metrics]
    rows = {one.metric.key: _pair_row(pair, one) for one in found}
    seeds = ", ".join(map(str, pair.seeds)) or "none"
    title = f"{pair.arm} minus {pair.against}"
    return _grouped(
        f"pair-{index}", title, columns, rows, comparison, f"{title}; shared seeds: {seeds}."
    )


def _pair_row(pair: Pair, found: Difference) -> Row:
    metric, key = found.metric, found.metric.key
    mean, seeds, image = mean_difference(pair, key), seed_range(pair, key), pair.by_image.get(key)
    over_images = NONE
    if image is not None:
        over_images = f"{metric.format_signed(image.value)} ({format_range(metric, image)})"
    return (
        _label_cell(metric),
        Cell(NONE if mean is None else metric.format_signed(mean)),
        Cell(NONE if seeds is None else format_range(metric, seeds)),
        Cell(over_images),
        Cell(f"{SIGNS[found.verdict.word]} {found.verdict}"),
    )


# Calibration, classes, examples.

_SIGNED = "gap"  # above 0 over-confident, below 0 under-confident: neither way is better


def _calibration_section(comparison: Comparison, reliability: Sequence[Figure]) -> Section:
    arms = comparison.arms
    explained = (
        "Answers grouped by confidence. A calibrated network is right as often as it says: its "
        "bars end on the dashed line. A hatched gap above the bar means over-confident, inside "
        "the bar under-confident. Few answers make a noisy bar; their number is below, on a "
        "logarithmic scale."
    )
    blocks: list[Block] = [explained, tuple(reliability)]
    sets = comparison.shared_sets
    blocks += [_calibration_table(comparison, name, place) for place, name in enumerate(sets)]
    for place, name in enumerate(name for name in sets if name != arms[0].evaluations[0].split):
        extra = figures.reliability_figures(arms, name, f"reliability-extra-{place}")
        blocks.append(Section(f"Reliability on {name} images", (tuple(extra),)))
    return Section("Calibration", (*blocks, _temperature_table(comparison)))


def _calibration_table(comparison: Comparison, name: str, place: int) -> Table:
    arms = comparison.arms
    sides = [(arm, when) for arm in arms for when in ("before", "after")]
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
    title = f"Calibration on {name} images"
    return make_table(f"calibration-{place}", title, ["Figure", *heads], rows, caption)


def _calibration_cell(metric: MetricSpec, arm: Arm, name: str, when: str) -> Cell:
    found = estimate([getattr(one.test_sets[name], when)[metric.key] for one in arm.evaluations])
    if metric.key != _SIGNED:
        return Cell(format_estimate(metric, metric.format(found.mean), found))
    text = format_estimate(metric, metric.format_signed(found.mean), found)
    return Cell(f"{text}, {lean(found.mean)}")


def _temperature_table(comparison: Comparison) -> Table:
    rows = []
    for arm in comparison.arms:
        for seed, evaluation in zip(arm.seeds, arm.evaluations, strict=True):
            shown = ", ".join(f"{value:.3f}" for value in evaluation.temperature.values)
            texts = (arm.name, str(seed), shown, evaluation.temperature.how)
            rows.append(list(map(Cell, texts)))
    heads = ("Arm", "Seed", "Temperature", "How it was fitted")
    caption = (
        "Temperature scaling divides the logits by one number: it changes confidences, never "
        "answers. Above 1, the network was over-confident; below 1, under-confident."
    )
    return make_table("temperature", "Temperatures", heads, rows, caption, heads[3:])


def _class_section(comparison: Comparison) -> Section:
    drawn = (*figures.change_figures(comparison), *figures.confusion_figures(comparison.arms))
    every = Section("Every class: error, NLL, Brier score", (_class_table(comparison.arms),))
    return Section("Classes", (drawn, every))


def _class_table(arms: Sequence[Arm]) -> Table:
    first = arms[0].evaluations[0]
    rows = []
    for place, name in enumerate(first.class_names):
        cells = [Cell(name), Cell(f"{first.per_class.count[place]:,}")]
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
    whole, occluded = whole_cards(arms), occluded_cards(arms)
    if not whole:
        return []
    shown = shown_evaluations(arms)
    seeds = ", ".join(f"{name}: seed {one.seed}" for name, one in shown.items())
    explained = (
        f"{capitalize(arms[0].evaluations[0].split)} images drawn at random, once for all "
        f"networks, and what one network of each arm ({seeds}) answers: ✓ correct, ✗ wrong, with "
        "its confidence."
    )
    blocks: list[Block] = [explained, (answers_figure("examples", whole, arms),)]
    if occluded:
        hidden = "The first of these images behind a patch of growing size, placed alike for all."
        blocks += [hidden, (answers_figure("occluded-examples", occluded, arms),)]
    return [Section("Examples", tuple(blocks))]


def _figure_section(title: str, shown: Sequence[Figure]) -> list[Section]:
    return [Section(title, (tuple(shown),))] if shown else []
