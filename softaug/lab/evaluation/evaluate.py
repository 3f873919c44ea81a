"""Evaluating a run, or several as an ensemble: evaluation.json and predictions.safetensors."""

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import safetensors.torch
import torch
from rich.console import Console
from torch import Tensor

from softaug.checks import check_choice, check_not_negative, check_whole, refuse
from softaug.lab import schema
from softaug.lab.data.datasets import name_classes
from softaug.lab.data.images import Source
from softaug.lab.evaluation.load_run import TrainedRun, load_run, read_run_recipe, runs_in
from softaug.lab.evaluation.metrics import (
    CALIBRATION,
    CORRUPTIONS,
    HUMAN,
    OOD,
    TRAINING,
    Corruption,
    CorruptionName,
    halves_temperatures,
    image_intervals,
    list_metrics,
    make_corruptions,
    make_examples,
    measure_classes,
    measure_set,
    ood_values,
    scale,
)
from softaug.lab.io import write_bytes
from softaug.lab.progress import Show, progress
from softaug.lab.recipes.config import PretrainRecipe, Recipe
from softaug.lab.recipes.serialize import as_dict
from softaug.lab.training.evaluate import chunks, workers_for
from softaug.lab.training.logging import RESULT, environment
from softaug.lab.training.run_dir import check_result
from softaug.lab.training.setup import load_images
from softaug.metrics import ensemble_logits, fit_temperature

EVALUATION = "evaluation.json"
PREDICTIONS = "predictions.safetensors"
MAX_DRAWS = 255  # right answers of each image are counted in a byte


@dataclass(frozen=True)
class EvaluationOptions:
    """What is measured beside the test set, and where."""

    data_dir: Path | None = None
    """where data sets lie (default: $SOFTAUG_DATA, else a cache folder)"""
    device: str = "auto"
    """auto, cpu, cuda, ..."""
    extra_test_sets: tuple[str, ...] = ()
    """more test sets with the same classes: NAME=FOLDER (a folder for each class, called by its
    name or, as in ImageNet-V2, by its number), NAME=FILE.npz or NAME=IMAGES.npy,LABELS.npy"""
    resize: tuple[int, ...] = ()
    """measure the test images also with these short edges, the center kept; for folders"""
    held_out: bool = False
    """measure the training images that data.validation held out, in place of the test images"""
    draws: int = 3
    """random draws of each corruption, averaged"""
    corruptions: tuple[CorruptionName, ...] = CORRUPTIONS
    """corruptions of the test images, each at four levels; fewer take less time. common: 15 kinds
    at five severities in the style of CIFAR-10-C, drawn once, 75 passes over the images"""
    ood: tuple[str, ...] = ()
    """data sets of other classes, such as cifar100, to be separated from the test images"""
    human_labels: Path | None = None
    """a .npy file of people's probabilities of each class for each test image (CIFAR-10H)"""
    batchnorm_sigma: float | None = None
    """measure with BatchNorm statistics of training images cropped at this sigma (0: whole), into
    a folder of its own, RUN/batchnorm-sigma0.1; the run does not change"""
    export: Path | None = None
    """a .safetensors file for the features and labels of training and test images; for one run
    without labels"""

    def __post_init__(self) -> None:
        if check_whole("evaluate", "draws", self.draws, least=1) > MAX_DRAWS:
            refuse("evaluate", f"draws must be at most {MAX_DRAWS}", self.draws)
        for name in self.corruptions:
            check_choice("evaluate", "corruptions", name, get_args(CorruptionName))
        if self.batchnorm_sigma is not None:
            check_not_negative("evaluate", "batchnorm_sigma", self.batchnorm_sigma)


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
        folder = out or runs[0].parent / f"ensemble-{runs[0].name}"
        groups = [(folder, [member for _, group in groups for member in group])]
    sigma = options.batchnorm_sigma
    for folder, group in groups:
        folder = folder if sigma is None else folder / f"batchnorm-sigma{sigma:g}"
        evaluate_runs(group, folder, options, console)
        yield folder


def evaluate_runs(
    folders: Sequence[Path], out: Path, options: EvaluationOptions, console: Console
) -> schema.Evaluation:
    """Evaluate the network of a run, or the mean of several networks' probabilities.

    Writes evaluation.json and predictions.safetensors into `out`. For an ensemble, a folder
    that is a member's or that holds the evaluation of others is refused.
    """
    paths = [folder.resolve() for folder in folders]
    own = [run.resolve() for run in runs_in(out)] == paths  # `softaug evaluate OUT` is the same
    if not own and out.resolve() in paths:
        rule = "an ensemble's folder must not be a member's, which keeps its own evaluation"
        refuse("evaluate", rule, out, "choose another --out")
    for recipe in map(read_run_recipe, folders):  # before networks are loaded or probes trained
        if options.held_out and not recipe.data.validation:
            rule = "held_out needs runs that held out images by data.validation"
            refuse("evaluate", rule, recipe.name, "train with --data.validation 5000")
        if options.batchnorm_sigma is not None and not isinstance(recipe, Recipe):
            refuse("evaluate", "batchnorm_sigma is for runs with labels", recipe.name)
    members = [
        load_run(folder, options.data_dir, options.device, console=console) for folder in folders
    ]
    _check_members(members, options.export)
    if options.batchnorm_sigma is not None:
        _reestimate_batchnorm(members, options.batchnorm_sigma)
    if not own:
        _check_out(out, members)
    evaluator = Evaluator(members, options, console)
    ensemble_out = None if own or options.batchnorm_sigma is not None else out
    command = format_command([out] if own else folders, options, ensemble_out)
    evaluation = evaluator.evaluate(out, command)
    if options.export is not None:
        from softaug.lab.evaluation.features import export_features

        parts = {"train": evaluator.data.train, evaluator.split: evaluator.test}
        export_features(members[0], parts, options.export)
    return evaluation


# The command that makes an evaluation again


def format_path(path: Path | str) -> str:
    """Return a path relative to the working folder if it lies below, else as it is.

    >>> format_path(Path.cwd() / "runs" / "a"), format_path("../b")
    ('runs/a', '../b')
    """
    given, here = Path(path), Path.cwd()
    below = given.is_absolute() and given.is_relative_to(here) and given != here
    return str(given.relative_to(here) if below else given)


def format_command(
    runs: Sequence[Path], options: EvaluationOptions, ensemble_out: Path | None
) -> str:
    """Return `softaug evaluate` with all that its numbers depend on, but for where data lie.

    >>> options = EvaluationOptions(extra_test_sets=("v2=my images",), resize=(256,))
    >>> format_command([Path("runs/a")], options, None)
    "softaug evaluate runs/a --draws 3 --extra-test-sets 'v2=my images' --resize 256"
    """
    parts = ["softaug", "evaluate", *map(format_path, runs), "--draws", str(options.draws)]
    if options.held_out:
        parts += ["--held-out"]
    if options.corruptions != CORRUPTIONS:
        parts += ["--corruptions", *options.corruptions]
    if options.extra_test_sets:
        parts += ["--extra-test-sets", *map(_format_test_set, options.extra_test_sets)]
    if options.resize:
        parts += ["--resize", *map(str, options.resize)]
    if options.ood:
        parts += ["--ood", *options.ood]
    if options.human_labels:
        parts += ["--human-labels", format_path(options.human_labels)]
    if options.batchnorm_sigma is not None:
        parts += ["--batchnorm-sigma", f"{options.batchnorm_sigma:g}"]
    if ensemble_out is not None:
        parts += ["--ensemble", "--out", format_path(ensemble_out)]
    return shlex.join(parts)


def _format_test_set(text: str) -> str:
    name, _, paths = text.partition("=")
    return f"{name}={','.join(map(format_path, paths.split(',')))}"


# What is refused before any work


def _check_members(members: Sequence[TrainedRun], export: Path | None) -> None:
    """Refuse networks for different images, and to export what has no features of its own."""
    first = members[0].image_set
    for other in members[1:]:
        if other.image_set != first:
            rule = "runs of an ensemble must be for the same data, the same images held out"
            refuse("evaluate", rule, f"{other.image_set} beside {first}")
    if export is None:
        return
    if len(members) > 1 or not isinstance(members[0].recipe, PretrainRecipe):
        rule = "export is for one run that learned without labels"
        refuse("evaluate", rule, " and ".join(member.recipe.name for member in members))
    if export.suffix != ".safetensors":
        refuse("evaluate", "export must be a .safetensors file", export)


def _check_out(out: Path, members: Sequence[TrainedRun]) -> None:
    """Refuse to write over the evaluation of other members than these."""
    if not (out / EVALUATION).is_file():
        return
    folders, weights = ["what cannot be read"], [""]
    with suppress(ValueError):
        there = schema.read_evaluation(out / EVALUATION).members
        folders = sorted(str(Path(member.folder).absolute()) for member in there)
        weights = sorted(member.weights_sha256 for member in there)
    ours = sorted(str(member.folder.absolute()) for member in members)
    if folders != ours and weights != sorted(member.weights_sha256 for member in members):
        rule = f"{out} must not hold the evaluation of others"
        remedy = "choose another --out, or remove that folder"
        refuse("evaluate", rule, " and ".join(map(format_path, folders)), remedy)


def _reestimate_batchnorm(members: Sequence[TrainedRun], sigma: float) -> None:
    """Give the networks BatchNorm statistics of training images cropped at `sigma`."""
    from softaug.lab.training.supervised import reestimate_batchnorm

    for run in members:
        assert isinstance(run.recipe, Recipe), "others were refused"
        reestimate_batchnorm(run.net, run.recipe, run.data, sigma)


# Measuring


class Evaluator:
    """Measures everything on the test images, in a pass over them for each level."""

    def __init__(
        self, members: Sequence[TrainedRun], options: EvaluationOptions, console: Console
    ) -> None:
        self.members, self.options, self.console = members, options, console
        first = members[0]
        self.recipe, self.data = first.recipe, first.data
        self.device = next(first.net.parameters()).device
        self.split, self.test, self.held_out = _choose_split(first, options)
        alone = len(members) == 1  # an ensemble has no features of its own
        self.learned_without_labels = alone and isinstance(self.recipe, PretrainRecipe)
        self.extra_sets: dict[str, Source] = {}
        self.ood_sets: dict[str, Source] = {}
        self.human_labels: Tensor | None = None
        if options.extra_test_sets or options.resize or options.ood or options.human_labels:
            self._read_more()
        every = {self.split: self.test, **self.extra_sets, **self.ood_sets}
        for name, source in every.items():
            if len(source.labels) < 2:
                rule = f"the {name} set must hold at least 2 images"
                refuse("evaluate", rule, len(source.labels), "one image has no interval")
        self.fill = [round(mean) for mean in self.data.mean]
        self.corruptions = make_corruptions(self.fill, options.corruptions)
        self.predictions: dict[str, Tensor] = {}  # what predictions.safetensors is to hold
        self._show: Show = lambda done, note: None
        self._done = 0

    def _read_more(self) -> None:
        """Read what is measured beside the test images."""
        from softaug.lab.evaluation import extra_test_sets as extra

        options, names, spec = self.options, self.data.class_names, self.recipe.data
        size = int(self.test.fetch(torch.tensor([0])).shape[-1])
        self.extra_sets = extra.read_test_sets(options.extra_test_sets, names, size, spec.resize)
        extra.resize_test_set(self.test, options.resize, self.extra_sets)
        self.ood_sets = extra.read_ood_sets(options.ood, spec.name, size, options.data_dir)
        if options.human_labels is not None:
            if self.split != "test":
                refuse("evaluate", "human_labels must be of test images", self.split)
            shape = (len(self.test.labels), len(names))
            self.human_labels = extra.read_human_labels(options.human_labels, shape)

    def evaluate(self, out: Path, command: str) -> schema.Evaluation:
        """Measure everything and write both files: the predictions, then what has their sha256."""
        with progress(self.console, self._count_images(), "images") as self._show:
            logits = self._predict_all(self.test, self.split)
            temperature = self._fit_temperature(logits)
            values, others = temperature.values, [temperature.others]
            test_sets = {self.split: self._measure_set(self.split, self.test, logits, values)}
            for name, source in self.extra_sets.items():
                predicted = self._predict_all(source, name)
                test_sets[name] = self._measure_set(name, source, predicted, others)
            for name, source in self.ood_sets.items():
                self.predictions[f"{OOD}{name}_logits"] = self._predict_all(source, name)
            corruptions: dict[str, schema.CorruptionResult] = {
                corruption.name: self._measure_corruption(corruption, logits)
                for corruption in self.corruptions
            }
            features = None
            if self.learned_without_labels:
                from softaug.lab.evaluation.features import measure_neighbors

                features, wrong = measure_neighbors(self.members[0], self.test, self._tick)
                self.predictions |= wrong
        numbers = _training_metrics(self.members)
        if self.human_labels is not None:
            each = -(self.human_labels * logits.double().log_softmax(1)).sum(1)
            self.predictions[HUMAN.key], numbers[HUMAN.key] = each, float(each.mean())
        auroc = ood_values(logits, self.predictions)
        numbers |= {key: float(values.mean()) for key, values in auroc.items()}
        intervals = image_intervals(test_sets, self.split, corruptions, self.predictions)
        metrics = list_metrics(self.split, test_sets, corruptions, features, numbers, intervals)
        content = safetensors.torch.save(self.predictions)
        write_bytes(content, out / PREDICTIONS)
        (occlusion,) = make_corruptions(self.fill, ["occlusion"])
        evaluation = schema.Evaluation(
            name=self.recipe.name if len(self.members) == 1 else f"{self.recipe.name}-ensemble",
            recipe=as_dict(self.recipe),
            members=[_describe_member(member) for member in self.members],
            class_names=name_classes(self.data.class_names),
            split=self.split,
            temperature=temperature,
            test_sets=test_sets,
            per_class=measure_classes(logits, self.test.labels),
            corruptions=corruptions,
            fill=self.fill,
            examples=make_examples(self.test, self.predict, occlusion),
            features=features,
            metrics=metrics,
            calibration=CALIBRATION,
            command=command,
            environment=environment(),
            predictions_sha256=hashlib.sha256(content).hexdigest(),
        )
        schema.write(evaluation, out / EVALUATION)
        return evaluation

    def predict(self, images: Tensor) -> Tensor:
        """Predict the logits of all members together, where the networks are."""
        logits = [member.predict(images) for member in self.members]
        return logits[0] if len(logits) == 1 else ensemble_logits(logits)

    def _predict_all(self, source: Source, note: str) -> Tensor:
        parts = []
        for images in chunks(source, workers_for(source)):
            parts.append(self.predict(images).cpu())
            self._tick(len(images), note)
        return torch.cat(parts)

    def _fit_temperature(self, logits: Tensor) -> schema.Temperature:
        """Fit the temperatures of the test images on others, and that of extra test sets."""
        if self.held_out is None:
            how = f"each half of the {self.split} images by the temperature of the other half"
            values = halves_temperatures(logits, self.test.labels)
            others = fit_temperature(logits, self.test.labels)
            return schema.Temperature(values=values, how=how, others=others)
        held_out = self._predict_all(self.held_out, "held-out images")
        value = fit_temperature(held_out, self.held_out.labels)
        how = f"fitted on {len(self.held_out.labels)} training images that were held out"
        return schema.Temperature(values=[value], how=how, others=value)

    def _measure_set(
        self, name: str, source: Source, logits: Tensor, temperatures: Sequence[float]
    ) -> schema.SetMetrics:
        self.predictions |= {
            f"{name}_logits": logits,
            f"{name}_labels": source.labels.clone(),  # sets of the same images share theirs
            f"{name}_temperature": torch.tensor(temperatures, dtype=torch.float64),
        }
        return measure_set(logits, source.labels, scale(logits, temperatures))

    def _measure_corruption(self, corruption: Corruption, whole: Tensor) -> schema.CorruptionResult:
        """Count right answers at each level; `whole` are logits of the images as they are."""
        draws, labels = self._num_draws(corruption), self.test.labels
        counts = torch.zeros(len(labels), len(corruption.levels), dtype=torch.uint8)
        counts[:, 0] = draws * (whole.argmax(1) == labels)
        first = 0
        for chunk, images in enumerate(chunks(self.test, workers_for(self.test))):
            rows = slice(first, first + len(images))
            inputs, targets = images.to(self.device), labels[rows].to(self.device)
            for index in range(1, len(corruption.levels)):
                correct = torch.zeros_like(targets, dtype=torch.uint8)
                for draw in range(draws):
                    corrupted = corruption.corrupt(inputs, index, draw, chunk)
                    correct += self.predict(corrupted).argmax(1).to(self.device) == targets
                    self._tick(len(images), corruption.name)
                counts[rows, index] = correct.cpu()
            first += len(images)
        self.predictions[f"{corruption.name}_right"] = counts
        return corruption.summarize(counts, draws)

    def _num_draws(self, corruption: Corruption) -> int:
        return 1 if corruption.once else self.options.draws

    def _tick(self, num: int, note: str) -> None:
        self._done += num
        self._show(self._done, note)

    def _count_images(self) -> int:
        """Count the images that all passes show to the networks."""
        passes = 1 + sum(
            self._num_draws(corruption) * (len(corruption.levels) - 1)
            for corruption in self.corruptions
        )
        num, others = passes * len(self.test.labels), [*self.extra_sets.values()]
        others += self.ood_sets.values()
        if self.held_out is not None:
            others.append(self.held_out)
        if self.learned_without_labels:  # neighbors by three kinds of features
            others += 3 * [self.data.train, self.test]
        return num + sum(len(source.labels) for source in others)


def _choose_split(run: TrainedRun, options: EvaluationOptions) -> tuple[str, Source, Source | None]:
    """Return the name of the split, what is measured, and what is held out for the temperature.

    The test set where there is one, unless what was held out is to be measured.
    """
    spec, data = run.recipe.data, run.data
    if options.held_out or not spec.validation:
        return data.split, data.measured, None
    test = load_images(spec, options.data_dir).test
    if test is None:
        return data.split, data.measured, None
    return "test", test, data.measured


def _training_metrics(members: Sequence[TrainedRun]) -> dict[str, float]:
    """Average the members' metrics on clean training images, if every result.json has them."""
    files = [member.folder / RESULT for member in members]
    if not all(file.is_file() for file in files):
        return {}
    results = [schema.read(file, schema.Result) for file in files]
    for member, result in zip(members, results, strict=True):
        check_result(member.folder, result)
    values = {spec.key: [getattr(one, spec.key) for one in results] for spec in TRAINING}
    return {key: sum(v) / len(v) for key, v in values.items() if None not in v}


def _describe_member(run: TrainedRun) -> schema.Member:
    return schema.Member(
        folder=format_path(run.folder),
        run_id=run.run_id,
        seed=run.recipe.seed,
        step=run.step,
        num_steps=run.num_steps,
        finished=run.step >= run.num_steps,
        weights_sha256=run.weights_sha256,
        history=[schema.MetricsRow.model_validate(row) for row in run.rows],
    )
