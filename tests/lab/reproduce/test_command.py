"""The command: what it refuses, what it skips, how it ends."""

import errno
import io
import os
import re
import signal
from dataclasses import replace
from unittest.mock import Mock

import pytest
from filelock import FileLock
from grid_runs import finish, planned, read, write
from rich.console import Console

from softaug.checks import NotFiniteError
from softaug.lab.recipes import find
from softaug.lab.recipes.paper_numbers import PaperTable, study_rows
from softaug.lab.recipes.paper_tables import find_tables
from softaug.lab.recipes.scale import SCALES
from softaug.lab.report.render import figure_files
from softaug.lab.reproduce import command, grid
from softaug.lab.reproduce.command import demo, reproduce
from softaug.lab.reproduce.local import run_locally
from softaug.lab.reproduce.plan import make_plan
from softaug.lab.reproduce.run_one import GridOptions, Outcome, save_divergence, try_run
from softaug.lab.training.trainer import StoppedError


@pytest.fixture
def said(monkeypatch):
    """What the command says, in a wide terminal's words."""
    text = io.StringIO()
    monkeypatch.setattr(command, "Console", lambda: Console(file=text, width=200))
    return text


@pytest.fixture
def runner(monkeypatch, said):
    """Have runs done by a function of (run) -> Outcome; yields the names that it was given."""

    def use(does, presented=False):
        names = []

        def runs_all(runs, options, at_once):
            for run in runs:
                names.append(run.name)
                yield does(run)

        monkeypatch.setattr(command, "choose_runner", lambda local, address: runs_all)
        if not presented:
            monkeypatch.setattr(grid, "render", lambda file, console: None)  # it takes a second
        return names

    return use


def done(run):
    """A run that ends at once."""
    finish(run.folder, run.recipe, error=0.5, ece_10=0.1)
    return Outcome(run.name)


def small(out, *names, **settings):
    """The command at the smoke scale with one seed; no data but the digits."""
    reproduce(
        names, **{"scale": "smoke", "seeds": 1, "out": out, "data_dir": out / "no", **settings}
    )


@pytest.mark.parametrize(
    ("names", "settings", "message"),
    [
        ((), {}, "at least one name must be given, got none"),
        (("table1", "tabel3"), {}, "did you mean 'table3'"),
        (("list", "table1"), {}, "list must stand alone"),
        (("table1",), {"seeds": 0}, "seeds must be a whole number >= 1"),
        (("table1",), {"at_once": 0}, "at_once must be a whole number >= 1"),
        (("table1",), {"local": True, "address": "a:1"}, "address is for Ray, which --local does"),
    ],
)
def test_bad_input_is_refused_before_any_work(tmp_path, said, names, settings, message):
    with pytest.raises(ValueError, match=message):
        small(tmp_path / "out", *names, **settings)
    assert not (tmp_path / "out").exists()


def test_without_ray_an_address_is_refused_and_the_local_runner_is_the_default(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert command.choose_runner(False, None) is run_locally
    with pytest.raises(ValueError, match="ray must be installed for --address"):
        command.choose_runner(False, "host:6379")


def test_a_folder_is_refused_that_is_none_or_in_use_or_of_another_scale(tmp_path, runner):
    names = runner(done)
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="results must be written to"):
        small(tmp_path / "file", "figure1")
    with FileLock(tmp_path / ".lock"), pytest.raises(ValueError, match="only one command may work"):
        small(tmp_path, "figure1")
    assert names == []
    small(tmp_path, "figure1")
    with pytest.raises(ValueError, match="holds a grid of scale smoke, got cpu"):
        small(tmp_path, "figure1", scale="cpu")


def test_a_full_disk_is_told_and_finished_runs_are_kept(tmp_path, runner, monkeypatch):
    names = runner(done)
    with monkeypatch.context() as patched:
        full = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "figure1.json"))
        patched.setattr(grid, "render", Mock(side_effect=full))
        with pytest.raises(ValueError, match="make room there, and the same command goes on"):
            small(tmp_path, "figure1")
    small(tmp_path, "figure1")
    assert len(names) == 3


def test_finished_runs_of_another_recipe_are_refused_with_the_difference(tmp_path, said):
    plan = planned(tmp_path, "figure1")
    finish(plan.runs[0].folder, find("digits-resnet8-soft").recipe, error=0.5)
    with pytest.raises(ValueError, match=r"(?s)holds a run of another recipe.*epochs: 60 -> 1"):
        small(tmp_path, "figure1")


def test_runs_without_images_are_left_out_and_marked_and_a_grid_of_them_is_refused(
    tmp_path, runner, monkeypatch
):
    names = runner(done)
    with pytest.raises(ValueError, match=r"^[^`]*`softaug data cifar100[^`]*`[^`]*$"):
        small(tmp_path / "out", "table1", scale="cpu")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(
        "softaug.lab.reproduce.plan.why_missing", lambda name, _: {"digits": "no!"}.get(name)
    )
    small(tmp_path, "table2")
    assert len(names) == 8  # photographs
    cells = [row["cells"][0] for row in read(tmp_path / "table2.json")["rows"]]
    assert {(cell["state"], cell["why"]) for cell in cells[:40]} == {("no data", "no!")}
    assert {cell["state"] for cell in cells[40:48]} == {"complete"}


def test_the_list_has_every_exhibit_its_cost_and_what_is_there(tmp_path, said):
    finish(planned(tmp_path, "figure1").runs[0].folder, error=0.5)
    reproduce(("list",), out=tmp_path)
    lines = said.getvalue().splitlines()
    for name, place, below in (
        ("table3", 1, "15 recipes; paper: 207 V100-h; cpu: 2.5 core-h"),
        ("figure1", 2, "finished: 1 smoke"),
        ("figure2", 1, "from the equations alone: nothing to run"),
    ):
        (at,) = [at for at, line in enumerate(lines) if line.startswith(f"{name} ")]
        assert lines[at + place].strip() == below
    assert max(map(len, lines)) <= 80


def test_a_plan_of_all_fits_80_columns_and_nothing_is_written(tmp_path, monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(command, "Console", lambda: Console(file=text, width=80))
    for scale in SCALES:
        small(tmp_path / "out", "all", plan=True, local=True, scale=scale)
        assert f"\nall at scale {scale}: " in text.getvalue()
    lines = [line for line in text.getvalue().splitlines() if not line.startswith("no data:")]
    assert max(map(len, lines)) <= 80
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_skipped_and_tables_are_there_before_the_first_ends(tmp_path, runner):
    def look(run):
        assert not read(tmp_path / "table9.json")["complete"]
        assert len(read(tmp_path / "grid.json")["runs"]) == 4
        return done(run)

    names = runner(look)
    *finished, begun, failed = planned(tmp_path, "table9").runs
    for run in finished:
        done(run)
    write(begun.folder / "metrics.jsonl", {})
    write(failed.folder / "failure.json", {"message": "no", "when": ""})
    for _ in range(2):
        small(tmp_path, "table9")
        assert names == [begun.name, failed.name]


def test_what_is_fine_tuned_waits_for_the_run_that_it_begins_from(tmp_path, runner):
    parts = []

    def note(run):
        parts.append((run.name, (tmp_path / "runs" / first / "evaluation.json").exists()))
        return done(run)

    first = "smoke-cifar100-resnet8-s2-hard-seed0"
    runner(note)
    study = find_tables(["fine-tuning"], "smoke")[0]
    later_first = replace(study, rows=study.rows[::-1], compare=False)
    plan = make_plan([later_first], "smoke", tmp_path, tmp_path / "no", 1)
    assert plan.runs[-1].name == first
    grid.Grid(plan, GridOptions(), command.choose_runner(True, None), 1, Console(quiet=True)).run()
    assert parts[0] == (first, False)
    assert [is_there for _, is_there in parts[1:]] == [True] * 6


def test_failures_are_told_the_rest_is_done_and_the_code_is_1(tmp_path, runner, said):
    broken = Outcome("smoke-cifar100-simsiam-resnet18-sa1-k1-seed0", "it broke")
    runner(lambda run: broken if run.name == broken.name else done(run), presented=True)
    with pytest.raises(SystemExit, match="1"):
        small(tmp_path, "table9")
    assert "k1-seed0: FAILED: it broke" in said.getvalue()
    assert "1 runs did not finish; the same command tries them again" in said.getvalue()
    assert "3 of 4 runs" in (tmp_path / "table9.md").read_text()
    assert (tmp_path / "table9.html").exists()


def lose(run):
    """A run whose training diverges."""
    save_divergence(run.folder, run.recipe, NotFiniteError("the loss is nan"))
    return Outcome(run.name, diverged="the loss is nan")


@pytest.mark.parametrize(("lost", "expected"), [("sa2-lr", True), ("sa1-lr", False)])
def test_to_diverge_is_a_good_end_only_where_the_paper_s_did(
    tmp_path, runner, said, lost, expected
):
    wanted = [f"{lost}{lr}-" for lr in ("0.4", "0.5", "0.8")]
    names = runner(lambda run: lose(run) if any(one in run.name for one in wanted) else done(run))
    for num_runs in (17, 0):  # it is not tried again
        names.clear()
        if expected:
            small(tmp_path, "table8")
        else:
            with pytest.raises(SystemExit, match="1"):
                small(tmp_path, "table8")
        assert len(names) == num_runs
    assert said.getvalue().count("DIVERGED: the loss is nan") == 3
    assert ("3 runs diverged; they are not tried again" in said.getvalue()) is not expected
    assert read(tmp_path / "table8.json")["complete"] is expected


def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_what_is_done_and_a_second_command_goes_on(tmp_path, runner, said, number):
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    runner(lambda run: done(run) if "k3" not in run.name else interrupt(number))
    with pytest.raises(StoppedError, match="the same command goes on"):
        small(tmp_path, "table9", "table6")  # runs of Table 6 come first
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert "stopping" in said.getvalue()
    states = [row["cells"][0]["state"] for row in read(tmp_path / "table9.json")["rows"]]
    assert states == ["complete", "complete", "waiting", "waiting"]
    assert "Partial" not in (tmp_path / "table6.md").read_text()
    assert "Partial: 2 of 4 runs." in (tmp_path / "table9.md").read_text()
    assert (tmp_path / "table9.html").exists()
    names = runner(done)
    small(tmp_path, "table9", "table6")
    assert len(names) == 2


def test_a_second_ctrl_c_while_runs_save_writes_nothing_but_results(tmp_path, runner, monkeypatch):
    def two_signals(runs, options, at_once):
        try:
            yield done(runs[0])
            interrupt()
        finally:
            interrupt()

    runner(done)
    monkeypatch.setattr(command, "choose_runner", lambda local, address: two_signals)
    with pytest.raises(StoppedError):
        small(tmp_path, "table9")
    assert read(tmp_path / "table9.json")["rows"][0]["cells"][0]["state"] == "complete"
    assert not (tmp_path / "table9.md").exists()


def test_a_trial_of_a_study_is_labeled_as_one_and_prints_no_verdicts(tmp_path, runner, monkeypatch):
    runner(done)
    monkeypatch.setattr(grid, "compare_runs", lambda *_: None)
    monkeypatch.setattr(grid, "print_findings", None)  # calling it would fail
    report = Mock(side_effect=lambda file, *_: file)
    monkeypatch.setattr(grid, "write_report", report)
    small(tmp_path, "where-it-pays")
    folders = [call.args[0].parent.name for call in report.call_args_list]
    assert folders == ["where-it-pays-trial-0", "where-it-pays-trial-1"]
    assert report.call_args.args[1].startswith("Trial run, no evidence: ")


def test_the_demo_trains_evaluates_compares_and_names_its_page(tmp_path, monkeypatch, said):
    names = {f"{arm} crop": f"digits-resnet8-{arm}" for arm in ("hard", "soft")}
    study = PaperTable("demo", "Tiny", study_rows("Digits", names), num_seeds=1, compare=True)
    plan = replace(make_plan([study], "smoke", tmp_path, None), scale="cpu")
    monkeypatch.setattr(command, "make_plan", lambda *_, **__: plan)
    options = GridOptions(device="cpu", draws=1)
    monkeypatch.setattr(
        command, "run_locally", lambda runs, *_: (try_run(r, options) for r in runs)
    )
    report = Mock(side_effect=lambda file, *_: file)  # the real one draws 22 figures
    monkeypatch.setattr(grid, "write_report", report)
    monkeypatch.setattr(grid, "render", lambda file, console: None)
    demo(tmp_path)
    page = tmp_path / "compare" / "demo-digits" / "comparison.json"
    for line in (f"Report: {page}", "2 of 2", "soft crop against hard crop: error"):
        assert line in said.getvalue()
    (_, title, (crops,)) = report.call_args.args
    assert title == "Tiny"
    assert re.search(r"“soft crop” is trained on.* 0, visible \d+ %: target 0\.\d\d; ", crops.alt)
    assert len(figure_files(crops)) == 2
    table = read(tmp_path / "demo.json")
    assert table["complete"]
    assert all(0 < row["cells"][0]["ours"]["mean"] < 100 for row in table["rows"])
