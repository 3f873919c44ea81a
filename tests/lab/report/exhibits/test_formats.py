"""Markdown, LaTeX and terminal: each is read back."""

import io
import re

import pytest
from rich.console import Console

from softaug.lab.report.exhibits import print_exhibit
from softaug.lab.report.exhibits.latex import escape as latex_escape
from softaug.lab.report.exhibits.latex import latex_figure, latex_table
from softaug.lab.report.exhibits.markdown import markdown
from softaug.lab.report.exhibits.sheet import sheet

EVIL = r"50 % of {A} & #1_x ^~ \today $y$ <b> | `c` *d* [e](f) “é” 漢"


def numbers_of(exhibit, place):
    """The columns after the label, of a line of the first section."""
    found = sheet(exhibit, "")
    return [text for text, _ in found.cells(found.sections[0].lines[place])]


def markdown_cells(text):
    """Cells of every table row, with the escapes undone."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in row] for row in split]


def test_markdown_holds_every_number_under_its_heading(table):
    text = markdown(table, "")
    assert text.startswith("# Table 1. Errors\n")
    rows = markdown_cells(text)
    assert rows[0] == list(sheet(table, "").heads)
    assert ["Soft Augmentation", *numbers_of(table, 3)] in rows
    assert ["Baseline *(quoted: Zhang et al. (Mixup))*", "25.60", "quoted, not run"] in [
        row[:3] for row in rows
    ]
    assert "not at this scale <sup>a</sup>" in text
    assert "- <sup>a</sup> No small counterpart." in text


def test_markdown_shows_marks_of_the_language_as_they_are(table):
    table["rows"][1]["label"] = EVIL
    rows = markdown_cells(markdown(table, ""))
    assert EVIL in [row[0] for row in rows]
    assert {len(row) for row in rows} == {7}


def unescaped_braces(text):
    return re.sub(r"\\[{}]", "", text)


def test_latex_is_a_float_whose_rows_have_all_columns(table):
    text = latex_table(table, "partial: 14 of 18 runs")
    body = text.split(r"\toprule")[1].split(r"\bottomrule")[0]
    rows = [row for row in body.split(r"\\") if "&" in row]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 6 for row in rows[2:])
    assert r"Soft Augmentation & 18.31 $\pm$ 0.17 & 28.00 $\pm$ 0.58 & 3 of 3 & +9.69" in body
    assert r"22.62 $\pm$ \textless{}0.01" in body
    assert r"not at this scale\textsuperscript{a}" in body
    assert r"\caption{Errors.}\label{softaug:table1}" in text
    assert "Partial: 14 of 18 runs." in text
    plain = unescaped_braces(text)
    assert plain.count("{") == plain.count("}")
    begun, ended = (re.findall(rf"\\{word}{{([^}}]*)}}", text) for word in ("begin", "end"))
    assert begun == ended[::-1]


def test_a_study_has_a_table_without_columns_for_the_paper(study, saved):
    assert markdown_cells(markdown(study, ""))[0] == ["Row", "Ours", "Runs", "Gain over baseline"]
    latex = latex_table(study, "")
    assert r"\begin{tabular}{@{}lrrr@{}}" in latex
    assert r"soft & 28.00 $\pm$ 0.58 & 3 of 3 & +3.00 $\pm$ 0.58 \\" in latex
    assert r"\cmidrule" not in latex
    shown = printed(saved(study), width=80, force_terminal=True, color_system=None)
    (row,) = [row for row in shown.splitlines() if row.startswith("  soft")]
    assert re.split(r"\s{2,}", row.strip()) == ["soft", *numbers_of(study, 1)]


def test_latex_prints_its_own_marks_as_text():
    assert latex_escape(EVIL) == (
        r"50 \% of \{A\} \& \#1\_x \textasciicircum{}\textasciitilde{} \textbackslash{}today "
        r"\$y\$ \textless{}b\textgreater{} \textbar{} `c` *d* [e](f) ``é'' ?"
    )


def test_a_latex_figure_shows_the_pdf(panels):
    text = latex_figure(panels, "Bars: 1 %.", wide=False)
    assert r"\includegraphics[width=\linewidth]{figure5.pdf}" in text
    assert r"\caption{Occlusion. Bars: 1 \%.}\label{softaug:figure5}" in text
    assert r"\begin{figure}[tp]" in text
    assert r"\begin{figure*}[tp]" in latex_figure(panels, "", wide=True)


def printed(file, **options):
    console = Console(file=io.StringIO(), **options)
    print_exhibit(file, console)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_terminal_shows_every_number_within_its_width(table, saved, width):
    text = printed(saved(table), width=width, force_terminal=True, color_system=None)
    assert max(map(len, text.splitlines())) <= width
    (row,) = [row for row in text.splitlines() if "+2.49" in row]
    assert re.split(r"\s{2,}", row.strip())[-6:] == numbers_of(table, 3)
    assert ("Soft Augmentation" in row) == (width == 160)  # else it stands above
    assert "Baseline (quoted: Zhang et al. (Mixup))" in text
    assert "no data [b]" in text
    assert "Partial: 14 of 18 runs; numbers without data: 1." in text


def test_what_is_piped_is_markdown_unwrapped(table, saved):
    file = saved(table)
    assert printed(file, width=40) == markdown(
        table, "partial: 14 of 18 runs; numbers without data: 1"
    )


def test_markup_in_a_label_is_printed_as_it_is(table, saved):
    table["rows"][1]["label"] = "[red]x[/red]"
    table["rows"] = table["rows"][:2]
    shown = printed(saved(table), width=160, force_terminal=True, color_system=None)
    assert "[red]x[/red]" in shown
