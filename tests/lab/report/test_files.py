"""Files of a report, each read back: HTML, SVG, PNG, Markdown, LaTeX; and pages in a browser."""

import io
import json
import re
import shutil
import subprocess
import warnings
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import factories
import pytest
from PIL import Image
from rich.console import Console

from softaug.lab.report.evaluation import comparison_of_one, evaluation_page, write_report
from softaug.lab.report.latex import escape
from softaug.lab.report.paper import print_paper_table, write_paper_table
from softaug.lab.report.render import figure_files, inline_svg, render_html
from softaug.lab.schema import Comparison

VOID = {"meta", "link", "br", "hr", "img", "input"}
EVIL = r"50 % of {A} & #1_x ^~ \today $y$ <b> [red] | `c` *d* [e](f) “é” 漢"
SOFT = ["Soft Augmentation", "18.31 ± 0.17", "28.00 ± 0.58", "3 of 3", "+9.69", "+2.49"]
FIGURES = {  # of two arms, one pair and one corruption
    *("headline", "differences"),
    *(f"reliability-{when}-{arm}" for when in ("before", "after") for arm in ("0-hard", "1-soft")),
    *("confusion-0-hard", "confusion-1-soft", "robustness-occlusion", "class-change-0-soft"),
    *("examples", "occluded-examples"),
}


class Page(HTMLParser):
    """Elements in order, and the text; every tag must be closed by its own end."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

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
    write_report(folder / "comparison.json")
    return folder


@pytest.fixture(scope="session")
def page_text(written):
    return (written / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(page_text):
    return Page(page_text)


def test_the_picture_comes_first_then_sentences_then_sections_that_fold(page, page_text):
    picture, sentences = page_text.index('id="figure-headline"'), page_text.index('findings"')
    assert picture < sentences < page_text.index("<details", sentences)
    ids = [attrs["id"] for attrs in page.all("details") if "id" in attrs]
    assert ids == [
        *("differences", "all-measures", "corrupted-images", "calibration", "classes"),
        *("examples", "settings-commands-and-machines"),
    ]
    assert not any("open" in attrs for attrs in page.all("details"))
    levels = [tag for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels == ["h1", *["h2"] * len(ids)]
    for shown in ("−0.090 [−0.217 to +0.037]", "A ✓ cat, 75 %", "train /runs/hard-seed0", "EPYC"):
        assert shown in page.text


def test_every_figure_has_a_text_alternative_and_files(page, written):
    assert {attrs["id"] for attrs in page.all("figure")} == {f"figure-{n}" for n in FIGURES}
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in page.all("svg"))
    names = {path.name for path in (written / "figures").iterdir()}
    assert names == {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "png")}
    for name in FIGURES:
        with Image.open(written / "figures" / f"{name}.png") as picture:
            darkest, lightest = picture.convert("L").getextrema()
            assert darkest < 40 < 255 == lightest, "ink on white"
        text = (written / "figures" / f"{name}.svg").read_text()
        assert not re.search("#0102(f|04)", text), "stand-ins are for the page"


def test_ids_are_unique_and_references_resolve(page, page_text):
    ids = Counter(attrs["id"] for _, attrs in page.elements if "id" in attrs)
    assert [name for name, count in ids.items() if count > 1] == []
    assert set(re.findall(r"url\(#([^)]+)\)", page_text)) <= set(ids)
    targets = [attrs["href"] for attrs in page.all("use")]
    assert all(target[1:] in ids for target in [*targets, "#content"])


def test_nothing_is_loaded_and_no_script_runs(page, page_text):
    for tag, attrs in page.elements:
        for name in ("src", "href", "data", "action", "srcset"):
            assert attrs.get(name, "#").startswith(("#", "data:")), tag
    assert page.all("script") == []
    assert set(re.findall(r"https?://[^\"'\s<]+", page_text)) <= {"http://www.w3.org/2000/svg"}
    for part in ("prefers-color-scheme: dark", "width=device-width", "@media print"):
        assert part in page_text


def test_equal_input_gives_equal_bytes(page_text, written):
    found = evaluation_page(factories.make_comparison(), "comparison.json")
    assert inline_svg(found.figures[0]) in page_text
    svg = figure_files(found.figures[0])["svg"]
    assert svg == (written / "figures" / "headline.svg").read_bytes()


def test_hostile_text_stays_text():
    evil = "</title></script><script>alert(1)</script>\"'&$x_2$\x07{{ 7 * 7 }}"
    text = json.dumps(factories.make_comparison().model_dump())
    text = text.replace('"soft"', json.dumps(evil)).replace("cat", "<b>cat")
    text = text.replace('"EPYC"', json.dumps(evil))
    found = evaluation_page(Comparison.model_validate_json(text), "comparison.json")
    page = Page(render_html(replace(found, sections=(*found.sections[:2], found.sections[-1]))))
    ElementTree.fromstring(figure_files(found.figures[0])["svg"])
    assert page.all("script") == page.all("b") == []
    assert evil.replace("\x07", " ") in page.text.replace("\x07", " ")
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert all(re.fullmatch(r"figure-[a-z0-9-]+", a["id"]) for a in page.all("figure"))


def test_one_evaluation_has_a_page_without_differences():
    empty = factories.make_examples().model_copy(update={"whole": [], "occluded": []})
    evaluation = factories.make_evaluation(examples=empty)
    found = evaluation_page(comparison_of_one(evaluation), "evaluation.json")
    titles = {section.title for section in found.sections}
    assert not titles & {"Differences", "Examples", "Corrupted images"}


# Tables and figures of a grid.


@pytest.fixture
def saved(tmp_path):
    """Write a collected table as a grid does; its path."""
    return lambda content: factories.save(content, tmp_path / f"{content.name}.json")


@pytest.fixture(scope="module")
def table_file(tmp_path_factory):
    """A table with its files beside it."""
    file = tmp_path_factory.mktemp("table") / "table1.json"
    factories.save(factories.make_table(), file)
    assert [path.suffix for path in write_paper_table(file)] == [".md", ".tex", ".html"]
    return file


def read_page(file):
    return Page(file.with_suffix(".html").read_text(encoding="utf-8"))


def test_a_table_s_page_holds_numbers_sources_and_progress(table_file):
    page = read_page(table_file)
    for shown in (" ".join(SOFT), "+3.00 ± 0.58", "14 of 18 runs", "quoted: Zhang et al. (Mixup)"):
        assert shown in page.text


def test_a_figure_is_also_printed_and_equal_results_give_equal_files(saved):
    file = saved(factories.make_panels())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = write_paper_table(file)
    assert [path.suffix for path in written] == [".md", ".tex", ".html", ".pdf", ".png"]
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write_paper_table(file)] == before
    assert "both: 79.00 at 0, 75.00 at 20" in read_page(file).all("svg")[0]["aria-label"]
    assert "](figure5.png)" in written[0].read_text()
    assert r"\includegraphics[width=\linewidth]{figure5.pdf}" in written[1].read_text()
    pdf = before[3]
    assert b"/FontFile2" in pdf  # TrueType inside
    assert not re.search(rb"/Type3|CreationDate", pdf)


def test_examples_wait_for_a_run(saved):
    file = saved(factories.make_collected("figure4", complete=False, runs=["runs/none"]))
    assert [path.suffix for path in write_paper_table(file)] == [".md", ".tex", ".html"]
    assert "Partial: 0 of 1 runs." in read_page(file).text
    assert "Nothing to be shown yet." in file.with_suffix(".tex").read_text()


def markdown_cells(text):
    """Cells of every table row, with the escapes undone."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    split = [re.split(r"(?<!\\)\|", row)[1:-1] for row in rows]
    return [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in row] for row in split]


def test_markdown_holds_every_number_under_its_heading(table_file):
    text = table_file.with_suffix(".md").read_text()
    assert text.startswith("# Table 1. Errors\n")
    rows = markdown_cells(text)
    assert rows[0][1:4] == ["Paper’s", "Ours", "Runs"]
    assert [*SOFT, "+3.00 ± 0.58"] in rows
    assert ["Baseline *(quoted: Zhang et al. (Mixup))*", "25.60"] in [row[:2] for row in rows]
    assert "not at this scale <sup>a</sup>" in text
    assert "- <sup>a</sup> No small counterpart." in text
    assert "SA\\#2 diverged above 0.2." in text


def test_latex_is_a_float_whose_rows_have_all_columns(table_file):
    text = table_file.with_suffix(".tex").read_text()
    body = text.split(r"\toprule")[1].split(r"\bottomrule")[0]
    rows = [row for row in body.split(r"\\") if "&" in row]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 6 for row in rows[1:])
    assert r"Soft Augmentation & 18.31 $\pm$ 0.17 & 28.00 $\pm$ 0.58 & 3 of 3 & +9.69" in body
    assert r"22.62 $\pm$ \textless{}0.01" in body
    assert r"not at this scale\textsuperscript{a}" in body
    assert r"\caption{Errors.}\label{softaug:table1}" in text
    assert "Partial: 14 of 18 runs" in text
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")
    begun, ended = (re.findall(rf"\\{word}{{([^}}]*)}}", text) for word in ("begin", "end"))
    assert begun == ended[::-1]


def printed(file, **options):
    console = Console(file=io.StringIO(), **options)
    print_paper_table(file, console)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_terminal_shows_every_number_within_its_width(saved, width):
    text = printed(
        saved(factories.make_table()), width=width, force_terminal=True, color_system=None
    )
    assert max(map(len, text.splitlines())) <= width
    (row,) = [row for row in text.splitlines() if "+2.49" in row]
    assert re.split(r"\s{2,}", row.strip())[-6:] == [*SOFT[1:], "+3.00 ± 0.58"]
    assert ("Soft Augmentation" in row) == (width == 160)  # else it stands above
    assert "Baseline (quoted: Zhang et al. (Mixup))" in text
    assert "no data [b]" in text


def test_marks_of_a_language_are_printed_as_they_are(saved):
    table = factories.make_table()
    rows = [table.rows[1].model_copy(update={"label": EVIL, "baseline": None})]
    file = saved(table.model_copy(update={"rows": rows}))
    assert EVIL in printed(file, width=160, force_terminal=True, color_system=None)
    cells = markdown_cells(printed(file, width=40))
    assert EVIL in [row[0] for row in cells]
    assert {len(row) for row in cells} == {7}
    assert escape(EVIL) == (
        r"50 \% of \{A\} \& \#1\_x \textasciicircum{}\textasciitilde{} \textbackslash{}today "
        r"\$y\$ \textless{}b\textgreater{} [red] \textbar{} `c` *d* [e](f) ``é'' ?"
    )


# In a real browser. The page has no script; the document around it looks.

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = ("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking")
FRAMES = """<!doctype html><pre id="measured"></pre><script>
const measured = [];
const letter = text => {
  const scale = text.getScreenCTM();
  return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(scale.a, scale.b);
};
for (const [width, content] of PAGES) {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 800px; border: 0`;
  frame.onload = () => {
    const page = frame.contentDocument, folded = page.documentElement.scrollHeight;
    const first = page.querySelector(".first").getBoundingClientRect().top;
    page.querySelectorAll("details").forEach(part => part.open = true);
    const letters = Math.min(...[...page.querySelectorAll("figure text")].map(letter));
    const figures = page.querySelectorAll("figure svg").length;
    measured.push({width, folded, first, letters, figures, wide: page.documentElement.scrollWidth});
    document.getElementById("measured").textContent = JSON.stringify(measured);
  };
  frame.srcdoc = content;
  document.body.append(frame);
}
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_pages_fit_and_open_with_a_picture(page_text, table_file, tmp_path):
    table_text = table_file.with_suffix(".html").read_text()
    pages = [[1200, page_text], [360, page_text], [360, table_text]]
    (tmp_path / "frames.html").write_text(
        FRAMES.replace("PAGES", json.dumps(pages).replace("</", "<\\/"))
    )
    options = [f"--{name}" for name in QUIET] + [f"--user-data-dir={tmp_path}/profile"]
    command = [CHROMIUM, *options, "--dump-dom", (tmp_path / "frames.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    measured = json.loads(re.search(r'<pre id="measured">(.*?)</pre>', done.stdout)[1])
    assert {found["figures"] for found in measured} == {len(FIGURES), 1}
    assert len(measured) == len(pages)
    for found in measured:
        assert found["wide"] <= found["width"], "nothing is outside"
        assert found["first"] < 300, "the picture is on the first screen"
        assert found["letters"] > 10, "pixels"
        assert found["folded"] < 1800 or found["width"] < 1200, "two screens before folding"
