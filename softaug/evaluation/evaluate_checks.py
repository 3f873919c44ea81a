"""What an evaluation refuses, before anything is measured."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from softaug.checks import refuse
from softaug.data.images import Source
from softaug.evaluation.commands import shown_path
from softaug.evaluation.result_files import EVALUATION
from softaug.evaluation.run import TrainedRun, images_of, read_recipe
from softaug.recipes.pretrain import PretrainRecipe


def same_folders(some: Sequence[Path], others: Sequence[Path]) -> bool:
    """Whether both name the same folders, in the same order."""
    return [folder.resolve() for folder in some] == [folder.resolve() for folder in others]


def check_no_member(out: Path, folders: Sequence[Path]) -> None:
    """Refuse to write over what a member has."""
    if any(same_folders([out], [folder]) for folder in folders):
        rule = "an ensemble's folder must not be a member's, which keeps its own evaluation"
        refuse("evaluate", rule, out, "choose another --out")


def check_held_out(folders: Sequence[Path]) -> None:
    """Refuse runs that held out nothing, before networks are loaded or probes trained."""
    for recipe in map(read_recipe, folders):
        if not recipe.data.validation:
            rule = "held_out needs runs that held out images by data.validation"
            refuse("evaluate", rule, recipe.name, "train with --data.validation 5000")


def check_alike(members: Sequence[TrainedRun]) -> None:
    """Refuse networks for different images."""
    first = members[0]
    for other in members[1:]:
        if images_of(other) != images_of(first):
            rule = "runs of an ensemble must be for the same data, the same images held out"
            refuse("evaluate", rule, f"{images_of(other)} beside {images_of(first)}")


def check_export(members: Sequence[TrainedRun], path: Path | None) -> None:
    """Refuse to export what has no features of its own, or to another kind of file."""
    if path is None:
        return
    if len(members) > 1 or not isinstance(members[0].recipe, PretrainRecipe):
        rule = "export is for one run that learned without labels"
        refuse("evaluate", rule, " and ".join(member.recipe.name for member in members))
    if path.suffix != ".safetensors":
        refuse("evaluate", "export must be a .safetensors file", path)


def check_own(out: Path, members: Sequence[TrainedRun]) -> None:
    """Refuse to write over the evaluation of other members than these."""
    path = out / EVALUATION
    if not path.is_file():
        return
    try:
        there = json.loads(path.read_text())["members"]
        folders = sorted(str(Path(member["folder"]).absolute()) for member in there)
        weights = sorted(member["weights_sha256"] for member in there)
    except (ValueError, KeyError, TypeError):
        folders, weights = ["what cannot be read"], []
    ours = sorted(str(member.folder.absolute()) for member in members)
    if folders != ours and weights != sorted(member.weights_sha256 for member in members):
        remedy = "choose another --out, or remove that folder"
        rule = f"{out} must not hold the evaluation of others"
        refuse("evaluate", rule, " and ".join(map(shown_path, folders)), remedy)


def check_sizes(sets: Mapping[str, Source]) -> None:
    """Refuse sets of which nothing can be said."""
    for name, source in sets.items():
        if len(source.labels) < 2:
            rule = f"the {name} set must hold at least 2 images"
            refuse("evaluate", rule, len(source.labels), "one image has no interval")
