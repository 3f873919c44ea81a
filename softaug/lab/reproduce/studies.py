"""Studies of ours: arms by seeds, in one table and in a comparison page for each group.

A study is a function that returns a `Study`. Listed in `studies()`, its name is one that
`softaug reproduce` knows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from softaug.checks import nearest, refuse
from softaug.lab.data.datasets import is_files
from softaug.lab.data.images import load
from softaug.lab.evaluation.show import draw_versions
from softaug.lab.recipes import where_it_pays
from softaug.lab.recipes.catalog import find
from softaug.lab.recipes.config import AnyRecipe, Recipe
from softaug.lab.recipes.paper_numbers import PaperCell, PaperRow, PaperTable
from softaug.lab.recipes.paper_tables import ALL, all_tables, find_tables
from softaug.lab.recipes.rows import change
from softaug.lab.recipes.scale import Scale, at_scale
from softaug.lab.report.examples import Card, crops_figure
from softaug.lab.report.model import Figure

CELLS = (PaperCell("error"), PaperCell("ece"), PaperCell("error", "images 40 % hidden"))
NUM_SEEDS = 3
NUM_CROPS = 8


@dataclass(frozen=True)
class StudyArm:
    """A recipe, and how many seeds it has at most."""

    recipe: AnyRecipe
    num_seeds: int | None = None


@dataclass(frozen=True)
class Study:
    """Arms to compare, for the scales cpu (recipes as they are) and smoke."""

    name: str
    title: str
    groups: Mapping[str, Mapping[str, StudyArm]]
    """by title: arms that share a test set, by label; the first arm is the baseline"""
    num_seeds: int = NUM_SEEDS
    notes: tuple[str, ...] = ()

    def arms(self) -> list[StudyArm]:
        """Return the arms of all groups."""
        return [arm for arms in self.groups.values() for arm in arms.values()]

    def table(self) -> PaperTable:
        """Return the table of all arms, a section for each group."""
        rows = []
        for title, arms in self.groups.items():
            first = next(iter(arms))
            for label, arm in arms.items():
                baseline = None if label == first else first
                rows.append(PaperRow(title, label, CELLS, arm.recipe.name, baseline))
        return PaperTable(self.name, self.title, tuple(rows), self.notes, of_paper=False)

    def recipes(self, scale: Scale) -> dict[str, AnyRecipe]:
        """Return what is run for each recipe, by the recipe's name."""
        return {arm.recipe.name: _scale(arm.recipe, scale) for arm in self.arms()}


def _scale(recipe: AnyRecipe, scale: Scale) -> AnyRecipe:
    if scale != "smoke":
        return recipe
    if recipe.data.name == "digits":  # small already
        return replace(recipe, name=f"smoke-{recipe.name}", epochs=1)
    small = at_scale(recipe, scale)
    assert not isinstance(small, str), "every recipe has a smoke version"
    return small


def make_arm(
    recipe: str, overrides: Mapping[str, Any] | None = None, num_seeds: int | None = None
) -> StudyArm:
    """Make an arm of a recipe of the catalog with other settings, under a name that says so.

    >>> make_arm("digits-resnet8-soft", {"epochs": 20, "loss.soften": "target"}).recipe.name
    'digits-resnet8-soft-epochs20-softentarget'
    """
    changes = overrides or {}
    suffixes = [f"-{path.rpartition('.')[2]}{value}" for path, value in changes.items()]
    name = "".join([recipe, *suffixes])
    return StudyArm(change(find(recipe).recipe, {"name": name, **changes}), num_seeds)


def demo_study(full: bool = False) -> Study:
    """Return the study of `softaug demo`: `full` has more arms and more seeds."""
    arms = {"hard crop": "hard", "soft crop": "soft", "label smoothing": "label-smoothing"}
    if full:
        arms |= {
            "far crop, hard labels": "hard-far",
            "far crop, soft": "soft-far",
            "self-paced crop": "paced",
        }
    made = {label: make_arm(f"fashion-mini-resnet8-tiny-{arm}") for label, arm in arms.items()}
    groups = {"Fashion-MNIST, 2,000 images, 30 epochs": made}
    return Study("demo", "Hard and soft crops of clothes", groups, 10 if full else NUM_SEEDS)


def where_it_pays_study() -> Study:
    """Return the study of soft crops after many epochs; three seeds where there are not five."""
    labels = {
        "hard": "hard crop",
        "label-smoothing": "label smoothing",
        "soft": "soft crop",
        "paced": "self-paced crop",
        "trivialaugment": "TrivialAugment",
        "soft-trivialaugment": "TrivialAugment + soft crop",
        "hard-far": "soft arm's crops, hard labels",
    }
    three = {"hard-far"}
    groups = {
        f"{title}, 5,000 images, {where_it_pays.EPOCHS} epochs": {
            label: make_arm(
                where_it_pays.arm_name(data, arm),
                num_seeds=NUM_SEEDS if data == "cifar100" or arm in three else None,
            )
            for arm, label in labels.items()
            if arm == "hard" or arm in where_it_pays.ARMS[data]
        }
        for data, title in {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100"}.items()
    }
    return Study("where-it-pays", "Soft crops where the hard crop has memorized", groups, 5)


@cache
def studies() -> tuple[Study, ...]:
    """Return all studies with arms of their own."""
    return demo_study(), where_it_pays_study()


def draw_soft_arm(arms: Mapping[str, AnyRecipe], data_dir: Path | None) -> Iterator[Figure]:
    """Draw test images as the first soft arm is trained on them; photographs are not drawn.

    Shows the first image of each of eight classes, the farthest of eight crops of each.
    """
    soft = {
        label: recipe
        for label, recipe in arms.items()
        if isinstance(recipe, Recipe) and recipe.loss.soften != "none"
    }
    if not soft or is_files(next(iter(soft.values())).data.name):
        return
    label, recipe = next(iter(soft.items()))
    data = load(recipe.data.name, data_dir)
    assert data.test is not None, "images in memory have test images"
    labels = data.test.labels
    first = [int((labels == number).nonzero()[0]) for number in range(NUM_CROPS)]
    images = data.test.fetch(torch.tensor(first))
    versions = draw_versions(
        images, recipe, images.shape[-1], draws=NUM_CROPS, seed=0, num_classes=len(data.class_names)
    )
    farthest = [min(crops, key=lambda one: one.visible) for crops in versions]
    cards = []
    for one, name in zip(farthest, data.class_names, strict=False):
        visible, target = f"visible {100 * one.visible:.0f} %", f"target {one.confidence:.2f}"
        cards.append(Card(one.image.permute(1, 2, 0).numpy(), name, visible, (target,)))
    yield crops_figure(label, cards)


def find_by_name(names: Sequence[str], scale: Scale) -> list[PaperTable | Study]:
    """Return the tables, figures and studies called so, each once; "all" is every one of a scale.

    An unknown name is refused with the nearest; so is a study at the paper's scale.
    """
    own = {study.name: study for study in studies()}
    known = [ALL, *own, *(table.name for table in all_tables())]
    for name in names:
        if name not in known:
            remedy = nearest(name, known) or "`softaug reproduce list` lists them"
            refuse("reproduce", "name must be that of a table, figure or study", repr(name), remedy)
        if name in own and scale == "paper":
            rule = f"{name} is a study of ours for scale cpu or smoke"
            refuse("reproduce", rule, "scale paper", "--scale cpu")
    others = [name for name in names if name not in own]
    chosen = [study for study in studies() if study.name in names or ALL in names]
    return [*find_tables(others, scale), *(chosen if scale != "paper" else [])]
