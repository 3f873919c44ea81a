"""A real Ray of two workers on this machine; what it does must equal what one process does."""

import os
import signal
from dataclasses import replace
from importlib.util import find_spec

import pytest
from ray_runs import (
    DIGITS,
    OPTIONS,
    Meanwhile,
    grid_run,
    has_begun,
    kill_workers,
    log_of,
    weights,
    workers_of,
)

from softaug.lab.recipes import find
from softaug.lab.reproduce import ray as on_ray
from softaug.lab.reproduce.plan import Outcome, state_of
from softaug.lab.reproduce.ray import (
    check_nodes,
    gpu_share,
    meeting,
    own_ray,
    ray_module,
    run_on_ray,
)
from softaug.lab.reproduce.run_one import do_run

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")
CIFAR = find("cifar100-resnet8-s2-soft").recipe


@pytest.fixture(scope="module")
def two_workers():
    with own_ray(2):
        yield


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The weights of a run that one process did from beginning to end."""
    run = grid_run(tmp_path_factory.mktemp("unbroken"))
    do_run(run, OPTIONS)
    return weights(run)


@pytest.mark.usefixtures("two_workers")
def test_a_killed_worker_is_replaced_and_the_run_ends_bit_identical(tmp_path, unbroken):
    killed, other = grid_run(tmp_path, "killed"), grid_run(tmp_path, "other", epochs=1)
    Meanwhile(lambda: has_begun(killed), lambda: kill_workers(killed))
    assert set(run_on_ray([killed, other], OPTIONS)) == {Outcome("killed"), Outcome("other")}
    assert "its worker died" in log_of(killed)
    assert "going on from step" in log_of(killed)
    assert weights(killed) == unbroken


@pytest.mark.usefixtures("two_workers")
def test_ctrl_c_saves_and_the_same_call_goes_on(tmp_path, unbroken):
    run, waiting = grid_run(tmp_path, "stopped"), grid_run(tmp_path, "waiting")
    Meanwhile(lambda: has_begun(run), lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        list(run_on_ray([run, waiting], OPTIONS, at_once=1))
    assert "stopped after step" in log_of(run)
    assert workers_of(run) == []
    assert (state_of(run.folder), state_of(waiting.folder)) == ("begun", "waiting")
    assert list(run_on_ray([run], OPTIONS)) == [Outcome("stopped")]
    assert weights(run) == unbroken


@pytest.mark.usefixtures("two_workers")
def test_a_run_that_refuses_is_told_once_and_others_go_on(tmp_path):
    good = grid_run(tmp_path, "good", epochs=1)
    bad = replace(good, name="bad", recipe=CIFAR, folder=tmp_path / "runs/bad")
    options = replace(OPTIONS, data_dir=tmp_path)  # where there is no CIFAR
    outcomes = {outcome.name: outcome for outcome in run_on_ray([bad, good], options)}
    assert "softaug data cifar100" in outcomes["bad"].error
    assert "worker died" not in log_of(bad)
    assert state_of(bad.folder) == "failed"
    assert outcomes["good"] == Outcome("good")


@pytest.mark.usefixtures("two_workers")
def test_a_run_that_diverges_is_told_so_and_begun_once(tmp_path):
    run = grid_run(tmp_path, "wild", epochs=1, optim=replace(DIGITS.optim, lr=1e30))
    (outcome,) = run_on_ray([run], OPTIONS)
    assert (outcome.error, outcome.stopped) == (None, False)
    assert "got nan at step 1" in outcome.diverged
    assert state_of(run.folder) == "diverged"


@pytest.mark.usefixtures("two_workers")
def test_a_run_that_dies_again_and_again_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(on_ray, "TRIES", 2)
    run, ended = grid_run(tmp_path, "deadly"), []
    Meanwhile(lambda: kill_workers(run) or ended, lambda: None)
    ended += run_on_ray([run], OPTIONS)
    assert "its worker died 2 times: The worker died unexpectedly" in ended[0].error
    assert log_of(run).count("its worker died") == 2
    assert state_of(run.folder) == "failed"


@pytest.mark.usefixtures("two_workers")
def test_our_own_ray_is_for_this_machine_alone():
    assert ray_module().util.get_node_ip_address() == "127.0.0.1"


@pytest.mark.usefixtures("two_workers")
def test_sigterm_stays_what_it_was_before_ray():
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.usefixtures("two_workers")
def test_a_node_that_does_not_see_the_folder_is_named(tmp_path):
    with meeting(tmp_path) as place:
        check_nodes(place)
        place.file.unlink()
        with pytest.raises(ValueError, match=r"node 127.0.0.1 is unfit: .*must see"):
            check_nodes(place)


def test_no_runs_need_no_ray():
    assert list(run_on_ray([], OPTIONS, address="nowhere:1")) == []


@pytest.mark.parametrize(
    ("device", "num_gpus", "at_once", "share"),
    [("cpu", 4, None, 0), ("mps", 0, None, 0), ("cuda", 2, None, 1), ("cuda", 2, 3, 0.5)],
)
def test_runs_share_gpus_only_if_more_are_asked_for(device, num_gpus, at_once, share):
    assert gpu_share(device, num_gpus, at_once) == share


@pytest.mark.parametrize(("device", "rule"), [("cuda", "needs a GPU"), ("cuda:1", "deals out")])
def test_devices_that_ray_cannot_give_are_refused(device, rule):
    with pytest.raises(ValueError, match=rule):
        gpu_share(device, 0, None)
