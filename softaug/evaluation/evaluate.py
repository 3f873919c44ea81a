"""Evaluating a run, or several as an ensemble: one result file, and the predictions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor

from softaug.data.class_words import class_words
from softaug.data.images import Source
from softaug.evaluation.also import read_all_also
from softaug.evaluation.also_folder import resized
from softaug.evaluation.commands import evaluate_command, shown_path
from softaug.evaluation.evaluate_checks import (
    check_alike,
    check_export,
    check_held_out,
    check_no_member,
    check_own,
    check_sizes,
    same_folders,
)
from softaug.evaluation.examples import examples
from softaug.evaluation.features import export_features, neighbour_errors, num_images
from softaug.evaluation.image_values import image_intervals
from softaug.evaluation.measure_list import CALIBRATION, list_measures
from softaug.evaluation.measures import halves_temperatures, measures, per_class, scale
from softaug.evaluation.options import EvaluationOptions
from softaug.evaluation.result_files import SCHEMA, read_evaluation, write_evaluation
from softaug.evaluation.robustness import Ordeal, harmed, ordeals, summary
from softaug.evaluation.run import TrainedRun, open_run, predict, runs_in
from softaug.metrics import ensemble_logits, fit_temperature
from softaug.progress import Show, progress
from softaug.recipes.pretrain import PretrainRecipe
from softaug.recipes.serialise import as_dict
from softaug.training.environment import environment
from softaug.training.measure import chunks, workers_for
from softaug.training.setup import load_images
from softaug.training.tracking import read_metrics


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
            "class_names": class_words(self.data.class_names),
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
        logits = [predict(member, images) for member in self.members]
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
