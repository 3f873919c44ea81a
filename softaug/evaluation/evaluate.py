"""Evaluating a run, or several as an ensemble: one result file, and the predictions."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor

from softaug.checks import check_whole, refuse
from softaug.data.images import Images, Source
from softaug.data.load import load
from softaug.evaluation.also import read_all_also
from softaug.evaluation.examples import examples
from softaug.evaluation.measures import measures, per_class, scale_by_halves, scale_by_held_out
from softaug.evaluation.robustness import Ordeal, Tally, harmed, ordeals
from softaug.evaluation.run import TrainedRun, chunks, open_run, predict
from softaug.files import write_json
from softaug.metrics import apply_temperature, ensemble_logits, fit_temperature
from softaug.progress import Show, progress
from softaug.recipes.serialise import as_dict
from softaug.training.environment import environment, num_cores
from softaug.training.tracking import read_metrics

SCHEMA = 1
EVALUATION = "evaluation.json"
PREDICTIONS = "predictions.safetensors"


@dataclass(frozen=True)
class EvaluationOptions:
    """What is measured beside the test set, and where."""

    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    also: tuple[str, ...] = ()
    """second test sets with the same classes: NAME=FOLDER, NAME=FILE.npz or
    NAME=IMAGES.npy,LABELS.npy"""
    draws: int = 3
    """placings of the patch, shifts and noises, averaged"""

    def __post_init__(self) -> None:
        check_whole("evaluate", "draws", self.draws, least=1)


def evaluate_runs(
    folders: Sequence[Path], out: Path, options: EvaluationOptions, console: Console
) -> dict[str, Any]:
    """Evaluate the network of a run, or the mean of several networks' probabilities.

    Writes evaluation.json and predictions.safetensors into `out`.
    """
    members = [open_run(folder, options.data_dir, options.device) for folder in folders]
    _check_alike(members)
    evaluation = Evaluation(members, options, console)
    found = evaluation.measure()
    out.mkdir(parents=True, exist_ok=True)
    found["predictions_sha256"] = _keep_predictions(evaluation.predictions, out / PREDICTIONS)
    write_json(found, out / EVALUATION)
    return found


def _keep_predictions(predictions: dict[str, Tensor], path: Path) -> str:
    content = safetensors.torch.save(predictions)
    unfinished = path.with_name(f".{path.name}")
    unfinished.write_bytes(content)
    unfinished.replace(path)
    return hashlib.sha256(content).hexdigest()


def _check_alike(members: Sequence[TrainedRun]) -> None:
    first = members[0]
    for other in members[1:]:
        if _images_of(other) != _images_of(first):
            rule = "runs of an ensemble must be for the same data, the same images held out"
            refuse("evaluate", rule, f"{_images_of(other)} beside {_images_of(first)}")


def _images_of(run: TrainedRun) -> str:
    """Which images a run is measured on, and which it has never seen."""
    data = run.recipe.data
    size = f", size {data.size}" if data.name.startswith("folder:") else ""
    held = f", {data.validation} held out by seed {data.seed}" if data.validation else ""
    return f"{data.name} ({data.labels}{size}{held})"


class Evaluation:
    """Everything that is measured on the test images, in a pass over them for each level."""

    def __init__(
        self, members: Sequence[TrainedRun], options: EvaluationOptions, console: Console
    ) -> None:
        self.members, self.options, self.console = members, options, console
        first = members[0]
        self.recipe, self.data = first.recipe, first.data
        self.test, self.held_out = _parts(first, options.data_dir)
        edge = int(self.test.fetch(torch.tensor([0])).shape[-1])
        self.also = read_all_also(options.also, self.data.class_names, edge)
        self.ordeals = ordeals([round(mean) for mean in self.data.mean])
        self.predictions: dict[str, Tensor] = {}
        self.temperature = 1.0  # that suits the test images or those held out

    def measure(self) -> dict[str, Any]:
        """The content of evaluation.json."""
        with progress(self.console, self._total(), "images") as show:
            self._show, self._done = show, 0
            logits = self._logits(self.test, "test")
            scaled, temperature = self._scaled(logits)
            sets = {"test": measures(logits, self.test.labels, scaled)}
            sets |= {name: self._second_set(name, source) for name, source in self.also.items()}
            robustness = {o.name: self._ordeal(o, logits) for o in self.ordeals}
        self.predictions |= {"test_logits": logits, "test_labels": self.test.labels}
        return {
            "schema": SCHEMA,
            "kind": "evaluation",
            "name": self.recipe.name if len(self.members) == 1 else f"{self.recipe.name}-ensemble",
            "recipe": as_dict(self.recipe),
            "members": [_describe_member(member) for member in self.members],
            "class_names": list(self.data.class_names),
            "temperature": temperature,
            "sets": sets,
            "per_class": per_class(logits, self.test.labels),
            "robustness": robustness,
            "fill": [round(mean) for mean in self.data.mean],
            "examples": examples(self.test, self.predict, self.ordeals[0]),
            "environment": environment(),
        }

    def predict(self, images: Tensor) -> Tensor:
        """Logits of all members together."""
        logits = [predict(member, images) for member in self.members]
        return logits[0] if len(logits) == 1 else ensemble_logits(logits)

    def _logits(self, source: Source, note: str) -> Tensor:
        parts = []
        for images in chunks(source, _workers(source)):
            parts.append(self.predict(images))
            self._tick(len(images), note)
        return torch.cat(parts)

    def _second_set(self, name: str, source: Source) -> dict[str, Any]:
        logits = self._logits(source, name)
        scaled = apply_temperature(logits, self.temperature)
        self.predictions |= {f"{name}_logits": logits, f"{name}_labels": source.labels}
        return measures(logits, source.labels, scaled)

    def _scaled(self, logits: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """The test logits after temperature scaling, fitted on other images."""
        if self.held_out is None:
            scaled, values = scale_by_halves(logits, self.test.labels)
            how = "each half of the test images by the temperature of the other half"
            self.temperature = fit_temperature(logits, self.test.labels)  # for other sets
        else:
            others = self._logits(self.held_out, "held-out images")
            scaled, values = scale_by_held_out(logits, others, self.held_out.labels)
            self.temperature = values[0]
            how = f"fitted on {len(self.held_out.labels)} training images that were held out"
        return scaled, {"values": values, "how": how}

    def _ordeal(self, ordeal: Ordeal, whole: Tensor) -> dict[str, Any]:
        tally = Tally(ordeal, self.options.draws)
        labels = self.test.labels
        tally.add(0, (whole.argmax(1) == labels).double())
        first = 0
        for chunk, images in enumerate(chunks(self.test, _workers(self.test))):
            mine = labels[first : first + len(images)]
            first += len(images)
            for place in range(1, len(ordeal.levels)):
                rights = []
                for draw in range(self.options.draws):
                    damaged = harmed(ordeal, place, draw, chunk, images)
                    rights.append(self.predict(damaged).argmax(1) == mine)
                    self._tick(len(images), ordeal.name)
                tally.add(place, torch.stack(rights).double().mean(0))
        return tally.result()

    def _tick(self, num: int, note: str) -> None:
        self._done += num
        self._show(self._done, note)

    _show: Show

    def _total(self) -> int:
        levels = sum(len(ordeal.levels) - 1 for ordeal in self.ordeals)
        held_out = 0 if self.held_out is None else len(self.held_out.labels)
        others = sum(len(source.labels) for source in self.also.values())
        return len(self.test.labels) * (1 + levels * self.options.draws) + held_out + others


def _parts(run: TrainedRun, data_dir: Path | None) -> tuple[Source, Source | None]:
    """(measured on, held out for tuning): the test set where there is one."""
    spec = run.recipe.data
    if not spec.validation:
        return run.data.measured, None
    test = load(spec.name, data_dir, labels=spec.labels, size=spec.size).test
    return (run.data.measured, None) if test is None else (test, run.data.measured)


def _describe_member(run: TrainedRun) -> dict[str, Any]:
    return {
        "folder": str(run.folder),
        "seed": run.recipe.seed,
        "step": run.step,
        "weights_sha256": run.weights_sha256,
        "metrics": read_metrics(run.folder),
    }


def _workers(source: Source) -> int:
    return 0 if isinstance(source, Images) else num_cores()


def read_evaluation(folder: Path) -> dict[str, Any]:
    """The evaluation in a run's folder."""
    path = folder / EVALUATION
    if not path.is_file():
        refuse("compare", f"{folder} must be evaluated", f"no {EVALUATION}", "softaug evaluate it")
    content: dict[str, Any] = json.loads(path.read_text())
    return content
