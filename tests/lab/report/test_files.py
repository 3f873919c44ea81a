"""Files of a report, each read back: HTML, SVG, PNG, Markdown, LaTeX; and pages in a browser."""

import base64
import io
import itertools
import json
import re
import warnings
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import factories
import pytest
from PIL import Image
from rich.console import Console

from softaug.lab.report.evaluation import comparison_of_one, evaluation_page
from softaug.lab.report.evaluation_figures import confusion_figures
from softaug.lab.report.latex import escape, render_figure
from softaug.lab.report.model import Column
from softaug.lab.report.paper import number_table, paper_page, print_paper_table, write_paper_table
from softaug.lab.report.render import figure_files, inline_svg, render_html
from softaug.lab.report.text import render_markdown
from softaug.lab.report.write import write_report
from softaug.lab.schema import Comparison

VOID = {"meta", "link", "br", "hr", "img", "input"}
EVIL = r"50 % of {A} & #1_x ^~ \today $y$ <b> | `c` *d* [e](f) “é” 漢"
FIGURES = {  # of two arms, one pair and one corruption
    "differences",
    *(f"reliability-{when}-{arm}" for when in ("before", "after") for arm in ("0-hard", "1-soft")),
    *("confidence-0-hard", "confidence-1-soft", "confusion-0-hard", "confusion-1-soft"),
    *("robustness-occlusion", "class-change-0-soft", "training-train-loss", "training-test-error"),
}


class Page(HTMLParser):
    """Elements in order, rows of tables, the text; every tag must be closed by its own end."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.rows, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """The folder of a comparison's report."""
    folder = tmp_path_factory.mktemp("comparison")
    factories.save(factories.make_comparison(), folder / "comparison.json")
    write_report(folder)
    return folder


@pytest.fixture(scope="session")
def page_text(written):
    return (written / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(page_text):
    return Page(page_text)


def test_the_picture_comes_first_then_sentences_then_sections_that_fold(page, page_text):
    picture, sentences = page_text.index('id="figure-differences"'), page_text.index('findings"')
    assert picture < sentences < page_text.index("<details", sentences)
    ids = [attrs["id"] for attrs in page.all("details") if "id" in attrs]
    assert ids == [
        *("all-measures", "differences", "corrupted-images", "calibration", "classes"),
        *("examples", "while-training", "settings-commands-and-machines"),
    ]
    assert not any("open" in attrs for attrs in page.all("details"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_figure_has_a_text_alternative_and_files(page, written):
    assert {attrs["id"] for attrs in page.all("figure")} == {f"figure-{n}" for n in FIGURES}
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in page.all("svg"))
    assert all(attrs["alt"] for attrs in page.all("img"))
    wanted = FIGURES | {"examples", "occluded-examples"}  # the page has cards
    names = {path.name for path in (written / "figures").iterdir()}
    assert names == {f"{name}.{kind}" for name in wanted for kind in ("svg", "png")}
    for name in wanted:
        with Image.open(written / "figures" / f"{name}.png") as picture:
            darkest, lightest = picture.convert("L").getextrema()
            assert darkest < 40 < 255 == lightest, "ink on white"
        text = (written / "figures" / f"{name}.svg").read_text()
        assert not re.search("#0102(f|04)", text), "stand-ins are for the page"


def test_numbers_are_those_of_the_file(page):
    for shown in (
        "12.00 ± 2.00",  # error of hard
        "−4.00 (−6.25 to −1.75)",  # by image
        "75 % or more, 1,600 of 1,740 correct and 200 of 260 wrong answers",  # both seeds
        "cat , test image 7",
        "dog: 12.5 %",
        "softaug train /runs/hard-seed0/recipe.json --out /runs/hard-seed0",
        "EPYC",
    ):
        assert shown in page.text, shown


def test_ids_are_unique_and_references_resolve(page, page_text):
    ids = Counter(attrs["id"] for _, attrs in page.elements if "id" in attrs)
    assert [name for name, count in ids.items() if count > 1] == []
    assert set(re.findall(r"url\(#([^)]+)\)", page_text)) <= set(ids)
    targets = [attrs["href"] for attrs in page.all("a") + page.all("use")]
    assert all(target[1:] in ids for target in targets)


def test_nothing_is_loaded_and_only_the_page_s_own_script_runs(page, page_text):
    for tag, attrs in page.elements:
        for name in ("src", "href", "data", "action", "srcset"):
            assert attrs.get(name, "#").startswith(("#", "data:")), tag
        assert not any(name.startswith("on") for name in attrs)
    assert len(page.all("script")) == 1
    assert "script-src 'sha256-" in page_text
    assert set(re.findall(r"https?://[^\"'\s<]+", page_text)) <= {"http://www.w3.org/2000/svg"}
    for part in ("prefers-color-scheme: dark", "width=device-width", "@media print"):
        assert part in page_text


def test_equal_input_gives_equal_bytes(page_text, written):
    found = evaluation_page(factories.make_comparison(), "comparison.json")
    assert inline_svg(found.figures[0]) in page_text
    svg = figure_files(found.figures[0])["svg"]
    assert svg == (written / "figures" / "differences.svg").read_bytes()


def test_hostile_text_stays_text():
    evil = "</title></script><script>alert(1)</script>\"'&$x_2$\x07{{ 7 * 7 }}"
    text = json.dumps(factories.make_comparison().model_dump())
    text = text.replace('"soft"', json.dumps(evil)).replace("cat", "<b>cat")
    text = text.replace('"EPYC"', json.dumps(evil)).replace('"train_loss"', json.dumps(evil))
    found = evaluation_page(Comparison.model_validate_json(text), "comparison.json")
    page = Page(render_html(found))
    ElementTree.fromstring(figure_files(found.figures[0])["svg"])
    assert len(page.all("script")) == 1
    assert page.all("b") == []
    assert evil.replace("\x07", " ") in page.text.replace("\x07", " ")
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert all(re.fullmatch(r"figure-[a-z0-9-]+", a["id"]) for a in page.all("figure"))


def test_one_evaluation_has_a_page_without_differences():
    empty = factories.make_examples().model_copy(update={"whole": [], "occluded": []})
    member = factories.make_member().model_copy(update={"history": [], "finished": False})
    evaluation = factories.make_evaluation(examples=empty, members=[member])
    found = evaluation_page(comparison_of_one(evaluation), "evaluation.json")
    ids = {section.name for section in found.sections}
    assert not ids & {"differences", "examples", "while-training", "corrupted-images"}
    assert "confusion-0-soft" in {one.name for one in found.all_figures()}
    page = Page(render_html(replace(found, figures=(), sections=())))
    assert "Mind, before you trust it: Training was not finished: soft, seed 0" in page.text


def test_a_hundred_classes_are_a_picture():
    (figure,) = confusion_figures(comparison_of_one(factories.make_many_classes()).arms)
    assert inline_svg(figure).count('href="data:image/png') == 2


def test_an_empty_folder_and_a_broken_file_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must hold comparison.json or evaluation.json"):
        write_report(tmp_path)
    (tmp_path / "evaluation.json").write_text("[")
    with pytest.raises(ValueError, match="run `softaug evaluate"):
        write_report(tmp_path)


# Tables and figures of a grid.


@pytest.fixture
def table():
    return factories.make_table()


@pytest.fixture
def saved(tmp_path):
    """Write a collected table as a grid does; its path."""
    return lambda content: factories.save(content, tmp_path / f"{content.name}.json")


@pytest.fixture(scope="module")
def table_file(tmp_path_factory):
    """A table with its files beside it."""
    file = tmp_path_factory.mktemp("table") / "table1.json"
    factories.save(factories.make_table(), file)
    assert names(write_paper_table(file)) == ["table1.md", "table1.tex", "table1.html"]
    return file


def label_row(table, place, label):
    """The table with a row of another name."""
    rows = list(table.rows)
    rows[place] = rows[place].model_copy(update={"label": label})
    return table.model_copy(update={"rows": [rows[0], rows[place]]})


def read_page(file):
    return Page(file.with_suffix(".html").read_text(encoding="utf-8"))


def names(paths):
    return [path.name for path in paths]


def numbers_of(table, place):
    """The columns after the label, of a row of the first group."""
    return [cell.text for cell in number_table(table).groups[0].rows[place][1:]]


def test_a_table_is_written_beside_its_file(table, table_file):
    page = read_page(table_file)
    assert ["Soft Augmentation", *numbers_of(table, 3)] in page.rows
    assert "Partial: 14 of 18 runs; numbers without data: 1." in page.text
    assert "quoted: Zhang et al. (Mixup)" in page.text


def test_a_file_that_cannot_be_replaced_leaves_the_others_whole(saved):
    file = saved(factories.make_study())
    file.with_suffix(".html").write_text("old")
    file.with_suffix(".md").mkdir()
    with pytest.raises(OSError, match=r"evidence\.md"):
        write_paper_table(file)
    assert file.with_suffix(".html").read_text() == "old"


def test_a_figure_is_also_printed_and_equal_results_give_equal_files(saved):
    file = saved(factories.make_panels())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = write_paper_table(file)
    assert names(written) == [f"figure5.{kind}" for kind in ("md", "tex", "html", "pdf", "png")]
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write_paper_table(file)] == before
    assert "both: 79.00 at 0, 75.00 at 20" in read_page(file).all("svg")[0]["aria-label"]
    assert "](figure5.png)" in written[0].read_text()
    pdf = before[3]
    assert pdf.startswith(b"%PDF")
    assert b"/FontFile2" in pdf  # TrueType inside
    assert not re.search(rb"/Type3|CreationDate", pdf)


def test_examples_wait_for_a_run(saved):
    file = saved(factories.make_collected("figure4", complete=False, runs=["runs/none"]))
    assert names(write_paper_table(file)) == ["figure4.md", "figure4.tex", "figure4.html"]
    assert "Partial: 0 of 1 runs." in read_page(file).text
    assert "Nothing to be shown yet." in file.with_suffix(".tex").read_text()


def markdown_cells(text):
    """Cells of every table row, with the escapes undone."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in row] for row in split]


def test_markdown_holds_every_number_under_its_heading(table, table_file):
    text = table_file.with_suffix(".md").read_text()
    assert text.startswith("# Table 1. Errors\n")
    rows = markdown_cells(text)
    assert rows[0] == [column.title for column in number_table(table).columns]
    assert ["Soft Augmentation", *numbers_of(table, 3)] in rows
    assert ["Baseline *(quoted: Zhang et al. (Mixup))*", "25.60"] in [row[:2] for row in rows]
    assert "not at this scale <sup>a</sup>" in text
    assert "- <sup>a</sup> No small counterpart." in text
    assert "SA\\#2 diverged above 0.2." in text


def test_markdown_shows_marks_of_the_language_as_they_are(table, tmp_path):
    rows = markdown_cells(render_markdown(paper_page(label_row(table, 1, EVIL), tmp_path)))
    assert EVIL in [row[0] for row in rows]
    assert {len(row) for row in rows} == {7}


def test_latex_is_a_float_whose_rows_have_all_columns(table_file):
    text = table_file.with_suffix(".tex").read_text()
    body = text.split(r"\toprule")[1].split(r"\bottomrule")[0]
    rows = [row for row in body.split(r"\\") if "&" in row]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 6 for row in rows[2:])
    assert r"Soft Augmentation & 18.31 $\pm$ 0.17 & 28.00 $\pm$ 0.58 & 3 of 3 & +9.69" in body
    assert r"22.62 $\pm$ \textless{}0.01" in body
    assert r"not at this scale\textsuperscript{a}" in body
    assert r"\caption{Errors.}\label{softaug:table1}" in text
    assert "Partial: 14 of 18 runs" in text
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    begun, ended = (re.findall(rf"\\{word}{{([^}}]*)}}", text) for word in ("begin", "end"))
    assert begun == ended[::-1]


def test_latex_prints_its_own_marks_as_text():
    assert escape(EVIL) == (
        r"50 \% of \{A\} \& \#1\_x \textasciicircum{}\textasciitilde{} \textbackslash{}today "
        r"\$y\$ \textless{}b\textgreater{} \textbar{} `c` *d* [e](f) ``é'' ?"
    )


def test_a_latex_figure_shows_the_pdf():
    text = render_figure("figure5", "Bars: 1 %.", wide=False)
    assert r"\includegraphics[width=\linewidth]{figure5.pdf}" in text
    assert r"\caption{Bars: 1 \%.}\label{softaug:figure5}" in text
    assert r"\begin{figure*}[tp]" in render_figure("figure5", "", wide=True)


def printed(file, **options):
    console = Console(file=io.StringIO(), **options)
    print_paper_table(file, console)
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


def test_markup_in_a_label_is_printed_as_it_is(table, saved):
    file = saved(label_row(table, 1, "[red]x[/red]"))
    shown = printed(file, width=160, force_terminal=True, color_system=None)
    assert "[red]x[/red]" in shown
    assert "[red]" in printed(file, width=40).replace("\\", "")
    assert Column("ours", under="Gain over baseline").parts == ["Gain, ours"]


# In a real browser. The page runs only its own script; the frame around it looks and clicks.

FRAME = """<!doctype html><iframe style="width: {width}px; height: 800px; border: 0"></iframe>
<pre id="measured"></pre><script>
const letter = text => {{
  const scale = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b);
}};
const frame = document.querySelector("iframe");
frame.onload = () => {{
  const page = frame.contentDocument, right = page.documentElement.clientWidth;
  const folded = page.documentElement.scrollHeight;
  const first = page.querySelector(".first").getBoundingClientRect().top;
  page.querySelectorAll("details").forEach(part => part.open = true);
  const out = [...page.querySelectorAll("body *")].filter(e => !e.closest(".scroll, pre, .skip"));
  const svg = [...page.querySelectorAll("figure > svg")].filter(e => e.checkVisibility());
  const tables = page.querySelectorAll("table[data-label]"), found = {{}};
  const table = page.getElementById("table-every-run");
  if (table) {{
    const column = () => [...table.tBodies[0].rows].map(row => row.cells[2].textContent.trim());
    const head = table.tHead.rows[0].cells[2], formats = frame.contentWindow.softaugTables;
    found.orders = [column()];
    for (let turn = 0; turn < 3; turn++) {{
      head.querySelector("button").click();
      found.orders.push(column());
    }}
    const main = page.querySelector("table[data-label='All measures']");
    found.copied = Object.fromEntries(Object.entries(formats).map(([n, f]) => [n, f(main)]));
  }}
  const shown = JSON.stringify({{
    ...found, folded, first,
    inner: right,
    scroll: page.documentElement.scrollWidth,
    outside: out.filter(e => e.getBoundingClientRect().right > right + 1).map(e => e.tagName),
    figures: svg.map(e => e.getBoundingClientRect().height),
    letters: svg.flatMap(e => [...e.querySelectorAll("text")]).map(letter),
    pictures: [...page.images].map(image => image.naturalWidth),
    buttons: page.querySelectorAll(".tools button").length,
    tables: tables.length,
  }});
  document.getElementById("measured").textContent = btoa(unescape(encodeURIComponent(shown)));
}};
frame.srcdoc = {page};
</script>"""


@pytest.fixture(scope="module", params=[360, 1200])
def measured(request, browse, page_text, tmp_path_factory):
    shown, console = browse(FRAME, page_text, request.param, tmp_path_factory.mktemp("browser"))
    return {**json.loads(base64.b64decode(shown)), "console": console, "width": request.param}


def check_fit(measured, width):
    assert "CONSOLE" not in measured["console"]
    assert measured["scroll"] <= measured["inner"] <= width
    assert measured["outside"] == []
    assert min(measured["figures"]) > 100
    assert min(measured["letters"]) > 10  # pixels


def test_the_page_fits_and_opens_with_a_picture(measured):
    check_fit(measured, measured["width"])
    assert measured["first"] < 300, "the picture is on the first screen"
    assert len(measured["figures"]) == len(FIGURES)
    assert measured["pictures"] == [8] * 5  # three whole, one at two hidden shares
    if measured["width"] == 1200:
        assert measured["folded"] < 1800, "two screens before folding"


def test_a_heading_sorts_up_down_and_back(measured):
    before, up, down, back = measured["orders"]
    assert before == back == ["10.00", "14.00", "6.00", "9.00"]
    assert up == ["6.00", "9.00", "10.00", "14.00"]
    assert down == up[::-1]


def test_tables_are_copied_in_three_formats(measured):
    assert measured["buttons"] == 3 * measured["tables"]
    copied = measured["copied"]
    assert copied["Markdown"].splitlines()[:4] == [
        "| Measure | hard | soft |",
        "| --- | ---: | ---: |",
        "| **Test images** |  |  |",
        "| Error, % ↓ | 12.00 ± 2.00 | **7.50 ± 1.50** |",
    ]
    latex = r"Error, \% $\downarrow$ & 12.00 $\pm$ 2.00 & \textbf{7.50 $\pm$ 1.50} \\"
    assert latex in copied["LaTeX"].splitlines()
    head, first = copied["CSV"].splitlines()[:2]
    assert head.startswith("Measure,hard mean,hard standard error,hard n,soft mean")
    assert first.startswith('"Error, %",12.000000000000002,2.0000000000000004,2,7.5')


def test_the_page_of_a_table_fits_a_phone(browse, table_file, tmp_path):
    page = table_file.with_suffix(".html").read_text()
    shown, console = browse(FRAME, page, 360, tmp_path)
    check_fit({**json.loads(base64.b64decode(shown)), "console": console}, 360)
