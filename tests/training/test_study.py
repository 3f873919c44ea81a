import io
import json

from rich.console import Console

from softaug.training import study
from softaug.training.study import Cell, cells, run_study
from softaug.training.trial import run_trial


def test_cells_differ_and_are_never_measured_on_the_test_split() -> None:
    every = list(cells())
    assert len(set(every)) == len(every)
    assert {cell.trial(0).split for cell in every} == {"validation"}


def test_hard_and_soft_cells_get_the_same_strengths() -> None:
    normal = [cell for cell in cells() if cell.part == "main" and cell.crop == "normal"]
    strengths = {
        soften: [(cell.strength, cell.epochs) for cell in normal if cell.soften == soften]
        for soften in ("none", "target", "both")
    }
    assert strengths["none"] == strengths["target"] == strengths["both"]


def test_results_stand_with_their_cell_whatever_the_order_of_the_runs(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(study, "run_trials", lambda trials, *_: [run_trial(t) for t in trials])
    short = Cell("x", "uniform", 1, "none", epochs=1, num_train=20)
    long = Cell("x", "normal", 0.1, "target", epochs=2, num_train=20)
    (tmp_path / "s.json").write_text('{"other": 1}')
    path = run_study([short, long], (0, 1), tmp_path / "s.json", Console(file=io.StringIO()))
    rows = json.loads(path.read_text())["x"]["cells"]
    assert json.loads(path.read_text())["other"] == 1
    assert [row["strength"] for row in rows] == [1, 0.1]
    assert rows[1]["error"][1] == round(run_trial(long.trial(1))["error"], 4)
    assert [len(rows[0]["occlusion"][percent]) for percent in ("20", "80")] == [2, 2]
