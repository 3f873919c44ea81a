"""The page of a comparison: whole, self-contained, accessible, safe, equal for equal input."""

import copy
import itertools
import json
import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from PIL import Image

from softaug.lab.report.evaluation import write_evaluation_report
from softaug.lab.report.evaluation.page import draw_all, render
from softaug.lab.report.evaluation.reading import check_comparison

VOID = {"meta", "link", "br", "hr", "img", "input"}
FIGURES = {  # of two arms, one pair and one ordeal
    *(f"reliability-{when}-{arm}" for when in ("before", "after") for arm in ("0-hard", "1-soft")),
    *("confidence-0-hard", "confidence-1-soft", "confusion-0-hard", "confusion-1-soft"),
    *("robustness-occlusion", "class-change-0-soft", "training-train-loss", "training-test-error"),
}
FILES_ONLY = {"examples", "occluded-examples"}  # the page has cards


class Page(HTMLParser):
    """Elements in order, their text, and a check that every tag is closed by its own end."""

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


def rendered(value):
    comparison = check_comparison(value)
    return render(comparison, draw_all(comparison), "comparison.json")


@pytest.fixture(scope="session")
def page(page_text):
    return Page(page_text)


def test_sections_come_in_order_with_headings_in_order(page):
    ids = [attrs["id"] for attrs in page.all("section")]
    wanted = ["findings", "numbers", "differences", "robustness", "calibration", "classes"]
    assert ids == [*wanted, "examples", "training", "settings"]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_figure_is_on_the_page_with_text_alternative_and_caption(page):
    assert {attrs["id"] for attrs in page.all("figure")} == {f"figure-{n}" for n in FIGURES}
    assert len(page.all("figcaption")) == len(FIGURES)
    assert len(page.all("svg")) == len(FIGURES)
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in page.all("svg"))
    assert all(attrs["alt"] for attrs in page.all("img"))


def test_every_figure_is_a_file_too(written):
    names = {path.name for path in (written / "figures").iterdir()}
    wanted = FIGURES | FILES_ONLY
    assert names == {f"{name}.{kind}" for name in wanted for kind in ("svg", "png")}
    for name in wanted:
        with Image.open(written / "figures" / f"{name}.png") as picture:
            assert min(picture.size) > 200
            darkest, lightest = picture.convert("L").getextrema()
            assert darkest < 40
            assert lightest == 255  # ink on white
        text = (written / "figures" / f"{name}.svg").read_text()
        assert not re.search("#0102(f|04|05)", text)  # stand-ins are for the page
        assert len(text) > 3000


def test_numbers_are_those_of_the_file(page):
    for shown in (
        "12.00 ± 2.00",  # error of hard
        "−4.00 (−6.25 to −1.75)",  # by image
        "fitted on 100 images that were held out",
        "1.250",  # temperature
        "75 % or more, 1,600 of 1,740 right and 200 of 260 wrong answers",  # confidence, both seeds
        "cat , test image 7",
        "dog: 12.5 %",
        "40 % hidden",
        "softaug train /runs/hard-seed0/recipe.json --out /runs/hard-seed0",
        "softaug evaluate /runs/soft-seed1 --draws 2",
        "softaug compare /runs/hard-seed0 /runs/hard-seed1 --out both",
        "+1.00 ± 0.00, over",  # gap before scaling
        "EPYC",
    ):
        assert shown in page.text, shown


def test_tables_can_be_sorted_and_copied(page, page_text):
    tables = [attrs for attrs in page.all("table") if "data-label" in attrs]
    assert {"all-measures", "pair-0", "temperature", "every-run", "runs", "every-class"} <= {
        attrs["id"] for attrs in tables
    }
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))
    for word in ("asMarkdown", "asLatex", "asCsv", "aria-sort", "clipboard"):
        assert word in page_text


def test_ids_are_unique_and_references_resolve(page, page_text):
    ids = Counter(attrs["id"] for _, attrs in page.elements if "id" in attrs)
    assert max(ids.values()) == 1
    assert set(re.findall(r"url\(#([^)]+)\)", page_text)) <= set(ids)
    targets = [attrs["href"] for attrs in page.all("a") + page.all("use")]
    assert all(target[1:] in ids for target in targets)


def test_nothing_is_loaded(page, page_text):
    for tag, attrs in page.elements:
        for name in ("src", "href", "data", "action", "srcset"):
            value = attrs.get(name, "#")
            assert value.startswith(("#", "data:")), tag
        assert not any(name.startswith("on") for name in attrs)
    assert len(page.all("script")) == 1
    assert "script-src 'sha256-" in page_text
    assert set(re.findall(r"https?://[^\"'\s<]+", page_text)) <= {"http://www.w3.org/2000/svg"}


def test_equal_input_gives_equal_bytes(comparison, page_text, written):
    pictures = draw_all(check_comparison(comparison))
    assert render(comparison, pictures, "comparison.json") == page_text
    picture = pictures["confusion"][0]
    file = written / "figures" / f"{picture.name}.svg"
    assert picture.files()["svg"] == file.read_bytes()


def test_hostile_text_stays_text(comparison):
    evil = "</title></script><script>alert(1)</script>\"'&$x_2$\x07{{ 7 * 7 }}"
    text = json.dumps(comparison).replace('"soft"', json.dumps(evil)).replace("cat", "<b>cat")
    hostile = json.loads(text)
    hostile["environment"]["cpu"] = hostile["measures"][0]["label"] = evil
    hostile["arms"][0]["evaluations"][0]["members"][0]["folder"] = evil
    hostile["arms"][0]["evaluations"][0]["temperature"]["how"] = evil
    hostile["arms"][0]["evaluations"][0]["members"][0]["metrics"][0][evil] = 1.0
    found = check_comparison(hostile)
    pictures = draw_all(found)
    page = Page(render(found, pictures, "comparison.json"))
    ElementTree.fromstring(pictures["robustness"][0].files()["svg"])
    assert len(page.all("script")) == 1
    assert page.all("b") == []
    assert evil.replace("\x07", " ") in page.text.replace("\x07", " ")
    names = {name for _, attrs in page.elements for name in attrs}
    assert not any(name.startswith("on") for name in names)
    for attrs in page.all("figure"):
        assert re.fullmatch(r"figure-[a-z0-9-]+", attrs["id"])


def test_one_evaluation(evaluation, tmp_path):
    file = tmp_path / "evaluation.json"
    file.write_text(json.dumps(evaluation))
    assert write_evaluation_report(file) == tmp_path / "report.html"
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "differences" not in [attrs["id"] for attrs in page.all("section")]
    assert "Evaluation of soft" in page.text
    assert "6.00" in page.text
    assert not (tmp_path / "figures" / "class-change-0-soft.svg").exists()
    assert (tmp_path / "figures" / "confusion-0-soft.svg").exists()


def test_second_sets_have_reliability_figures_and_a_calibration_table(evaluation):
    evaluation["sets"] |= {"v2": evaluation["sets"]["test"], "V2": evaluation["sets"]["test"]}
    page = Page(rendered(evaluation))
    figures = {attrs["id"] for attrs in page.all("figure")}
    for name in ("also-0-v2", "also-1-v2"):
        for when in ("before", "after"):
            assert f"figure-reliability-{name}-{when}-0-soft" in figures
    labels = [attrs["data-label"] for attrs in page.all("table") if "data-label" in attrs]
    assert {"Calibration on test images", "Calibration on v2 images"} <= set(labels)


def test_an_unfinished_run_is_a_caution_on_the_page(evaluation):
    evaluation["members"][0] |= {"step": 5, "finished": False}
    text = Page(rendered(evaluation)).text
    assert "Mind, before you trust it: Training was not finished: soft, seed 0, at step 5" in text


def test_a_hundred_classes_are_a_picture_and_the_most_confused(many_classes):
    page = Page(rendered(many_classes))
    assert len([attrs for attrs in page.all("image") if attrs["href"].startswith("data:")]) == 2
    assert "the 15 most confused pairs" in page.text


def test_a_hundred_classes_change_shows_the_ends(many_classes):
    from softaug.lab.report.evaluation.classes import change_picture

    other = copy.deepcopy(many_classes) | {"name": "hard"}
    other["per_class"]["error"] = [0.25] * 100
    arms = [
        {"name": one["name"], "seeds": [0], "evaluations": [one]} for one in (many_classes, other)
    ]
    pair = {"arm": "soft", "against": "hard", "seeds": [0]}
    picture = change_picture(pair, {"arms": arms}, 0)
    rows = picture.table.rows
    assert len(rows) == 20
    assert [cell.text for cell in rows[0]] == ["class 0", "100", "25.0", "0.0", "−25.0"]
    assert rows[-1][0].text == "class 99"
    assert "50 of 100 classes better, 49 worse" in picture.caption


def test_no_training_rows_and_no_examples(evaluation):
    evaluation["members"][0]["metrics"] = []
    evaluation["examples"] = {"whole": [], "occluded": []}
    ids = [attrs["id"] for attrs in Page(rendered(evaluation)).all("section")]
    assert "training" not in ids
    assert "examples" not in ids


def test_light_dark_phone_and_print_are_provided_for(page_text):
    assert "prefers-color-scheme: dark" in page_text
    assert 'content="width=device-width, initial-scale=1"' in page_text
    assert "@media print" in page_text


def test_a_paced_arm_has_its_strength_by_epoch_on_the_page(comparison):
    for evaluation in comparison["arms"][1]["evaluations"]:
        for row in evaluation["members"][0]["metrics"]:
            row |= {"sigma": 0.1 * row["epoch"], "lead": 0.05}
    page = Page(rendered(comparison))
    (strength,) = (a for a in page.all("svg") if a["aria-label"].startswith("Sigma, by epoch"))
    assert strength["aria-label"] == "Sigma, by epoch, soft: 0.3 at 3 (n = 2)."
    assert "Strength of the crop, which a pacer set for each epoch." in page.text
