"""What the numbers of an evaluation or a comparison say, in words, by rule."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from softaug.lab.evaluation.stats import can_be_judged, seed_interval
from softaug.lab.report.model import format_list, plural, sentence
from softaug.lab.report.settings import recipe_settings
from softaug.lab.schema import (
    Arm,
    Comparison,
    Estimate,
    Evaluation,
    Interval,
    MetricSpec,
    Pair,
    Verdict,
    Word,
)

SIGNS: dict[Word, str] = {
    "better": "▲",
    "worse": "▼",
    "no difference shown": "=",
    "not tested": "·",
}
HEADLINE = ("error", "nll", "ece_15", "common/mean")
_UNITS = {  # a group of metrics in one unit, by what their keys begin with
    "Error, points": ("error", "top5_error", "knn"),
    "NLL and Brier score": ("nll", "brier", "human_nll"),
    "Calibration error, points": ("ece_15", "smooth_ece"),
    "Accuracy, part of the image hidden, points": ("occlusion/",),
    "Accuracy, moved out of frame, points": ("shift/",),
    "Accuracy, noise, points": ("noise/",),
    "Accuracy, corrupted images, points": ("common/mean",),
    "AUROC, points": ("ood/",),
}
_NEAR_COPIES = ("ece_15_mass",)  # in the table only: ECE by other bins
_OF_EXTRA_SETS = ("error", "nll", "ece_15")
_MAX_NAMED = 3  # metrics that became worse, in a sentence
_FLOORS = ("knn_untrained_error", "knn_pixels_error")


@dataclass(frozen=True)
class Difference:
    """One arm minus another in a metric: what the verdict is about."""

    metric: MetricSpec
    value: float | None
    interval: Interval | None
    verdict: Verdict

    def in_gain(self, value: float) -> float:
        """Return a difference in the unit of the label, positive where it is better."""
        return self.metric.in_unit(value) * (1 if self.metric.higher_is_better else -1)

    @property
    def gain(self) -> float:
        """How much better it is."""
        return 0.0 if self.value is None else self.in_gain(self.value)

    @property
    def text(self) -> str:
        """The difference and its interval."""
        shown = "not known" if self.value is None else self.metric.format_signed(self.value)
        if self.value is None or self.interval is None:
            return shown
        return f"{shown} [{format_range(self.metric, self.interval)}]"

    @property
    def named(self) -> str:
        """The metric and the difference in a sentence."""
        unit = " points" if self.metric.percent and self.value is not None else ""
        shown = "not known" if self.value is None else self.metric.format_signed(self.value)
        return f"{in_words(self.metric)} {shown}{unit}"

    @property
    def phrase(self) -> str:
        """The same with its verdict."""
        return f"{self.named} ({self.verdict.word})"


def find_difference(pair: Pair, metric: MetricSpec) -> Difference:
    """Collect what a pair shows in a metric: over seeds, or over the images of one pair."""
    key, verdict = metric.key, pair.verdicts[metric.key]
    over_images = pair.by_image.get(key)
    if verdict.over == "images" and over_images is not None:
        return Difference(metric, over_images.value, over_images, verdict)
    return Difference(metric, mean_difference(pair, key), seed_range(pair, key), verdict)


def find_unit(metric: MetricSpec) -> str | None:
    """Return the heading of a metric's group; None for near copies of others."""
    for heading, prefixes in _UNITS.items():
        if metric.key.startswith(prefixes):
            return None if metric.key in _NEAR_COPIES else heading
    name, _, key = metric.key.rpartition("/")
    return f"{name} images" if name and key in _OF_EXTRA_SETS else None


def mean_difference(pair: Pair, key: str) -> float | None:
    """Return the mean difference over seeds, else that over images."""
    if key in pair.by_seed:
        return pair.by_seed[key].mean
    return pair.by_image[key].value if key in pair.by_image else None


def seed_range(pair: Pair, key: str) -> Interval | None:
    """Return the 95 % interval of a difference over seeds; None where they cannot judge it."""
    found = pair.by_seed.get(key)
    return seed_interval(found) if found is not None and can_be_judged(found) else None


def format_range(metric: MetricSpec, found: Interval) -> str:
    """Write the ends of an interval of a difference."""
    return f"{metric.format_signed(found.low)} to {metric.format_signed(found.high)}"


def format_estimate(metric: MetricSpec, mean: str, found: Estimate) -> str:
    """Write a mean with its standard error, where there is one."""
    return mean if found.se is None else f"{mean} ± {metric.format(found.se)}"


def in_words(metric: MetricSpec) -> str:
    """Write a label as it stands in a sentence.

    >>> in_words(MetricSpec(key="", label="Accuracy, 40% hidden, %"))
    'accuracy, 40% hidden'
    """
    name = metric.label.removesuffix(", %")
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


def count_images(evaluation: Evaluation, name: str = "") -> str:
    """Write how many images of which set were measured on: "1,000 test images"."""
    name = name or evaluation.split
    return f"{evaluation.test_sets[name].n:,} {name} images"


def write_findings(comparison: Comparison) -> tuple[str, ...]:
    """Write what each pair of arms shows, then the evidence; without pairs, what each arm is."""
    images = count_images(comparison.arms[0].evaluations[0])
    if comparison.pairs:
        every = [_pair_findings(pair, comparison) for pair in comparison.pairs]
        evidence = dict.fromkeys(_evidence(pair, images) for pair in comparison.pairs)
        return (*(line for lines in every for line in lines), *evidence)
    arms = (_arm_findings(arm, comparison, images) for arm in comparison.arms)
    return tuple(line for lines in arms for line in lines)


def _pair_findings(pair: Pair, comparison: Comparison) -> list[str]:
    """Write the headline; then the largest differences, and how many are better and worse."""
    differences = [find_difference(pair, metric) for metric in comparison.metrics]
    first = [one.phrase for one in differences if one.metric.key in HEADLINE]
    lines = [f"{pair.arm} against {pair.against}: {', '.join(first)}."] if first else []
    largest = [one.phrase for one in largest_differences(differences)]
    start = f"The largest differences in points: {format_list(largest)}. " if largest else ""
    return [*lines, f"{start}Of {plural(len(differences), 'measure')}: {_tally(differences)}."]


def _tally(differences: Sequence[Difference]) -> str:
    """Count the verdicts, and name what became worse."""
    words = Counter(one.verdict.word for one in differences)
    counts = {word: f"{words[word]} {word}" for word in SIGNS if words[word]}
    worse = [one.named for one in differences if one.verdict.word == "worse"]
    if worse:
        more = [f"{len(worse) - _MAX_NAMED} more"] if len(worse) > _MAX_NAMED else []
        counts["worse"] += f" ({', '.join([*worse[:_MAX_NAMED], *more])})"
    return format_list(list(counts.values()))


def largest_differences(differences: Sequence[Difference]) -> list[Difference]:
    """Return the largest gain and the largest loss among the metrics in percent, largest first.

    Metrics that were not tested are left out, and near copies of others.
    """
    in_points = [
        one
        for one in differences
        if one.metric.percent and one.gain and find_unit(one.metric)
        if one.verdict.word != "not tested"
    ]
    sides = ([one for one in in_points if sign * one.gain > 0] for sign in (1, -1))
    ends = [max(side, key=lambda one: abs(one.gain)) for side in sides if side]
    return sorted(ends, key=lambda one: -abs(one.gain))


def _evidence(pair: Pair, images: str) -> str:
    num = max((found.n for found in pair.by_seed.values()), default=0)
    if num < 2:
        return f"One pair of runs on {images}: another seed may reverse any of these."
    limit = seed_interval(Estimate(0.0, 1.0, num)).high
    return (
        f"Measured on {images}; over {num} seeds a difference must be more than {limit:.1f} "
        "standard errors to be called better or worse."
    )


def _arm_findings(arm: Arm, comparison: Comparison, images: str) -> list[str]:
    first = [
        f"{in_words(metric)} {format_mean(arm, metric)}{' %' if metric.percent else ''}"
        for metric in comparison.metrics
        if metric.key in HEADLINE
    ]
    lines = [f"{arm.name}: {', '.join(first)}."] if first else []
    lines.append(describe_confidence(arm))
    brackets = "; in brackets 95 % intervals over images" if len(arm.seeds) == 1 else ""
    last = f"measured on {images}; {plural(len(arm.seeds), 'seed')}{brackets}"
    for name in list(arm.evaluations[0].corruptions)[:1]:
        every = [evaluation.corruptions[name].accuracy for evaluation in arm.evaluations]
        before, after = (100 * sum(one[place] for one in every) / len(every) for place in (0, -1))
        last = f"accuracy is {before:.1f} %, and {after:.1f} % at the last level of {name}; {last}"
    return [*lines, sentence(last)]


def format_mean(arm: Arm, metric: MetricSpec) -> str:
    """Write an arm's mean ± standard error; of one run, its 95 % interval over images."""
    found = arm.estimates[metric.key]
    text = format_estimate(metric, metric.format(found.mean), found)
    for one in arm.evaluations[0].metrics if found.se is None else ():
        if one.key == metric.key and one.interval is not None:
            text += f" ({' to '.join(map(metric.format, one.interval))})"
    return text


def describe_confidence(arm: Arm) -> str:
    """Say which way an arm's confidence errs, and by how much, before and after scaling."""
    sets = [evaluation.main_set for evaluation in arm.evaluations]
    before = sum(found.before["gap"] for found in sets) / len(sets)
    after = sum(found.after["gap"] for found in sets) / len(sets)
    return (
        f"{arm.name}: {lean(before)}-confident by {100 * abs(before):.2f} points, after "
        f"temperature scaling {lean(after)}-confident by {100 * abs(after):.2f}."
    )


def lean(gap: float) -> str:
    """Say which way confidence errs.

    >>> lean(0.02), lean(-0.02)
    ('over', 'under')
    """
    return "over" if gap > 0 else "under"


def write_cautions(comparison: Comparison) -> tuple[str, ...]:
    """Write sentences about runs that make the page less sure than its tables look.

    Such as runs that were not trained to their end or too little, not measured on a test set,
    or not trained or measured alike; none if all is well.
    """
    arms = comparison.arms
    every = [evaluation for arm in arms for evaluation in arm.evaluations]
    unfinished = [
        f"{arm.name}, seed {member.seed}, at step {member.step:,} of {member.num_steps:,}"
        for arm in arms
        for evaluation in arm.evaluations
        for member in evaluation.members
        if not member.finished
    ]
    found = [f"Training was not finished: {'; '.join(unfinished)}."] if unfinished else []
    if every[0].split != "test":
        found.append(
            f"All was measured on {every[0].split} images, which were held out of the training "
            "set, not on a test set. Settings that were chosen by them make them look too good."
        )
    found += [_floors(arm) for arm in arms]
    for arm in arms:
        unlike = [key for key, values in recipe_settings(arm).items() if len(set(values)) > 1]
        if unlike:
            keys = format_list(unlike)
            found.append(f"Runs of {arm.name} differ in more than the seed: {keys}.")
    unlike_runs = {
        "Corruptions were drawn {} times, not alike in all runs.": (
            corruption.draws
            for one in every
            for name, corruption in one.corruptions.items()
            if not name.startswith("common/")  # drawn once in all
        ),
        "Temperatures were not fitted alike in all runs: {}.": (
            one.temperature.how for one in every
        ),
        "Ensembles of different size are compared: {} networks.": (
            len(one.members) for one in every
        ),
    }
    for rule, values in unlike_runs.items():
        different = list(map(str, dict.fromkeys(values)))
        if len(different) > 1:
            found.append(rule.format(format_list(different)))
    if len({frozenset(arm.seeds) for arm in arms}) > 1:
        seeds = "; ".join(f"{arm.name} {', '.join(map(str, arm.seeds))}" for arm in arms)
        found.append(f"Arms do not have the same seeds: {seeds}.")
    return tuple(filter(None, found))


def _floors(arm: Arm) -> str:
    """Caution against features that tell classes apart no better than untrained ones."""
    floors = [arm.values[key] for key in _FLOORS if key in arm.values]
    if "knn_error" not in arm.values or not floors:
        return ""
    least = [min(together) for together in zip(*floors, strict=True)]
    if all(ours < floor for ours, floor in zip(arm.values["knn_error"], least, strict=True)):
        return ""
    return (
        f"The budget was too small: nearest neighbors by the features of {arm.name} are "
        "wrong as often as by raw pixels or an untrained network."
    )
