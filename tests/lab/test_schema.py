"""The schema of result files: what is written is read again, anything else is refused by name."""

import re

import factories
import pytest

from softaug.lab import schema

MAKERS = [
    factories.make_result,
    factories.make_evaluation,
    factories.make_comparison,
    factories.make_table,
    factories.make_panels,
    factories.make_crops,
    factories.make_study,
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_written_record_is_read_again(make, tmp_path):
    record = make()
    path = schema.write(record, tmp_path / "file.json")
    assert schema.read(path, type(record)) == record
    assert schema.write(schema.read(path, type(record)), tmp_path / "b").read_text() == (
        path.read_text()
    )


def refused(text, model, tmp_path):
    path = tmp_path / "run" / "file.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ValueError, match="^" + re.escape(f"{path}: ")) as caught:
        schema.read(path, model)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(model.remedy.format(folder=path.parent))
    return message


COMMON = [
    (("name",), ..., "name must be there, got nothing; run `softaug evaluate"),
    (("spare",), 1, "spare must not be there: no such key, got 1"),
    (("temperature", "others"), float("nan"), "must be JSON with finite numbers, got"),
    (("metrics", 0, "digits"), 12, "metrics[0].digits must be less than or equal to 9, got 12"),
    (("metrics", 0, "percent"), "yes", "metrics[0].percent must be a valid boolean, got 'yes'"),
    (("metrics", 1, "key"), "error", "keys of metrics must be different, got ['error', 'error'"),
    (("members", 0, "finished"), 1, "members[0].finished must be a valid boolean, got 1"),
    (("split",), "validation", "test_sets must hold validation, got ['test']"),
    (("class_names",), ["cat"], "brier, confusion must have 1 values each, got [3, 3"),
    (("test_sets", "test", "error"), 1.5, "test_sets.test.error must be less than or equal to 1"),
    (("test_sets", "test", "before", "ece_15"), ..., "before and after scaling, got 'no ece_15'"),
    (
        ("test_sets", "test", "reliability", "before", "count"),
        [1, 2],
        "before: count, confidence, accuracy must have 3 values each, got [2, 3, 3]",
    ),
    (("test_sets", "test", "histogram", "wrong"), [1], "wrong must have 4 values each"),
    (("corruptions", "occlusion", "se"), [0.1], "accuracy, se must have 2 values each"),
    (("examples", "whole", 0, "label"), 3, "labels must be in 0..2, got [3, 1, 2]"),
    (("examples", "whole", 0, "png"), "<svg>", "examples.whole[0].png must match"),
    (("examples", "whole", 0, "answers"), [[3, 0.5]], "classes of answers must be in 0..2"),
    (("examples", "whole"), [], "occluded images must be the first of the whole ones, got 1"),
    (("members", 0, "history", 0, "lr"), "fast", "history[0].lr must be a valid number"),
]
COMPARED = [
    (("arms", 0, "name"), "soft", "names of arms must be different, got ['soft', 'soft']"),
    (("arms", 0, "seeds"), [0], "arm 'hard' must have 2 seeds, got [0]"),
    (("arms", 0, "values", "nll"), [1.0], "values of nll of 'hard' must be 2 numbers"),
    (("arms", 0, "estimates", "nll"), ..., "estimates of 'hard' must hold nll"),
    (("pairs", 0, "against"), "none", "a pair must be of ['hard', 'soft'], got 'none'"),
    (("pairs", 0, "verdicts", "nll"), ..., "a verdict on each metric"),
    (("arms", 1, "evaluations", 0, "class_names"), ["a", "b", "c"], "the same classes"),
    (("arms", 1, "evaluations", 0, "corruptions", "occlusion", "levels"), [0, 0.5], "same levels"),
    (("arms", 1, "evaluations", 0, "examples", "whole", 0, "index"), 1, "the same examples"),
    (
        ("arms", 1, "evaluations", 0, "test_sets", "test", "reliability", "after", "edges", 1),
        0.4,
        "same bins of confidence",
    ),
]
COLLECTED = [
    (("name",), "figure1", "crops must be there"),
    (("rows", 1, "cells", 0, "state"), "done", "rows[1].cells[0].state must be 'complete'"),
    (("rows", 1, "cells", 0, "ours"), None, "a complete cell must have ours"),
    (("rows", 1, "cells", 0, "state"), "diverged", "a diverged cell must say which seeds"),
    (("rows", 1, "cells", 0, "ours", "n"), 2, "n must count the values and be at most planned"),
    (("rows", 2, "baseline"), "none", "baseline of 'Label smoothing' must be the label of a row"),
]
PANELS = [
    (("panels", 0, "lines", 0, "x"), [1.0], "panels[0].lines[0]: mean, se, n, paper must have 1"),
]
VERSIONS = [
    (("schema_version",), 2, "must have schema_version 3, got 2: it was written by an earlier"),
    (("schema_version",), ..., "got None: it was written by an earlier version; run `softaug"),
    (("schema_version",), 4, "got 4: it was written by a later version"),
]
WRONG = {
    factories.make_evaluation: COMMON + VERSIONS,
    factories.make_comparison: COMPARED,
    factories.make_table: COLLECTED,
    factories.make_panels: PANELS,
}


@pytest.mark.parametrize(
    ("make", "place", "value", "message"),
    [(make, *case) for make, cases in WRONG.items() for case in cases],
)
def test_a_wrong_value_or_version_is_refused(make, place, value, message, tmp_path):
    record = make()
    assert message in refused(factories.change(record, place, value), type(record), tmp_path)


def test_labels_must_name_the_runs():
    with pytest.raises(ValueError, match="one for each of the runs, all different"):
        factories.make_collected("figure6", runs=["a", "b"], labels=["A", "A"])


def test_files_of_an_earlier_version_are_refused_but_results_and_tables_are_read(tmp_path):
    message = refused('{"schema": 2, "kind": "evaluation"}', schema.Evaluation, tmp_path)
    assert "must have schema_version 3, got None: it was written by an earlier version" in message
    for record in (factories.make_result(), factories.make_table()):
        text = record.model_dump_json(exclude={"schema_version"})
        (tmp_path / "a.json").write_text('{"schema": 1, ' + text[1:])
        assert schema.read(tmp_path / "a.json", type(record)) == record


@pytest.mark.parametrize("text", ["", "[1]", "null", "{", "[" * 10_000])
def test_what_is_no_record_is_refused(text, tmp_path):
    refused(text, schema.Evaluation, tmp_path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"missing\.json: the file must be readable, got No such"):
        schema.read(tmp_path / "missing.json", schema.Result)
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(ValueError, match=r"latin\.json: the file must be UTF-8 text"):
        schema.read(tmp_path / "latin.json", schema.Result)


def test_metrics_rows_hold_numbers_by_name():
    content = {"step": 5, "epoch": 1, "lr": 0.1, "test_error": 1.0, "warning": "odd"}
    row = schema.MetricsRow(**content)
    assert row.numbers == {"lr": 0.1, "test_error": 1.0}
    assert row.model_dump() == content


def test_an_evaluation_of_another_run_than_the_one_beside_it_is_refused(tmp_path):
    member = factories.make_member().model_copy(update={"run_id": "a" * 32})
    evaluation = factories.make_evaluation().model_copy(update={"members": [member]})
    path = factories.save(evaluation, tmp_path / "evaluation.json")
    for letter in "ab":
        identity = schema.RunIdentity(run_id=letter * 32, recipe_sha256="0" * 64)
        factories.save(identity, tmp_path / "run.json")
        if letter == "a":
            assert schema.read_evaluation(path).members == [member]
    with pytest.raises(ValueError, match=r"evaluation.json: the file must be of the run bbb.*aaa"):
        schema.read_evaluation(path)
