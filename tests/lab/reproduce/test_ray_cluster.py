"""A real Ray cluster of two nodes, both on this machine, joined by its address."""

from importlib.util import find_spec

import pytest
from ray_runs import OPTIONS, Meanwhile, grid_run, has_begun, log_of

from softaug.lab.reproduce.plan import Outcome
from softaug.lab.reproduce.ray import OWN, ray_module, run_on_ray

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray")


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        for name, value in OWN.items():
            patch.setenv(name, value)
        ray_module()
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 100 * 2**20}
        cluster = Cluster(initialize_head=True, head_node_args=head)
        cluster.second = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
        yield cluster
        cluster.shutdown()


def test_a_run_goes_on_where_its_node_died(cluster, tmp_path):
    runs = [grid_run(tmp_path, f"run{seed}", seed=seed) for seed in (0, 1)]
    Meanwhile(
        lambda: all(map(has_begun, runs)),
        lambda: cluster.remove_node(cluster.second, allow_graceful=False),
    )
    outcomes = set(run_on_ray(runs, OPTIONS, address=cluster.address))
    assert outcomes == {Outcome("run0"), Outcome("run1")}
    assert ["its worker died" in log_of(run) for run in runs].count(True) == 1
    assert not ray_module().is_initialized()
