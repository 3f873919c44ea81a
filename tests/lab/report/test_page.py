"""The page: whole, self-contained, accessible, safe, and equal for equal input."""

import itertools
import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from softaug.lab.report import write_report
from softaug.lab.report.page import render

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Elements in order, and a check that every tag is closed by its own end."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs, _ in self.elements if name == tag]


@pytest.fixture
def page(page_text):
    return Page(page_text)


def test_write_report_puts_one_page_beside_the_file(results, tmp_path):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results))
    out = write_report(file)
    assert out == tmp_path / "report.html"
    assert write_report(tmp_path) == out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]


def test_all_sections_are_there_with_headings_in_order(page):
    ids = [attrs["id"] for attrs in page.all("section")]
    assert ids == ["findings", "numbers", "occluded", "calibration", "method", "again"]
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_link_leads_to_an_id(page):
    ids = {attrs["id"] for _, attrs, _ in page.elements if "id" in attrs}
    targets = [attrs["href"] for attrs in page.all("a")]
    assert len(targets) >= 6
    assert all(target.startswith("#") and target[1:] in ids for target in targets)


def test_every_figure_has_a_text_alternative_and_a_caption(page):
    figures = page.all("figure")
    assert len(figures) == 8  # 2 curves, 3 reliability diagrams, 3 panels of offsets
    assert len(page.all("figcaption")) == len(figures)
    drawings = [attrs for attrs in page.all("svg") if attrs.get("aria-hidden") != "true"]
    assert len(drawings) == 8 + 3  # original, crop and target of the one sample
    for attrs in drawings:
        assert attrs["role"] == "img"
        assert len(attrs["aria-label"]) > 20


def test_table_headers_say_what_they_head(page):
    assert page.all("table")
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))


def test_ids_are_unique_and_references_resolve(page_text, page):
    ids = Counter(attrs["id"] for _, attrs, _ in page.elements if "id" in attrs)
    assert max(ids.values()) == 1
    assert set(re.findall(r"url\(#([^)]+)\)", page_text)) <= set(ids)
    assert {attrs["href"][1:] for attrs in page.all("use")} <= set(ids)


def test_nothing_is_loaded_and_no_script_runs(page_text, page):
    for tag, attrs, _ in page.elements:
        for name in ("src", "href", "xlink:href", "data", "action", "srcset"):
            assert attrs.get(name, "#")[:5] in ("#", "data:") or attrs[name].startswith("#"), tag
        assert not any(name.startswith("on") for name in attrs)
    assert page.all("script") == []
    assert "@import" not in page_text
    assert set(re.findall(r"https?://[^\"'\s<]+", page_text)) <= {"http://www.w3.org/2000/svg"}
    assert re.findall(r"url\((?!#)", page_text) == []


def test_the_table_shows_the_summary(page):
    words = " ".join(" ".join(page.words).split())
    assert "3.00 ± 0.64" in words
    assert "n = 3" in words
    assert "better in 4 of 7 measures" in words


def test_everything_needed_to_run_again_is_there(results, page):
    words = " ".join(page.words)
    assert "softaug demo --epochs 2" in words
    for name in (*results["settings"], *results["environment"]):
        assert name in words
    assert "not known" in words  # the commit
    for arm in results["arms"]:
        assert arm["transform"] in words


def test_hostile_names_stay_text(results):
    evil = "<script>alert(1)</script>\"'&$x_2$"
    results["arms"][2]["name"] = evil
    results["settings"]["command"] = results["environment"]["cpu"] = evil
    results["settings"][evil] = evil
    page = Page(render(results))
    assert page.all("script") == []
    assert evil in "".join(page.words)
    assert not any(name.startswith("on") for _, attrs, _ in page.elements for name in attrs)


def test_equal_results_give_equal_bytes(results, page_text):
    assert render(results) == page_text


def test_light_dark_phone_and_print_are_provided_for(page_text):
    assert "prefers-color-scheme: dark" in page_text
    assert 'content="width=device-width, initial-scale=1"' in page_text
    assert "@media print" in page_text


@pytest.mark.parametrize("num_arms", [1, 7])
def test_any_number_of_arms(results, num_arms):
    arm = results["arms"][0]
    results["arms"] = [{**arm, "name": f"arm {number}"} for number in range(num_arms)]
    assert len(Page(render(results)).all("figure")) == 2 + 2 * num_arms


def test_one_seed_and_no_samples(results):
    for arm in results["arms"]:
        del arm["runs"][1:]
    results["samples"] = []
    words = " ".join(Page(render(results)).words)
    assert "one seed only" in words
    assert "Sample soft crops" not in words
