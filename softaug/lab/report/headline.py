"""What the numbers say, in words, by rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from softaug.lab.evaluation.stats import Estimate, Word
from softaug.lab.report.results import Arm, Results, check_results
from softaug.lab.report.summary import Comparison, Metric, Summary, compare, metrics_of, summarise


@dataclass(frozen=True)
class Finding:
    """One arm against another: a sentence that counts, and the measures under each verdict."""

    arm: str
    against: str
    n: int
    sentence: str
    measures: dict[Word, list[tuple[str, str]]]  # name and difference


@dataclass(frozen=True)
class Headline:
    """Which arm has the best mean in what, and the soft arm against each other arm."""

    best: str
    findings: tuple[Finding, ...]


def headline(results: Mapping[str, Any]) -> Headline:
    """The same words for the page and the terminal, derived from the numbers alone."""
    checked = check_results(results)
    soft = soft_arm(checked)
    others = [arm for arm in checked["arms"] if arm is not soft]
    # Accuracy at 0 % occlusion is the error once more: it must not count twice.
    metrics = [metric for metric in metrics_of(soft) if metric.key != "occlusion/0"]
    findings = (_finding(compare(soft, other), metrics) for other in others)
    return Headline(_best(summarise(results)), tuple(findings))


def soft_arm(results: Results) -> Arm:
    """The arm the page is about: the first named "soft ...", else the last."""
    named = [arm for arm in results["arms"] if arm["name"].lower().startswith("soft")]
    return named[0] if named else results["arms"][-1]


def _best(summary: Summary) -> str:
    """The measures each arm leads in; where arms tie, all of them are named."""
    led: dict[str, list[Metric]] = {}
    for metric in summary.metrics:
        led.setdefault(join(summary.best(metric)), []).append(metric)
    shares = (f"{arms or 'no arm'} in {_names(metrics)}" for arms, metrics in led.items())
    return f"Best mean: {'; '.join(shares)}."


def _names(metrics: list[Metric]) -> str:
    """Names joined, with the occlusion levels gathered behind one "accuracy at"."""
    plain = [metric.name for metric in metrics if "/" not in metric.key]
    levels = [metric.key.partition("/")[2] for metric in metrics if "/" in metric.key]
    return join([*plain, f"accuracy at {join(levels)} % occlusion"] if levels else plain)


def join(parts: list[str]) -> str:
    """Words as a list in a sentence.

    >>> join(["error", "NLL", "ECE"])
    'error, NLL and ECE'
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def capital(text: str) -> str:
    """The text with its first letter large, the others as they are."""
    return text[:1].upper() + text[1:]


def _finding(comparison: Comparison, metrics: list[Metric]) -> Finding:
    measures: dict[Word, list[tuple[str, str]]] = {verdict: [] for verdict in get_args(Word)}
    for metric in metrics:
        if metric.key in comparison.verdicts:
            phrase = difference_phrase(metric, comparison.differences[metric.key])
            measures[comparison.verdicts[metric.key]].append((metric.name, phrase))
    seeds = {difference.n for difference in comparison.differences.values()} or {0}
    sentence = _sentence(comparison, {name: len(held) for name, held in measures.items()})
    return Finding(comparison.arm, comparison.against, max(seeds), sentence, measures)


def _sentence(comparison: Comparison, counts: dict[Word, int]) -> str:
    arm, against = capital(comparison.arm), comparison.against
    if not comparison.differences:
        return f"{arm} and {against} share no seed: they cannot be paired."
    if all(difference.n == 1 for difference in comparison.differences.values()):
        return f"{arm} and {against} share one seed only: no uncertainty, so no verdict."
    total = sum(counts.values())
    untested = f", not tested in {counts['not tested']}" if counts["not tested"] else ""
    return (
        f"{arm} against {against}: better in {counts['better']} of {total} measures, worse in "
        f"{counts['worse']}, no difference shown in {counts['no difference shown']}{untested}."
    )


def difference_phrase(metric: Metric, difference: Estimate) -> str:
    """A difference as words: size, standard error and direction.

    >>> ece = Metric("ece", "ECE", "ECE", percent=True, digits=2)
    >>> difference_phrase(ece, Estimate(-0.012, 0.001, 3))
    '1.20 ± 0.10 points lower'
    """
    if difference.mean == 0:
        return "equal"
    size = metric.show(abs(difference.mean))
    spread = "" if difference.se is None else f" ± {metric.show(difference.se)}"
    direction = "higher" if difference.mean > 0 else "lower"
    return f"{size}{spread}{' points' if metric.percent else ''} {direction}"
