"""All files of an exhibit: whole, self-contained, parsed back."""

import re
from html.parser import HTMLParser

import pytest

from softaug.lab.report.exhibits import write_exhibit

VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """Rows of the table as text, and every element; tags must close in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.rows, self.text = [], [], [], ""
        self.feed(text)
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
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def page_of(file):
    return Page(file.with_suffix(".html").read_text(encoding="utf-8"))


def names(paths):
    return [path.name for path in paths]


def test_a_table_is_written_beside_its_file_in_three_formats(table, saved):
    file = saved(table)
    assert names(write_exhibit(file)) == ["table1.md", "table1.tex", "table1.html"]
    assert sorted(names(file.parent.iterdir())) == sorted(
        ["table1.json", "table1.md", "table1.tex", "table1.html"]
    )


def test_the_page_holds_the_rows_and_says_whose_numbers_they_are(table, saved):
    file = saved({**table, "scale": "cpu"})
    write_exhibit(file)
    page = page_of(file)
    assert page.rows[0][1:3] == ["Paper’s", "Ours"]
    assert page.rows[0][-1] == "Gain over baseline"
    assert page.rows[1][-2:] == ["paper’s", "ours"]
    numbers = ["18.31 ± 0.17", "28.00 ± 0.58", "3 of 3", "+9.69", "+2.49", "+3.00 ± 0.58"]
    assert ["Soft Augmentation", *numbers] in page.rows
    assert "not like for like" in page.text
    assert "Partial: 14 of 18 runs; numbers without data: 1." in page.text
    assert "quoted: Zhang et al. (Mixup)" in page.text


def test_a_study_is_a_table_of_our_numbers_alone(study, saved):
    file = saved(study)
    assert names(write_exhibit(file)) == ["evidence.md", "evidence.tex", "evidence.html"]
    page = page_of(file)
    assert page.rows[0] == ["", "Ours", "Runs", "Gain over baseline"]
    assert ["soft", "28.00 ± 0.58", "3 of 3", "+3.00 ± 0.58"] in page.rows
    assert "Numbers in the columns of the paper" not in page.text
    assert r"\begin{tabular}" in file.with_suffix(".tex").read_text()


def test_the_page_needs_no_network_and_runs_nothing(table, saved):
    file = saved(table)
    write_exhibit(file)
    page, text = page_of(file), file.with_suffix(".html").read_text()
    assert not {"script", "iframe", "object"} & {tag for tag, _ in page.elements}
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text


def test_a_label_cannot_become_html(table, saved):
    table["rows"][1]["label"] = "<script>alert(1)</script>"
    table["rows"] = table["rows"][:2]
    file = saved(table)
    write_exhibit(file)
    assert "<script>alert(1)</script>" in page_of(file).text
    assert "script" not in {tag for tag, _ in page_of(file).elements}


def test_a_figure_is_also_printed_and_equal_results_give_equal_files(panels, saved):
    file = saved(panels)
    written = write_exhibit(file)
    kinds = ["md", "tex", "html", "pdf", "png"]
    assert names(written) == [f"figure5.{kind}" for kind in kinds]
    assert written[3].read_bytes().startswith(b"%PDF")
    before = [path.read_bytes() for path in written]
    assert [path.read_bytes() for path in write_exhibit(file)] == before
    page = page_of(file)
    (picture,) = [attrs for tag, attrs in page.elements if tag == "svg"]
    assert "both: 79.00 at 0, 75.00 at 20" in picture["aria-label"]
    assert "![" in written[0].read_text()
    assert "](figure5.png)" in written[0].read_text()


def test_figure_2_needs_no_run(exhibit_of, saved):
    written = write_exhibit(saved(exhibit_of("figure2", title="Targets")))
    assert names(written)[-2:] == ["figure2.pdf", "figure2.png"]


def test_examples_without_an_evaluated_run_are_told_not_drawn(exhibit_of, saved):
    content = exhibit_of("figure4", complete=False, runs=["runs/none"])
    file = saved(content)
    assert names(write_exhibit(file)) == ["figure4.md", "figure4.tex", "figure4.html"]
    assert "Partial: 0 of 1 runs." in page_of(file).text
    assert "Nothing to be shown yet." in file.with_suffix(".tex").read_text()


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_the_old_one(table, saved):
    file = saved(table)
    write_exhibit(file)
    (file.parent / "table1.md").unlink()
    (file.parent / "table1.md").mkdir()
    with pytest.raises(OSError, match=r"table1\.md"):
        write_exhibit(file)
    assert page_of(file).rows
