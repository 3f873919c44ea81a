"""Bad result files are refused: who, rule, value, remedy."""

import json

import pytest

from softaug.lab.report import summarise, write_report
from softaug.lab.report.results import Results, read_results
from softaug.lab.report.shape import check_shape


def change(path, value):
    """A function that puts `value` at the place `path` of the results; None deletes."""

    def apply(results):
        *front, last = path
        for part in front:
            results = results[part]
        if value is None:
            del results[last]
        else:
            results[last] = value

    return apply


RUN = ("arms", 0, "runs", 1)
CASES = [
    (change(["schema"], 2), "the result file must have schema 1, got 2"),
    (change(["schema"], None), "the result file must have schema 1, got None"),
    (change(["arms"], []), "there must be at least one arm, got none"),
    (change(["arms", 1, "runs"], []), "arm 'hard aggressive crop' must have at least one run"),
    (change(["arms", 1, "name"], "soft crop"), "arms must have different names"),
    (change(["arms", 1, "name"], "\0"), r"arms must have printable names, got '\x00'"),
    (change(["arms"], {}), "arms must be a list, got dict"),
    (change(["samples"], None), "samples must be there, got nothing"),
    (change(["settings", "k"], "2"), "settings.k must be a number, got str 2"),
    (change([*RUN, "nll"], None), "arms[0].runs[1].nll must be there"),
    (change([*RUN, "error"], "low"), "arms[0].runs[1].error must be a number, got str low"),
    (change([*RUN, "error"], True), "arms[0].runs[1].error must be a number, got bool True"),
    (change([*RUN, "seed"], 0), "runs of arm 'hard mild crop' must have different seeds"),
    (change([*RUN, "occlusion"], {"0": 1.0}), "all runs must have the same occlusion levels"),
    (change([*RUN, "reliability", "count"], [1]), "reliability must have 3 bins"),
    (change([*RUN, "reliability", "edges"], [0, 1]), "must have the same reliability edges"),
    (change(["arms", 2, "offsets", 0], [1, 2, 3]), "offsets must be pairs [dx, dy]"),
    (change(["curves", "confidence", "2"], [0.5]), "the curve of k = 2 must have 11 values, got 1"),
    (change(["samples", 0, "target"], [1.0]), "the target of samples[0] must have 10 classes"),
    (change(["samples", 0, "image"], [[1]]), "the images of samples[0] must be [H, W]"),
    (change(["samples", 0, "image", 0, 0], 256), "the images of samples[0] must be [H, W]"),
]


@pytest.mark.parametrize(("spoil", "message"), CASES, ids=[message for _, message in CASES])
def test_bad_results_are_refused_with_their_place(results, spoil, message):
    spoil(results)
    with pytest.raises(ValueError, match="run `softaug demo` again") as refused:
        summarise(results)
    assert message in str(refused.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="must be readable, got No such file") as refused:
        write_report(tmp_path)
    assert str(tmp_path / "results.json") in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be JSON"),
        (b'{"schema": 1', "must be JSON"),
        (b"[]", "must have schema 1, got list"),
        (b"\xff\xfe", "must be UTF-8 text"),
    ],
)
def test_a_malformed_file_is_refused_and_no_page_written(tmp_path, content, message):
    (tmp_path / "results.json").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_more_keys_are_welcome(results, tmp_path):
    results["settings"]["new"] = results["arms"][0]["runs"][0]["new"] = 1
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert read_results(tmp_path)["settings"]["new"] == 1


def test_an_optional_number_may_be_null():
    check_shape([None, 1.5], list[float | None], "file")
    with pytest.raises(ValueError, match=r"file: \[0\] must be a number or null, got str x"):
        check_shape(["x"], list[float | None], "file")


def test_the_shape_of_the_whole_file_is_checked(results):
    check_shape(results, Results, "file")
