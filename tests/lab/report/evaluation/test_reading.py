"""Result files of evaluations and comparisons: read, adapted, refused."""

import json
import re

import pytest

from softaug.lab.report.evaluation.reading import check_comparison, find_file, read_comparison


def test_a_comparison_is_preferred_in_a_folder(comparison, evaluation, tmp_path):
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    assert find_file(tmp_path).name == "evaluation.json"
    (tmp_path / "comparison.json").write_text(json.dumps(comparison))
    assert find_file(tmp_path).name == "comparison.json"
    assert read_comparison(tmp_path) == comparison


def test_one_evaluation_is_one_arm_without_pairs(evaluation):
    found = check_comparison(evaluation)
    assert [arm["name"] for arm in found["arms"]] == ["soft"]
    assert found["pairs"] == []
    assert found["arms"][0]["values"] == {
        "error": [0.06],
        "nll": [0.12],
        "ece_15": [0.03],
        "occlusion/0.4": [0.44],
    }
    assert found["measures"] == evaluation["measures"]
    assert found["calibration"] == evaluation["calibration"]


def break_at(value, path, new):
    for part in path[:-1]:
        value = value[part]
    if new is KeyError:
        del value[path[-1]]
    else:
        value[path[-1]] = new


FIRST = ("arms", 0, "evaluations", 0)


@pytest.mark.parametrize(
    ("path", "new", "rule"),
    [
        (("kind",), "study", "kind comparison or evaluation, got str study"),
        (("schema",), 1, "schema 2, got int 1; run `softaug evaluate`"),
        (("arms",), [], "at least one arm"),
        (("pairs",), KeyError, "pairs must be there"),
        (("arms", 1, "name"), "hard", "different names"),
        (("arms", 0, "seeds"), [0], "2 seeds"),
        (("arms", 0, "estimates", "nll"), KeyError, "estimates must hold nll"),
        (("measures", 0, "digits"), 10**9, "digits of error must be in 0..9"),
        (("measures", 0, "percent"), "yes", "percent of error must be true or false"),
        (("pairs", 0, "against"), "none", "a pair must be of"),
        (("pairs", 0, "verdicts", "error", "word"), "great", "verdicts must hold error"),
        ((*FIRST, "class_names"), ["a"], "per_class must be about 1 classes"),
        ((*FIRST, "per_class", "confusion"), [[1]], "per_class must be about 3 classes"),
        ((*FIRST, "sets", "test", "before", "nll"), "x", "nll must be a number"),
        ((*FIRST, "sets", "test", "reliability", "before", "count"), [1], "3 bins"),
        ((*FIRST, "robustness", "occlusion", "se"), [], "2 values"),
        ((*FIRST, "temperature", "values"), [], "a temperature"),
        ((*FIRST, "split"), "validation", "sets must hold validation"),
        ((*FIRST, "measures", 0, "interval"), [1], "interval of error must be null or two numbers"),
        ((*FIRST, "measures", 0, "value"), None, "value must be a number"),
        ((*FIRST, "sets", "test", "after", "gap"), KeyError, "'test' must hold gap before and aft"),
        (("calibration", 0, "key"), "new", "'test' must hold new before and after"),
        ((*FIRST, "members", 0, "finished"), 1, "finished must be true or false"),
        ((*FIRST, "per_class", "nll"), [0.5], "per_class must be about 3 classes"),
        ((*FIRST, "examples", "whole", 0, "png"), 'x" onload="', "png must be base64"),
        ((*FIRST, "examples", "whole", 0, "label"), 3, "labels must be in 0..2"),
        ((*FIRST, "examples", "whole", 0, "answers"), [[9, 0.5]], "a class and a confidence"),
        (("arms", 1, "evaluations", 0, "examples", "whole", 0, "index"), 1, "the same examples"),
    ],
)
def test_bad_files_are_refused(comparison, path, new, rule):
    break_at(comparison, path, new)
    with pytest.raises(ValueError, match=re.escape(rule)) as refused:
        check_comparison(comparison, "report of x.json")
    assert str(refused.value).startswith("report of x.json")
    assert "; " in str(refused.value)  # a remedy


@pytest.mark.parametrize("text", ["", "[", '{"kind": NaN}', '{"kind": 1e999}', "[" * 100_000])
def test_what_is_not_json_is_refused(tmp_path, text):
    file = tmp_path / "evaluation.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="must be JSON with finite numbers"):
        read_comparison(file)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must hold comparison.json or evaluation.json"):
        read_comparison(tmp_path)


def test_base64_that_is_no_picture_is_refused(evaluation):
    from softaug.lab.report.evaluation.examples import whole_cards

    evaluation["examples"]["whole"][0]["png"] = "AAAA"
    with pytest.raises(ValueError, match="must be PNG pictures"):
        whole_cards(check_comparison(evaluation)["arms"])
