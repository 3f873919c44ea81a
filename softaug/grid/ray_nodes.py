"""Whether every node of a cluster sees the results' folder and runs this very code."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softaug.checks import refuse
from softaug.files import write_text
from softaug.grid.do_run import told
from softaug.grid.ray_start import ray_module
from softaug.training.environment import environment

CODE = ("softaug", "commit", "torch", "torchvision")
NODE_SECONDS = 180  # a node's first worker imports torch, perhaps from a slow disk


@dataclass(frozen=True)
class Meeting:
    """What a node must find: a file by its text, and its own code by its versions."""

    file: Path
    text: str
    code: dict[str, str | None]


@contextmanager
def meeting(folder: Path) -> Iterator[Meeting]:
    """A file in `folder` by which nodes tell that they see it."""
    text = secrets.token_hex(8)
    file = write_text(text, folder / f".meeting-{text}")
    try:
        yield Meeting(file, text, code_here())
    finally:
        file.unlink(missing_ok=True)


def code_here() -> dict[str, str | None]:
    """What a number may depend on, of this process."""
    here = environment()
    return {name: here[name] for name in CODE}


def check_node(place: Meeting) -> None:
    """On a node: refuse if it does not see the folder, cannot write to it, or has other code."""
    folder = place.file.parent
    if not place.file.is_file() or place.file.read_text() != place.text:
        remedy = "choose an --out that all nodes share"
        refuse("reproduce", f"every node must see {folder}", "another folder or none", remedy)
    write_text("", folder / f".{secrets.token_hex(8)}").unlink()
    for name, ours in place.code.items():
        theirs = code_here()[name]
        if ours is not None and theirs is not None and ours != theirs:
            rule = f"every node must have {name} {ours}"
            refuse("reproduce", rule, theirs, "install the same on all, or share one environment")


def check_nodes(place: Meeting) -> None:
    """Ask every node that can do runs; the first that is unfit is named and refused."""
    ray = ray_module()
    asked = {_ask(node, place): node["NodeManagerAddress"] for node in able_nodes(ray.nodes())}
    if not asked:
        return  # of a cluster that grows when there is work
    answers, late = ray.wait(list(asked), num_returns=len(asked), timeout=NODE_SECONDS)
    for answer in answers:
        try:
            ray.get(answer)
        except ray.exceptions.RayError as failed:
            why = told(getattr(failed, "cause", None) or failed)
            raise ValueError(f"reproduce: node {asked[answer]} is unfit: {why}") from None
    if late:
        rule = f"every node must answer within {NODE_SECONDS} s"
        refuse("reproduce", rule, f"nothing from {asked[late[0]]}", "look at it, or take it out")


def able_nodes(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are alive and have a core for a run; a head often has none."""
    return [node for node in nodes if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]


def _ask(node: dict[str, Any], place: Meeting) -> Any:
    ray = ray_module()
    there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
        node["NodeID"], soft=False
    )
    task = ray.remote(num_cpus=0, scheduling_strategy=there)(check_node)
    return task.remote(place)
