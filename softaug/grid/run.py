"""What travels between the parts of a grid: runs, options, outcomes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from softaug.recipes.pretrain import AnyRecipe


@dataclass(frozen=True)
class GridRun:
    """A recipe by one seed: plain and picklable, so that any process can do it."""

    name: str
    """unique in a grid: the recipe's name and seed"""
    recipe: AnyRecipe
    folder: Path
    """where all of it goes; every process that may do the run must see it"""


@dataclass(frozen=True)
class GridOptions:
    """What every run of a grid is done with: nothing here changes what is learned."""

    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    draws: int = 3
    """placings of patches, shifts and noises, averaged in an evaluation"""
    workers: int | None = None
    """processes that read image files ahead, for each run (default: a core each)"""


class Outcome(NamedTuple):
    """How a run ended: well if there is neither an error nor a stop nor a divergence."""

    name: str
    error: str | None = None
    stopped: bool = False
    """it was asked to stop and can go on"""
    diverged: str | None = None
    """where training diverged: a result, though no number"""


Runner = Callable[[Sequence[GridRun], GridOptions, int | None], Iterator[Outcome]]
"""Does runs, so many at once (None: as many as the machine can), and tells each as it ends."""
