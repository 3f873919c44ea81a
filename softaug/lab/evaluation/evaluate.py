"""Evaluating a run, or several as an ensemble: one result file, and the predictions."""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor

from softaug.checks import check_choice, check_whole, refuse
from softaug.lab.data.folder import name_classes
from softaug.lab.data.images import Source
from softaug.lab.evaluation.corruptions import HARMS, HarmName, Ordeal, harmed, ordeals, summary
from softaug.lab.evaluation.examples import examples
from softaug.lab.evaluation.extra_test_sets import read_all_also, resized
from softaug.lab.evaluation.load_run import (
    TrainedRun,
    images_of,
    open_run,
    read_recipe,
    runs_in,
)
from softaug.lab.evaluation.measures import (
    CALIBRATION,
    export_features,
    halves_temperatures,
    image_intervals,
    list_measures,
    measures,
    neighbour_errors,
    num_images,
    per_class,
    scale,
)
from softaug.lab.io import write_json
from softaug.lab.progress import Show, progress
from softaug.lab.recipes.config import PretrainRecipe
from softaug.lab.recipes.serialize import as_dict
from softaug.lab.training.evaluate import chunks, workers_for
from softaug.lab.training.logging import environment, read_metrics
from softaug.lab.training.setup import load_images
from softaug.metrics import ensemble_logits, fit_temperature

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


def shown_path(path: Path | str) -> str:
    """A path as a reader may use it: from here where it lies below, else as it was given.

    >>> shown_path(Path.cwd() / "runs" / "a"), shown_path("../b")
    ('runs/a', '../b')
    """
    given, here = Path(path), Path.cwd()
    below = given.is_absolute() and given.is_relative_to(here) and given != here
    return str(given.relative_to(here) if below else given)


def evaluate_command(
    runs: Sequence[Path], options: EvaluationOptions, ensemble_out: Path | None
) -> str:
    """`softaug evaluate` with all that its numbers depend on, but for where data sets lie.

    >>> options = EvaluationOptions(also=("v2=my images",), resize=(256,))
    >>> evaluate_command([Path("runs/a")], options, None)
    "softaug evaluate runs/a --draws 3 --also 'v2=my images' --resize 256"
    """
    parts = ["softaug", "evaluate", *map(shown_path, runs), "--draws", str(options.draws)]
    parts += ["--held-out"] if options.held_out else []
    parts += ["--harms", *options.harms] if options.harms != HARMS else []
    parts += ["--also", *map(_shown_also, options.also)] if options.also else []
    parts += ["--resize", *map(str, options.resize)] if options.resize else []
    if ensemble_out is not None:
        parts += ["--ensemble", "--out", shown_path(ensemble_out)]
    return shlex.join(parts)


def compare_command(folders: Sequence[Path], out: Path) -> str:
    """`softaug compare` of these folders.

    >>> compare_command([Path("runs/a"), Path("runs/b")], Path("a-b"))
    'softaug compare runs/a runs/b --out a-b'
    """
    return shlex.join(["softaug", "compare", *map(shown_path, folders), "--out", shown_path(out)])


def _shown_also(text: str) -> str:
    name, _, paths = text.partition("=")
    return f"{name}={','.join(map(shown_path, paths.split(',')))}"


SCHEMA = 2
EVALUATION = "evaluation.json"
PREDICTIONS = "predictions.safetensors"


def write_evaluation(found: Mapping[str, Any], kept: dict[str, Tensor], out: Path) -> None:
    """Write both files into `out`: the predictions, then what knows their sha256."""
    out.mkdir(parents=True, exist_ok=True)
    unfinished = out / f".{PREDICTIONS}"
    content = safetensors.torch.save(kept)
    unfinished.write_bytes(content)
    unfinished.replace(out / PREDICTIONS)
    sha256 = hashlib.sha256(content).hexdigest()
    write_json({**found, "predictions_sha256": sha256}, out / EVALUATION)


def read_evaluation(folder: Path) -> dict[str, Any]:
    """The evaluation in a folder; refused where there is none that can be compared."""
    path = folder / EVALUATION
    if not path.is_file():
        got = f"no {EVALUATION}" if folder.is_dir() else "no such folder"
        refuse("compare", f"{folder} must be evaluated", got, _remedy(folder))
    try:
        content = json.loads(path.read_text())
    except ValueError as broken:
        refuse("compare", f"{path} must be JSON", broken, _remedy(folder))
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        refuse("compare", f"{path} must have schema {SCHEMA}", schema, _remedy(folder))
    found: dict[str, Any] = content
    return found


def read_predictions(folder: Path, evaluation: Mapping[str, Any]) -> dict[str, Tensor]:
    """The predictions that the evaluation was made from; others are refused."""
    return safetensors.torch.load(_checked(folder, evaluation))


def check_predictions(folder: Path, evaluation: Mapping[str, Any]) -> None:
    """Refuse predictions that are missing or not those of the evaluation."""
    _checked(folder, evaluation)


def _checked(folder: Path, evaluation: Mapping[str, Any]) -> bytes:
    path = folder / PREDICTIONS
    try:
        content = path.read_bytes()
    except OSError as missing:
        refuse("compare", f"{path} must be readable", missing.strerror, _remedy(folder))
    sha256, wanted = hashlib.sha256(content).hexdigest(), evaluation["predictions_sha256"]
    if sha256 != wanted:
        rule = f"{path} must have the sha256 {wanted[:12]}... that {EVALUATION} names"
        refuse("compare", rule, f"{sha256[:12]}...", _remedy(folder))
    return content


def _remedy(folder: Path) -> str:
    return f"run `softaug evaluate {folder}` again"


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


def evaluate_runs(
    folders: Sequence[Path], out: Path, options: EvaluationOptions, console: Console
) -> dict[str, Any]:
    """Evaluate the network of a run, or the mean of several networks' probabilities.

    Writes evaluation.json and predictions.safetensors into `out`. For an ensemble, a folder
    that is a member's or that holds the evaluation of others is refused.
    """
    own = same_folders(runs_in(out), folders)  # `softaug evaluate OUT` is the same
    if not own:
        check_no_member(out, folders)
    if options.held_out:
        check_held_out(folders)
    members = [
        open_run(folder, options.data_dir, options.device, console=console) for folder in folders
    ]
    check_alike(members)
    check_export(members, options.export)
    if not own:
        check_own(out, members)
    evaluation = Evaluation(members, options, console)
    found = evaluation.measure()
    named, ensemble_out = ([out], None) if own else (folders, out)
    command = evaluate_command(named, options, ensemble_out)
    write_evaluation({**found, "command": command}, evaluation.kept, out)
    if options.export is not None:
        evaluation.export(options.export)
    return read_evaluation(out)


class Evaluation:
    """Everything that is measured on the test images, in a pass over them for each level."""

    def __init__(
        self, members: Sequence[TrainedRun], options: EvaluationOptions, console: Console
    ) -> None:
        self.members, self.options, self.console = members, options, console
        first = members[0]
        self.recipe, self.data = first.recipe, first.data
        self.device = next(first.net.parameters()).device
        self.split, self.test, self.held_out = _parts(first, options)
        edge = int(self.test.fetch(torch.tensor([0])).shape[-1])
        self.also = read_all_also(
            options.also, self.data.class_names, edge, self.recipe.data.resize
        )
        self.also |= resized(self.test, options.resize, taken=self.also)
        check_sizes({self.split: self.test, **self.also})
        self.fill = [round(mean) for mean in self.data.mean]
        self.occlusion, *_ = every = ordeals(self.fill)
        self.ordeals = [ordeal for ordeal in every if ordeal.name in options.harms]
        self.kept: dict[str, Tensor] = {}  # what predictions.safetensors is to hold

    def measure(self) -> dict[str, Any]:
        """The content of evaluation.json."""
        with progress(self.console, self._total(), "images") as show:
            self._show, self._done = show, 0
            logits = self._logits(self.test, self.split)
            temperature = self._temperature(logits)
            sets = {self.split: self._set(self.split, self.test, logits, temperature["values"])}
            for name, source in self.also.items():
                others = self._logits(source, name)
                sets[name] = self._set(name, source, others, [temperature["others"]])
            robustness = {o.name: self._ordeal(o, logits) for o in self.ordeals}
            features = self._features()  # none where labels were learned
        found = {
            "schema": SCHEMA,
            "kind": "evaluation",
            "name": self.recipe.name if len(self.members) == 1 else f"{self.recipe.name}-ensemble",
            "recipe": as_dict(self.recipe),
            "members": [_describe_member(member) for member in self.members],
            "class_names": name_classes(self.data.class_names),
            "split": self.split,
            "temperature": temperature,
            "sets": sets,
            "per_class": per_class(logits, self.test.labels),
            "robustness": robustness,
            "fill": self.fill,
            "examples": examples(self.test, self.predict, self.occlusion),
            "environment": environment(),
            **features,
        }
        return {
            **found,
            "measures": list_measures(found, image_intervals(found, self.kept)),
            "calibration": [shown._asdict() for shown in CALIBRATION],
        }

    def predict(self, images: Tensor) -> Tensor:
        """Logits of all members together, where the networks are."""
        logits = [member.predict(images) for member in self.members]
        return logits[0] if len(logits) == 1 else ensemble_logits(logits)

    def _logits(self, source: Source, note: str) -> Tensor:
        parts = []
        for images in chunks(source, workers_for(source)):
            parts.append(self.predict(images).cpu())
            self._tick(len(images), note)
        return torch.cat(parts)

    def _set(
        self, name: str, source: Source, logits: Tensor, temperatures: list[float]
    ) -> dict[str, Any]:
        """What is measured of a set of images; its predictions are kept."""
        self.kept |= {
            f"{name}_logits": logits,
            f"{name}_labels": source.labels.clone(),  # sets of the same images share theirs
            f"{name}_temperature": torch.tensor(temperatures, dtype=torch.float64),
        }
        return measures(logits, source.labels, scale(logits, temperatures))

    def _temperature(self, logits: Tensor) -> dict[str, Any]:
        """The temperatures of the test images, fitted on others, and that of second sets."""
        if self.held_out is None:
            values = halves_temperatures(logits, self.test.labels)
            how = f"each half of the {self.split} images by the temperature of the other half"
            return {
                "values": values,
                "how": how,
                "others": fit_temperature(logits, self.test.labels),
            }
        held_out = self._logits(self.held_out, "held-out images")
        value = fit_temperature(held_out, self.held_out.labels)
        how = f"fitted on {len(self.held_out.labels)} training images that were held out"
        return {"values": [value], "how": how, "others": value}

    def _ordeal(self, ordeal: Ordeal, whole: Tensor) -> dict[str, Any]:
        draws, labels = self.options.draws, self.test.labels
        counts = torch.zeros(len(labels), len(ordeal.levels), dtype=torch.uint8)
        counts[:, 0] = draws * (whole.argmax(1) == labels)
        first = 0
        for chunk, images in enumerate(chunks(self.test, workers_for(self.test))):
            rows = slice(first, first + len(images))
            here, mine = images.to(self.device), labels[rows].to(self.device)
            for place in range(1, len(ordeal.levels)):
                right = torch.zeros_like(mine, dtype=torch.uint8)
                for draw in range(draws):
                    damaged = harmed(ordeal, place, draw, chunk, here)
                    right += self.predict(damaged).argmax(1).to(self.device) == mine
                    self._tick(len(images), ordeal.name)
                counts[rows, place] = right.cpu()
            first += len(images)
        self.kept[f"{ordeal.name}_right"] = counts
        return summary(ordeal, counts, draws)

    def _pretrained(self) -> PretrainRecipe | None:
        """The recipe, if one network is measured that learned without labels."""
        if len(self.members) == 1 and isinstance(self.recipe, PretrainRecipe):
            return self.recipe
        return None

    def _features(self) -> dict[str, Any]:
        """What the features are worth to nearest neighbours; empty where labels were learned."""
        recipe = self._pretrained()
        if recipe is None:
            return {}
        backbone = self.members[0].net.get_submodule("features")
        found, wrong = neighbour_errors(backbone, recipe, self.data, self.test, self._tick)
        self.kept |= wrong
        return {"features": found}

    def export(self, path: Path) -> None:
        """Write features and labels of training and test images."""
        recipe = self._pretrained()
        assert recipe is not None, "others were refused"
        backbone = self.members[0].net.get_submodule("features")
        parts = {"train": self.data.train, self.split: self.test}
        export_features(backbone, recipe, parts, path)

    def _tick(self, num: int, note: str) -> None:
        self._done += num
        self._show(self._done, note)

    _show: Show

    def _total(self) -> int:
        levels = sum(len(ordeal.levels) - 1 for ordeal in self.ordeals)
        held_out = 0 if self.held_out is None else len(self.held_out.labels)
        others = sum(len(source.labels) for source in self.also.values())
        features = num_images(self.data, self.test) if self._pretrained() else 0
        passes = 1 + levels * self.options.draws
        return len(self.test.labels) * passes + held_out + others + features


def _parts(run: TrainedRun, options: EvaluationOptions) -> tuple[str, Source, Source | None]:
    """(name of the split, measured on, held out for the temperature).

    The test set where there is one, unless what was held out is to be measured.
    """
    spec, data = run.recipe.data, run.data
    if options.held_out or not spec.validation:
        return data.split, data.measured, None
    test = load_images(spec, options.data_dir).test
    if test is None:
        return data.split, data.measured, None
    return "test", test, data.measured


def _describe_member(run: TrainedRun) -> dict[str, Any]:
    return {
        "folder": shown_path(run.folder),
        "seed": run.recipe.seed,
        "step": run.step,
        "num_steps": run.num_steps,
        "finished": run.step >= run.num_steps,
        "weights_sha256": run.weights_sha256,
        "metrics": [row for row in read_metrics(run.folder) if row["step"] <= run.step],
    }


def evaluate_each(
    runs: Sequence[Path],
    options: EvaluationOptions,
    ensemble: bool,
    out: Path | None,
    console: Console,
) -> Iterator[Path]:
    """Evaluate runs, each or as one ensemble, and yield the folder of each result.

    A folder that `softaug train --members` made is one ensemble, or stands for its members.
    """
    if not runs:
        refuse("evaluate", "at least one run must be given", "none", "name a run's folder")
    if out is not None and not ensemble:
        refuse("evaluate", "out is for --ensemble; a run keeps its own evaluation", out)
    if options.export is not None and len(runs) > 1:
        refuse("evaluate", "export is for one run", f"{len(runs)} runs", "evaluate them apart")
    groups = [(run, runs_in(run)) for run in runs]
    if ensemble:
        together = [member for _, group in groups for member in group]
        groups = [(_ensemble_folder(runs[0], out), together)]
    for folder, group in groups:
        evaluate_runs(group, folder, options, console)
        yield folder


def _ensemble_folder(first: Path, out: Path | None) -> Path:
    return out or first.parent / f"ensemble-{first.name}"
