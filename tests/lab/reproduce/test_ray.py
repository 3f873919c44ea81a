"""A real Ray on this machine; what it does must equal what one process does."""

import os
import signal
import socket
import time
from dataclasses import replace
from importlib.util import find_spec

import pytest
from grid_runs import (
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
from softaug.lab.reproduce.ray import (
    OWN_SETTINGS,
    UnfitNodeError,
    check_cluster,
    check_node,
    code_versions,
    gpu_share,
    own_ray,
    run_on_ray,
)
from softaug.lab.reproduce.run_one import Outcome, get_state, run_one

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")


@pytest.fixture(scope="module")
def two_workers():
    with own_ray(2) as ray:
        assert ray.util.get_node_ip_address() == "127.0.0.1"
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        yield ray


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The weights of a run that one process did from beginning to end."""
    run = grid_run(tmp_path_factory.mktemp("unbroken"))
    run_one(run, OPTIONS)
    return weights(run)


@pytest.mark.usefixtures("two_workers")
def test_each_run_ends_in_its_own_way_and_a_killed_one_bit_identical(
    tmp_path, monkeypatch, unbroken
):
    monkeypatch.setattr(on_ray, "RETRIES", 1)
    killed, deadly = grid_run(tmp_path, "killed"), grid_run(tmp_path, "deadly")
    wild = grid_run(tmp_path, "wild", epochs=1, optim=replace(DIGITS.optim, lr=1e30))
    bad = replace(wild, name="bad", recipe=find("cifar100-resnet8-s2-soft").recipe)
    bad = replace(bad, folder=tmp_path / "runs/bad")
    Meanwhile(lambda: has_begun(killed), lambda: kill_workers(killed))
    given_up = Meanwhile(
        lambda: kill_workers(deadly) or get_state(deadly.folder) == "failed", lambda: None
    )
    options = replace(OPTIONS, data_dir=tmp_path)  # where there is no CIFAR
    outcomes = {one.name: one for one in run_on_ray([killed, deadly, bad, wild], options)}
    given_up.join(30)
    assert outcomes["killed"] == Outcome("killed")
    assert "going on from step" in log_of(killed)
    assert weights(killed) == unbroken
    assert "worker died" in outcomes["deadly"].error
    assert "softaug data cifar100" in outcomes["bad"].error
    assert "got nan at step 1" in outcomes["wild"].diverged
    states = [get_state(run.folder) for run in (killed, deadly, bad, wild)]
    assert states == ["finished", "failed", "failed", "diverged"]


@pytest.mark.usefixtures("two_workers")
def test_ctrl_c_saves_and_the_same_call_goes_on(tmp_path, unbroken):
    run, waiting = grid_run(tmp_path, "stopped"), grid_run(tmp_path, "waiting")
    Meanwhile(lambda: has_begun(run), lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        list(run_on_ray([run, waiting], OPTIONS, at_once=1))
    assert "stopped after step" in log_of(run)
    assert workers_of(run) == []
    assert (get_state(run.folder), get_state(waiting.folder)) == ("begun", "waiting")
    assert list(run_on_ray([run], OPTIONS)) == [Outcome("stopped")]
    assert weights(run) == unbroken


def test_a_run_goes_on_where_its_node_died(tmp_path, monkeypatch):
    import ray

    ray.shutdown()
    for name, value in OWN_SETTINGS.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        second = cluster.add_node(**node)
        runs = [grid_run(tmp_path, f"run{seed}", seed=seed) for seed in (0, 1)]
        Meanwhile(
            lambda: all(map(has_begun, runs)),
            lambda: cluster.remove_node(second, allow_graceful=False),
        )
        outcomes = set(run_on_ray(runs, OPTIONS, address=cluster.address))
    finally:
        cluster.shutdown()
    assert outcomes == {Outcome("run0"), Outcome("run1")}
    assert ["going on from step" in log_of(run) for run in runs].count(True) == 1
    assert not ray.is_initialized()


def test_a_node_that_lacks_the_folder_or_has_other_code_is_refused(tmp_path):
    marker = tmp_path / "marker"
    with pytest.raises(UnfitNodeError, match=f"every node must see {tmp_path}"):
        check_node(marker, code_versions())
    marker.touch()
    check_node(marker, {**code_versions(), "commit": None})
    with pytest.raises(UnfitNodeError, match=r"every node must have torch 0.0.1, got \d"):
        check_node(marker, {**code_versions(), "torch": "0.0.1"})


def test_addresses_where_no_cluster_answers_are_refused_soon(monkeypatch):
    monkeypatch.setattr(on_ray, "ANSWER_SECONDS", 2)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ValueError, match=rf"answer at {address}, got no answer .*ray start"):
            check_cluster(address)
    assert time.monotonic() - began < 60  # Ray itself goes on for minutes
    with pytest.raises(ValueError, match="lost too easily"):
        check_cluster("ray://head:10001")


def test_runs_share_gpus_only_if_more_are_asked_for():
    assert gpu_share("cpu", 4, None) == gpu_share("mps", 0, None) == 0
    assert (gpu_share("cuda", 2, None), gpu_share("cuda", 2, 3)) == (1, 0.5)
    for device, rule in (("cuda", "needs a GPU"), ("cuda:1", "assigns the GPUs")):
        with pytest.raises(ValueError, match=rule):
            gpu_share(device, 0, None)
