"""Who does the runs: Ray where it is installed, else processes of this machine alone."""

from functools import partial
from importlib.util import find_spec

from softaug.checks import refuse
from softaug.grid.local import run_locally
from softaug.grid.run import Runner

WHO = "reproduce"


def choose_runner(local: bool, address: str | None) -> Runner:
    """The runner that is asked for; Ray at `address` is a cluster's, else it is started here."""
    if local and address is not None:
        refuse(WHO, "address is for Ray, which --local does without", address, "leave one out")
    if local or (address is None and find_spec("ray") is None):
        return run_locally
    if find_spec("ray") is None:
        remedy = "pip install 'softaug[cluster]'"
        refuse(WHO, "ray must be installed for --address", "no ray", remedy)
    from softaug.grid.on_ray import run_on_ray

    return partial(run_on_ray, address=address)
