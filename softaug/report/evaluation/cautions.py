"""What makes a comparison less fair than its table looks."""

from collections.abc import Iterator

from softaug.report.evaluation.settings import recipe_settings
from softaug.report.evaluation.shapes import Arm, Comparison, Evaluation
from softaug.report.headline import join


def cautions(comparison: Comparison) -> list[str]:
    """Sentences about runs that were not trained or measured alike; none if all were."""
    arms = comparison["arms"]
    every = [evaluation for arm in arms for evaluation in arm["evaluations"]]
    found = [_seeds_differ(arm) for arm in arms]
    found += [_draws(every), _temperature(every), _members(every), _seeds(arms)]
    return [sentence for sentence in found if sentence]


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
