"""What `softaug evaluate` can be asked for."""

from dataclasses import dataclass
from pathlib import Path

from softaug.checks import check_choice, check_whole, refuse
from softaug.evaluation.robustness import HARMS, HarmName

MOST_DRAWS = 255  # right answers of each image are counted in a byte


@dataclass(frozen=True)
class EvaluationOptions:
    """What is measured beside the test set, and where."""

    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    also: tuple[str, ...] = ()
    """second test sets with the same classes: NAME=FOLDER (a folder for each class, called by its
    name or, as in ImageNet-V2, by its number), NAME=FILE.npz or NAME=IMAGES.npy,LABELS.npy"""
    resize: tuple[int, ...] = ()
    """measure the test images also with these short edges, the centre kept; for folders"""
    held_out: bool = False
    """measure the training images that data.validation held out, in place of the test images"""
    draws: int = 3
    """placings of the patch, shifts and noises, averaged"""
    harms: tuple[HarmName, ...] = HARMS
    """what is done to the test images, each at four levels; fewer take less time"""
    export: Path | None = None
    """a .safetensors file for the features and labels of training and test images; for one run
    without labels"""

    def __post_init__(self) -> None:
        if check_whole("evaluate", "draws", self.draws, least=1) > MOST_DRAWS:
            refuse("evaluate", f"draws must be at most {MOST_DRAWS}", self.draws)
        for harm in self.harms:
            check_choice("evaluate", "harms", harm, HARMS)
