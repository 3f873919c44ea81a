"""What makes a page less sure or a comparison less fair than its table looks."""

from collections.abc import Iterator

from softaug.lab.report.evaluation.settings import recipe_settings
from softaug.lab.report.evaluation.shapes import Arm, Comparison, Evaluation
from softaug.lab.report.headline import join

_FLOORS = ("knn_untrained_error", "knn_pixels_error")


def cautions(comparison: Comparison) -> list[str]:
    """Sentences about runs that were not trained to their end or too little, not measured on a
    test set, or not trained or measured alike; none if all is well.
    """
    arms = comparison["arms"]
    every = [evaluation for arm in arms for evaluation in arm["evaluations"]]
    found = [_unfinished(arms), _no_test(every), *map(_floors, arms)]
    found += [_seeds_differ(arm) for arm in arms]
    found += [_draws(every), _temperature(every), _members(every), _seeds(arms)]
    return [sentence for sentence in found if sentence]


def _unfinished(arms: list[Arm]) -> str:
    told = [
        f"{arm['name']}, seed {member['seed']}, at step {member['step']:,} of "
        f"{member['num_steps']:,}"
        for arm in arms
        for evaluation in arm["evaluations"]
        for member in evaluation["members"]
        if not member["finished"]
    ]
    return f"Training was not finished: {'; '.join(told)}." if told else ""


def _no_test(evaluations: list[Evaluation]) -> str:
    split = evaluations[0]["split"]
    if split == "test":
        return ""
    return (
        f"All was measured on {split} images, which were held out of the training set, not on a "
        "test set. Settings that were chosen by them make them look too good."
    )


def _floors(arm: Arm) -> str:
    """Features that tell classes apart no better than what nobody trained."""
    values = arm["values"]
    floors = [values[key] for key in _FLOORS if key in values]
    if "knn_error" not in values or not floors:
        return ""
    least = [min(together) for together in zip(*floors, strict=True)]
    if all(ours < floor for ours, floor in zip(values["knn_error"], least, strict=True)):
        return ""
    return (
        f"The budget was too small: nearest neighbours by the features of {arm['name']} are "
        "wrong as often as by raw pixels or an untrained network."
    )


def _seeds_differ(arm: Arm) -> str:
    unlike = [key for key, values in recipe_settings(arm).items() if len(set(values)) > 1]
    told = join(unlike)
    return f"Runs of {arm['name']} differ in more than the seed: {told}." if unlike else ""


def _draws(evaluations: list[Evaluation]) -> str:
    counts = sorted({o["draws"] for e in evaluations for o in e["robustness"].values()})
    told = join(list(map(str, counts)))
    return f"Harmed images were drawn {told} times, not alike in all runs." if counts[1:] else ""


def _temperature(evaluations: list[Evaluation]) -> str:
    ways = dict.fromkeys(evaluation["temperature"]["how"] for evaluation in evaluations)
    told = "; ".join(ways)
    return f"Temperatures were not fitted alike in all runs: {told}." if len(ways) > 1 else ""


def _members(evaluations: list[Evaluation]) -> str:
    counts = sorted({len(evaluation["members"]) for evaluation in evaluations})
    told = join(list(map(str, counts)))
    return f"Ensembles of different size are compared: {told} networks." if counts[1:] else ""


def _seeds(arms: list[Arm]) -> str:
    def lone() -> Iterator[str]:
        for arm in arms:
            others = [set(other["seeds"]) for other in arms if other is not arm]
            if any(set(arm["seeds"]) != seeds for seeds in others):
                yield f"{arm['name']} {', '.join(map(str, arm['seeds']))}"

    told = "; ".join(lone())
    return f"Arms do not have the same seeds: {told}." if told else ""
