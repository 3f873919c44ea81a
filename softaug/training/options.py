"""Where and on what a run is made: nothing here changes what is learned."""

from dataclasses import dataclass
from pathlib import Path

from softaug.checks import check_whole
from softaug.recipes.pretrain import AnyRecipe


@dataclass(frozen=True)
class RunOptions:
    """Folder, machine and bookkeeping of a run."""

    out: Path | None = None
    """the run's folder; the same folder again resumes (default: runs/NAME-seedSEED)"""
    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ...; under torchrun each process takes its own GPU"""
    workers: int | None = None
    """processes that read and augment ahead (default: none for images in memory, else a core
    each)"""
    threads: int | None = None
    """threads of this process (default: torch's); another number changes the last bits"""
    checkpoint_steps: int | None = None
    """a checkpoint after every so many steps too, not only after each epoch"""
    evaluate_epochs: int = 10
    """measure after every so many epochs, and at the end"""

    def __post_init__(self) -> None:
        check_whole("train", "evaluate_epochs", self.evaluate_epochs, least=1)
        for name, least in (("workers", 0), ("threads", 1), ("checkpoint_steps", 1)):
            if getattr(self, name) is not None:
                check_whole("train", name, getattr(self, name), least=least)

    def folder(self, recipe: AnyRecipe) -> Path:
        """Where the run of a recipe goes."""
        return self.out or Path("runs") / f"{recipe.name}-seed{recipe.seed}"
