"""The command: what it refuses, what it skips, how it ends."""

import errno
import io
import os
import re
import signal

import pytest
from filelock import FileLock
from rich.console import Console
from run_files import finish, planned, read, write

from softaug.checks import NotFiniteError
from softaug.lab.recipes import find
from softaug.lab.recipes.scale import SCALES
from softaug.lab.report.render import figure_files
from softaug.lab.reproduce import command, grid
from softaug.lab.reproduce.command import demo, reproduce
from softaug.lab.reproduce.local import run_locally
from softaug.lab.reproduce.run_one import GridOptions, Outcome, save_divergence, try_run
from softaug.lab.reproduce.studies import Study, make_arm
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
    with pytest.raises(ValueError, match="must be a folder that can be written"):
        small(tmp_path / "file", "figure1")
    with FileLock(tmp_path / ".lock"), pytest.raises(ValueError, match="only one command may work"):
        small(tmp_path, "figure1")
    assert names == []
    small(tmp_path, "figure1")
    with pytest.raises(ValueError, match="holds a grid of scale smoke, got cpu"):
        small(tmp_path, "figure1", scale="cpu")


def test_a_full_disk_is_told_and_finished_runs_are_kept(tmp_path, runner, monkeypatch):
    runner(done)

    def full(file, console):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "figure1.json"))

    monkeypatch.setattr(grid, "render", full)
    with pytest.raises(ValueError, match="make room there, and the same command goes on"):
        small(tmp_path, "figure1")
    names = runner(done)
    small(tmp_path, "figure1")
    assert names == []


def test_finished_runs_of_another_recipe_are_refused_with_the_difference(tmp_path, runner):
    runner(done)
    plan = planned(tmp_path, "figure1")
    finish(plan.runs[0].run.folder, find("digits-resnet8-soft").recipe, error=0.5)
    with pytest.raises(ValueError, match="holds a run of another recipe") as refused:
        small(tmp_path, "figure1")
    assert "epochs: 60 -> 1" in str(refused.value)


def test_a_grid_without_any_images_is_refused_with_how_to_get_them(tmp_path, runner):
    names = runner(done)
    with pytest.raises(ValueError, match="`softaug data cifar100") as refused:
        small(tmp_path / "out", "table1", scale="cpu")
    assert str(refused.value).count("softaug data") == 1
    assert names == []
    assert not (tmp_path / "out").exists()


def test_runs_without_images_are_left_out_and_marked(tmp_path, runner, monkeypatch, said):
    names = runner(done)
    monkeypatch.setattr(
        "softaug.lab.reproduce.plan.why_missing", lambda name, _: {"digits": "no!"}.get(name)
    )
    small(tmp_path, "table2")
    assert len(names) == 8  # photographs
    cells = [row["cells"][0] for row in read(tmp_path / "table2.json")["rows"]]
    assert {(cell["state"], cell["why"]) for cell in cells[:40]} == {("no data", "no!")}
    assert {cell["state"] for cell in cells[40:48]} == {"complete"}
    assert "40 no data" in said.getvalue()


def test_the_list_has_every_exhibit_its_cost_and_what_is_there(tmp_path, said):
    plan = planned(tmp_path, "figure1")
    finish(plan.runs[0].run.folder, error=0.5)
    reproduce(("list",), out=tmp_path)
    lines = said.getvalue().splitlines()
    places = {line.split()[0]: place for place, line in enumerate(lines) if line[:1].isalpha()}
    below = {name: [line.strip() for line in lines[at + 1 :][:2]] for name, at in places.items()}
    assert below["table3"][0] == "8 recipes; paper: 144 V100-h; cpu: 1.8 core-h"
    assert below["figure1"][1] == "finished: 1 smoke"
    assert below["figure2"][0] == "from the equations alone: nothing to run"
    assert max(map(len, lines)) <= 80


def test_a_plan_of_all_fits_80_columns_and_nothing_is_written(tmp_path, monkeypatch):
    for scale in SCALES:
        text = io.StringIO()
        monkeypatch.setattr(command, "Console", lambda text=text: Console(file=text, width=80))
        small(tmp_path / "out", "all", plan=True, local=True, scale=scale)
        lines = text.getvalue().partition("no data:")[0].splitlines()
        assert lines[-1].startswith(f"all at scale {scale}: ")
        assert max(map(len, lines)) <= 80
        assert any("cifar100-simsiam-resnet" in line and "-sa1-k1" in line for line in lines)
    assert not (tmp_path / "out").exists()


def test_finished_runs_are_skipped_and_tables_are_there_before_the_first_ends(tmp_path, runner):
    def look(run):
        assert not read(tmp_path / "figure1.json")["complete"]
        assert len(read(tmp_path / "grid.json")["runs"]) == 3
        return done(run)

    names = runner(look)
    first, begun, failed = (one.run for one in planned(tmp_path, "figure1").runs)
    done(first)
    write(begun.folder / "metrics.jsonl", {})
    write(failed.folder / "failure.json", {"message": "no", "when": ""})
    for _ in range(2):
        small(tmp_path, "figure1")
        assert names == [begun.name, failed.name]
    assert read(tmp_path / "figure1.json")["complete"]


def test_failures_are_told_the_rest_is_done_and_the_code_is_1(tmp_path, runner, said):
    def broken(run):
        return done(run) if "soft" in run.name else Outcome(run.name, "it broke")

    runner(broken, presented=True)
    with pytest.raises(SystemExit, match="1"):
        small(tmp_path, "figure1")
    assert "hard-seed0: FAILED: it broke" in said.getvalue()
    assert "2 runs did not finish; the same command tries them again" in said.getvalue()
    assert "1 of 3 runs" in (tmp_path / "figure1.md").read_text()
    assert not read(tmp_path / "figure1.json")["complete"]
    for kind in ("tex", "html", "png", "pdf"):
        assert (tmp_path / f"figure1.{kind}").stat().st_size > 0


def lose(run):
    """A run whose training diverges."""
    save_divergence(run.folder, run.recipe, NotFiniteError("the loss is nan"))
    return Outcome(run.name, diverged="the loss is nan")


def test_to_diverge_as_in_the_paper_is_a_good_end(tmp_path, runner, said):
    expected = ("sa2-lr0.4", "sa2-lr0.5", "sa2-lr0.8")
    names = runner(lambda run: lose(run) if any(e in run.name for e in expected) else done(run))
    small(tmp_path, "table8")
    assert said.getvalue().count("DIVERGED: the loss is nan") == 3
    assert read(tmp_path / "table8.json")["complete"]
    names.clear()
    small(tmp_path, "table8")
    assert names == []
    assert "3 diverged" in said.getvalue()


def test_to_diverge_elsewhere_is_told_each_time_and_not_tried_again(tmp_path, runner, said):
    names = runner(lambda run: lose(run) if "soft" in run.name else done(run), presented=True)
    for _ in range(2):
        with pytest.raises(SystemExit, match="1"):
            small(tmp_path, "figure1")
    assert len(names) == 3
    lost = "smoke-cifar100-resnet18-soft-seed0"
    told = f"not tried again unless you remove their folders: {lost}"
    assert said.getvalue().count(f"1 runs diverged; they are {told}") == 2
    assert "partial: 2 of 3 runs; diverged: 1" in (tmp_path / "figure1.md").read_text().lower()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_keeps_what_is_done_and_a_second_command_goes_on(tmp_path, runner, said, number):
    def stopped(run):
        if "aggressive" in run.name:
            os.kill(os.getpid(), number)
        return done(run)

    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    runner(stopped)
    with pytest.raises(StoppedError, match="the same command goes on"):
        small(tmp_path, "figure1")
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert "stopping" in said.getvalue()
    states = [row["cells"][0]["state"] for row in read(tmp_path / "figure1.json")["rows"]]
    assert states == ["complete", "waiting", "waiting"]
    names = runner(done)
    small(tmp_path, "figure1")
    assert len(names) == 2


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def stop_at_k3(run):
    if "k3" in run.name:
        interrupt()
    return done(run)


def test_tables_so_far_are_renewed_in_every_format_after_a_stop(tmp_path, runner):
    runner(stop_at_k3)
    with pytest.raises(StoppedError):
        small(tmp_path, "table9", "table6")  # runs of Table 6 come first
    assert "Partial" not in (tmp_path / "table6.md").read_text()
    assert "Partial: 2 of 4 runs." in (tmp_path / "table9.md").read_text()
    assert (tmp_path / "table9.html").exists()


def test_a_further_ctrl_c_ends_the_writing_at_once(tmp_path, runner, monkeypatch):
    written = []

    def write(file):
        written.append(file.name)
        interrupt()

    monkeypatch.setattr(grid, "write_paper_table", write)
    runner(stop_at_k3)
    with pytest.raises(KeyboardInterrupt):
        small(tmp_path, "table4", "table9")
    assert written == ["table4.json"]


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


def test_the_demo_trains_evaluates_compares_and_names_its_page(tmp_path, monkeypatch, said):
    hard, soft = (make_arm(f"digits-resnet8-{name}", {"epochs": 1}) for name in ("hard", "soft"))
    study = Study("demo", "Tiny", {"Digits": {"hard crop": hard, "soft crop": soft}}, num_seeds=1)
    monkeypatch.setattr(command, "demo_study", lambda full: study)
    options = GridOptions(device="cpu", draws=1)
    monkeypatch.setattr(
        command, "run_locally", lambda runs, *_: (try_run(run, options) for run in runs)
    )
    openings = []

    def write_report(file, title, opening):  # the real one draws 22 figures: half a minute
        openings.append((title, *opening))
        return file

    monkeypatch.setattr(grid, "write_report", write_report)
    demo(tmp_path)
    page = tmp_path / "compare" / "demo-digits" / "comparison.json"
    assert f"Report: {page}" in said.getvalue()
    assert "2 of 2" in said.getvalue()
    assert "soft crop against hard crop: error" in said.getvalue()
    [(title, crops)] = openings
    assert title == "Tiny"
    assert re.search(r"'soft crop' is trained on.* 0, visible \d+ %: target 0\.\d\d; ", crops.alt)
    assert len(figure_files(crops)) == 2
    assert "digits-resnet8-soft-epochs1" in page.read_text()
    table = read(tmp_path / "demo.json")
    assert table["complete"]
    assert [row["label"] for row in table["rows"]] == ["hard crop", "soft crop"]
    assert all(0 < row["cells"][0]["ours"]["mean"] < 100 for row in table["rows"])
