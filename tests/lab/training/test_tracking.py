import json
import time

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tiny_runs import tiny

from softaug.lab.training.command import train
from softaug.lab.training.logging import MetricLogger, read_metrics
from softaug.lab.training.run_dir import RunOptions


def track(folder, step, *rows):
    tracker = MetricLogger(folder, [row for row in read_metrics(folder) if row["step"] <= step])
    for row in rows:
        tracker.log(row)
    tracker.close()


def row(step, loss=1.0):
    return {"step": step, "epoch": step // 3, "loss": loss}


def events(folder):
    found = EventAccumulator(str(folder / "tensorboard")).Reload().Scalars("loss")
    return [(event.step, event.value) for event in found]


def test_each_row_is_a_line_of_json_and_an_event(tmp_path):
    track(tmp_path, 0, row(3), row(6, 0.5))
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [row(3), row(6, 0.5)] == read_metrics(tmp_path)
    assert events(tmp_path) == [(3, 1.0), (6, 0.5)]


def test_a_row_can_be_read_at_once(tmp_path):
    tracker = MetricLogger(tmp_path)
    tracker.log(row(3))
    assert read_metrics(tmp_path) == [row(3)]
    tracker.close()


def test_begun_again_it_forgets_later_steps(tmp_path):
    track(tmp_path, 0, row(3), row(6), row(9))
    track(tmp_path, 6, row(9, 0.25))
    assert read_metrics(tmp_path) == [row(3), row(6), row(9, 0.25)]
    assert events(tmp_path) == [(3, 1.0), (6, 1.0), (9, 0.25)]


def test_begun_at_0_it_forgets_everything(tmp_path):
    track(tmp_path, 0, row(3))
    track(tmp_path, 0)
    assert read_metrics(tmp_path) == []


def test_a_line_that_was_cut_off_is_left_out_and_written_over(tmp_path):
    track(tmp_path, 0, row(3))
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 6, "lo')
    assert read_metrics(tmp_path) == [row(3)]
    track(tmp_path, 3, row(6))
    assert read_metrics(tmp_path) == [row(3), row(6)]


def test_no_file_is_no_rows(tmp_path):
    assert read_metrics(tmp_path) == []


@pytest.mark.parametrize(
    "bad", [b"[]", b"null", b"{}", b"", b"\xff", b"[" * 100_000, b'{"step": 0.5}']
)
def test_a_bad_line_is_reported_and_the_good_ones_after_it_stay(tmp_path, bad):
    track(tmp_path, 0, row(3))
    file, said = tmp_path / "metrics.jsonl", []
    file.write_bytes(file.read_bytes() + bad + b"\n" + json.dumps(row(6)).encode() + b"\n")
    before = file.read_bytes()
    assert read_metrics(tmp_path) == [row(3), row(6)]
    MetricLogger(tmp_path, [row(3), row(6)], said.append).close()
    assert read_metrics(tmp_path) == [row(3), row(6)]
    assert "lines that cannot be read: 2; its rows are those of the checkpoint again" in said[0]
    assert (tmp_path / "damaged-metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("content", [[row(3, 0.5), row(6)], [row(6)], []], ids=str)
def test_rows_that_are_not_those_of_the_checkpoint_are_set_aside(tmp_path, content):
    text, said = "".join(json.dumps(one) + "\n" for one in content), []
    (tmp_path / "metrics.jsonl").write_text(text)
    MetricLogger(tmp_path, [row(3), row(6)], said.append).close()
    assert read_metrics(tmp_path) == [row(3), row(6)]
    assert "the file is now damaged-metrics.jsonl" in said[0]
    assert (tmp_path / "damaged-metrics.jsonl").read_text() == text


def test_events_are_in_order_though_the_clock_went_back(tmp_path, monkeypatch):
    track(tmp_path, 0, row(3), row(6), row(9))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    track(tmp_path, 6, row(9, 0.25), row(12))
    assert events(tmp_path) == [(3, 1.0), (6, 1.0), (9, 0.25), (12, 1.0)]


def test_a_logger_of_ones_own_gets_the_numbers_of_each_row(tmp_path):
    seen = []
    train(tiny(), RunOptions(tmp_path, device="cpu"), Console(quiet=True), on_epoch=seen.append)
    assert seen == read_metrics(tmp_path)
    assert len(seen) == 2
    assert all(isinstance(value, int | float) for row in seen for value in row.values())
