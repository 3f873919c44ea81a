"""Tables, figures and studies that a grid collects: the paper's numbers beside ours."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import ascii_letters

from rich.console import Console

from softaug.lab import schema
from softaug.lab.io import write_bytes
from softaug.lab.report import charts, latex
from softaug.lab.report.charts import GainRow
from softaug.lab.report.model import (
    NONE,
    WIDE,
    Cell,
    Column,
    Figure,
    Page,
    Section,
    Table,
    capitalize,
    plural,
    sentence,
)
from softaug.lab.report.paper_figures import find_evaluations, paper_figure
from softaug.lab.report.paper_numbers import (
    count_diverged,
    count_ended,
    count_lost,
    count_runs,
    find_gains,
    format_ours,
    format_published,
    format_signed,
    measure_words,
    run_cells,
    with_error,
)
from softaug.lab.report.render import figure_files, render_html
from softaug.lab.report.settings import environment_table
from softaug.lab.report.text import print_page, render_markdown
from softaug.lab.schema import CollectedCell, CollectedRow, CollectedTable

_OF_PAPER = re.compile(r"(table|figure)\d+(-release)?")
_GAINS = "Gain over baseline"
_MOST_OPEN = 14  # rows: a longer table is folded


def paper_page(table: CollectedTable, folder: Path) -> Page:
    """Build the page of a table or figure whose file is in `folder`.

    It opens with the figure, or with bars of the paper's gains and ours.
    """
    figure, gains = paper_figure(table, folder), gain_figure(table)
    first = figure or gains
    if first is not None and _is_trial(table):
        first = replace(first, caption=f"Trial run of {_list_ran(table)}. {first.caption}")
    sections = []
    if figure is not None and gains is not None:
        sections.append(Section("Gains", ((gains,),)))
    if table.rows:
        numbers = number_table(table)
        is_open = len(numbers.rows) <= _MOST_OPEN
        sections.append(Section("Numbers", (numbers,), is_open, printed=True))
    if table.notes:
        sections.append(Section("Notes", tuple(map(sentence, table.notes)), printed=True))
    sections.append(Section("Made with", (environment_table([table.environment]),)))
    footer = f"Made by softaug from {table.name}.json beside this page."
    if _has_paper(table):
        footer += " Numbers in the columns of the paper are the paper’s; none was measured here."
    return Page(
        title=_title(table),
        lead=_lead(table),
        figures=() if first is None else (first,),
        findings=write_findings(table),
        cautions=_cautions(table, folder),
        sections=tuple(sections),
        footer=footer,
    )


def format_name(name: str) -> str:
    """Write a name as it stands in a title.

    >>> format_name("table2")
    'Table 2'
    """
    return re.sub(r"^(table|figure)(\d+)(-release)?", _write_number, name).capitalize()


def _write_number(found: re.Match[str]) -> str:
    return f"{found[1]} {found[2]}{', as released' if found[3] else ''}"


def _lead(table: CollectedTable) -> str:
    if not table.rows and not table.runs:
        return "From the paper’s equations alone: nothing was run for it."
    parts = [f"Scale “{table.scale}”."]
    if not _of_paper(table):
        parts.append("A study of ours: the paper has no numbers for it.")
    if ran := _list_ran(table):
        parts.append(f"What was run: {ran}.")
    return " ".join(parts)


def _title(table: CollectedTable) -> str:
    title = f"{format_name(table.name)}. {table.title}" if _of_paper(table) else table.title
    return f"Trial run: {title}" if _is_trial(table) else title


def _list_ran(table: CollectedTable) -> str:
    """List what was run, where that is not what the rows' labels say."""
    return "; ".join(dict.fromkeys(row.ran for row in table.rows if row.ran))


# The table.


def number_table(table: CollectedTable) -> Table:
    """Tabulate the rows, a group for each group and measure in the file's order."""
    rows = table.rows
    reasons = [cell.why for row in rows for cell in row.cells if cell.why]
    marks = dict(zip(dict.fromkeys(reasons), ascii_letters, strict=False))
    columns, groups = _columns(table), dict[str, list[tuple[Cell, ...]]]()
    names = _name_groups(table)
    for group in names:
        for row in (row for row in rows if row.group == group):
            for cell in row.cells:
                values = _row_cells(row, cell, table, marks.get(cell.why, ""))
                label = Cell(row.label, source=_source(row))
                shown = (label, *(values[column.title] for column in columns[1:]))
                groups.setdefault(_heading(names, group, cell), []).append(shown)
    return Table(
        table.name,
        format_name(table.name),
        columns,
        groups,
        _explain(table),
        tuple((mark, sentence(why)) for why, mark in marks.items()),
    )


def _columns(table: CollectedTable) -> tuple[Column, ...]:
    """List columns; none for the paper where it has no number, no difference in a trial."""
    if not _has_paper(table):
        return Column("Row"), Column("Ours"), Column("Runs"), Column(_GAINS)
    difference = () if _is_trial(table) else (Column("Ours − paper’s"),)
    ours = (Column("Ours", ours=True), Column("Runs"))
    gains = (Column("Gain, paper’s"), Column("Gain, ours", ours=True))
    return Column("Row"), Column("Paper’s"), *ours, *difference, *gains


def _has_paper(table: CollectedTable) -> bool:
    return any(cell.paper is not None for row in table.rows for cell in row.cells)


def _is_trial(table: CollectedTable) -> bool:
    """Whether the runs only show that every row can be run."""
    return table.scale == "smoke"


def _of_paper(table: CollectedTable) -> bool:
    return _OF_PAPER.fullmatch(table.name) is not None


def _name_groups(table: CollectedTable) -> dict[str, str]:
    """Map each group to its heading: in a trial to what was run in its place."""
    names = {row.group: row.group for row in table.rows}
    for row in table.rows if _is_trial(table) else ():
        if row.ran and names[row.group] == row.group:
            instead = f", in place of {row.group}" if row.group else ""
            names[row.group] = row.ran + instead
    return names


def _heading(names: Mapping[str, str], group: str, cell: CollectedCell) -> str:
    """Name data and measure; images that the group is called by are not named twice."""
    words = measure_words(cell.measure, "" if cell.on == group else cell.on)
    if names[group] != group:
        return f"{capitalize(words.removesuffix(', %'))} of {names[group]}, %"
    return f"{group}: {words}" if group else capitalize(words)


def _row_cells(
    row: CollectedRow, cell: CollectedCell, table: CollectedTable, mark: str
) -> dict[str, Cell]:
    """Return what a row has in each column, by its title."""
    theirs, ours = find_gains(row, cell, table.rows)
    ended = count_ended(cell)
    gain = Cell(NONE)
    if ours is not None:
        gain = Cell(with_error(format_signed(ours.mean), ours.se))
    measured = "quoted, not run" if row.quoted is not None else format_ours(cell)
    mean = None if cell.ours is None else cell.ours.mean
    paper = None if cell.paper is None else cell.paper.value
    return {
        "Paper’s": Cell(format_published(cell.paper)),
        "Ours": Cell(measured, note=mark),
        "Runs": Cell(NONE if ended is None else f"{ended[0]} of {ended[1]}"),
        "Ours − paper’s": _signed_cell(None if mean is None or paper is None else mean - paper),
        "Gain, paper’s": _signed_cell(theirs),
        "Gain, ours": gain,
        _GAINS: gain,
    }


def _signed_cell(value: float | None) -> Cell:
    return Cell(NONE if value is None else format_signed(value))


def _source(row: CollectedRow) -> str:
    """Say that a row is quoted, and from whom, unless label or heading say it already."""
    if row.quoted is None:
        return ""
    known = row.quoted in row.label or row.quoted in row.group
    return "quoted" if known else f"quoted: {row.quoted}"


def _explain(table: CollectedTable) -> str:
    both = "; the paper’s from its printed means, ours" if _has_paper(table) else ","
    found = (
        "Ours: mean ± standard error over seeds. Runs: ended of planned ones. Gain: points better "
        f"than the baseline row, positive is better{both} ± standard error of differences paired "
        "by seed."
    )
    if any(count_diverged(cell) for row in table.rows for cell in row.cells):
        found += (
            " Diverged: training came to numbers that are not finite, or without labels to "
            "features no better than chance. Such runs count as ended, and are in no mean."
        )
    if any(row.quoted is not None for row in table.rows):
        found += (
            " Quoted rows: numbers of others that the paper quotes; nobody ran them here. They "
            "have no gain over the paper’s own baseline."
        )
    return found


# Words and the first picture.


def gain_figure(table: CollectedTable) -> Figure | None:
    """Draw bars of the paper's gain and ours for each row that has one."""
    groups: dict[str, list[GainRow]] = {}
    for heading, row in _list_gains(table):
        groups.setdefault(heading, []).append(row)
    if not groups:
        return None
    bars = [f"{row.label}: {_describe_gain(row)}" for rows in groups.values() for row in rows]
    alt = f"Gains over the baseline row in points. {'; '.join(bars)}."
    caption = "Points better than the baseline row; to the right is better."
    if _has_paper(table) and not _is_trial(table):
        caption += " Hatched: the paper’s."
    height = 62 + 32 * len(groups) + 15 * len(bars)
    draw = partial(charts.draw_gains, groups, "ours, a trial" if _is_trial(table) else "ours")
    return Figure(f"{table.name}-gains", alt, caption, draw, height, WIDE)


def _list_gains(table: CollectedTable) -> Iterator[tuple[str, GainRow]]:
    """List every cell that has a gain, with the heading it is under; of a trial, only ours."""
    names = _name_groups(table)
    for row in table.rows:
        for cell in row.cells:
            paper, ours = find_gains(row, cell, table.rows)
            paper = None if _is_trial(table) else paper
            if paper is not None or ours is not None:
                heading = _heading(names, row.group, cell).removesuffix(", %")
                yield heading, GainRow(row.label, paper, ours)


def _describe_gain(row: GainRow) -> str:
    paper = "" if row.paper is None else f"the paper’s {format_signed(row.paper)}"
    ours = "" if row.ours is None else f"ours {format_signed(row.ours.mean)}"
    return ", ".join(filter(None, (paper, ours)))


def write_findings(table: CollectedTable) -> tuple[str, ...]:
    """Write in sentences how our gains compare with the paper's, the largest first."""
    if _is_trial(table) and table.rows:
        return ("A trial that every row can be run; its numbers are no evidence.",)
    gains = list(_list_gains(table))
    ours = [(what, row.label, row.ours) for what, row in gains if row.ours is not None]
    if not ours:
        return ("No gain of ours can be shown yet.",) if gains else ()
    what, label, largest = max(ours, key=lambda one: abs(one[2].mean))
    found = [
        f"Our largest difference to a baseline row: {label}, {what}, "
        f"{with_error(format_signed(largest.mean), largest.se)} points."
    ]
    both = [row.paper * row.ours.mean for _, row in gains if row.paper and row.ours]
    if both:
        same = sum(product > 0 for product in both)
        found.append(
            f"Of {plural(len(both), 'gain')} that the paper has too, {same} "
            f"{'has' if same == 1 else 'have'} the paper’s direction here."
        )
    return tuple(found)


def _cautions(table: CollectedTable, folder: Path) -> tuple[str, ...]:
    progress = describe_progress(table, folder)
    found = [progress] if progress else []
    if table.scale == "cpu" and table.rows and _of_paper(table):
        found.append(
            f"Scale “{table.scale}”: smaller networks, data or budgets than the paper’s, so "
            "the difference to the paper is not like for like. Compare the gains."
        )
    return tuple(found)


def describe_progress(table: CollectedTable, folder: Path) -> str:
    """Say how much is missing, such as "Partial: 3 of 12 runs."; "" where nothing is."""
    if table.complete:
        return ""
    done, planned = count_runs(table)
    if table.runs:
        done, planned = len(find_evaluations(table, folder)), len(table.runs)
    told = f"{done} of {planned} runs" if planned else "no run has finished yet"
    lost: dict[str, int] = {}
    for recipe, cell in run_cells(table):
        lost[recipe] = max(lost.get(recipe, 0), count_lost(cell))
    lacking = sum(cell.state == "no data" for row in table.rows for cell in row.cells)
    told += f"; diverged: {sum(lost.values())}" if any(lost.values()) else ""
    return f"Partial: {told}{f'; numbers without data: {lacking}' if lacking else ''}."


# Files


def write_paper_table(file: Path) -> list[Path]:
    """Write NAME.md, .tex and .html beside NAME.json, for a figure also .pdf and .png.

    `file` is a table or figure of a grid. Each file is whole at any time, needs no network, and
    is the same for the same results.
    """
    table = schema.read(file, CollectedTable)
    page = paper_page(table, file.parent)
    figure = paper_figure(table, file.parent)
    pictures = [f"{table.name}.png"] if figure else []
    texts = {
        "md": render_markdown(page, pictures),
        "tex": _render_latex(table, page, figure),
        "html": render_html(page),
    }
    found = {kind: text.encode(errors="replace") for kind, text in texts.items()}
    if figure is not None:
        found |= figure_files(figure, ("pdf", "png"))
    return [write_bytes(content, file.with_suffix(f".{kind}")) for kind, content in found.items()]


def _render_latex(table: CollectedTable, page: Page, figure: Figure | None) -> str:
    """Return a figure where there is one, or will be; else a table."""
    title = f"{table.title.rstrip('.')}."
    if figure is not None or table.name.startswith("figure"):
        remarks = [*page.cautions[:1], *map(sentence, table.notes)]
        parts = [title, figure.caption if figure else "", *remarks]
        return latex.render_figure(table.name, " ".join(filter(None, parts)), figure)
    remarks = [*page.cautions, *map(sentence, table.notes)]
    return latex.render_table(number_table(table), title, remarks)


def print_paper_table(file: Path, console: Console) -> None:
    """Print a table or figure of a grid; Markdown if no terminal reads."""
    print_page(paper_page(schema.read(file, CollectedTable), file.parent), console)
