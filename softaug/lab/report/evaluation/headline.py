"""What came out, in words, by rule."""

from dataclasses import dataclass

from softaug.lab.evaluation.stats import Estimate, seed_interval
from softaug.lab.report.evaluation.shapes import Arm, Comparison, Measure, Pair, show, signed
from softaug.lab.report.evaluation.tables import (
    SIGNS,
    difference,
    image_ends,
    judged,
    plural,
    range_text,
    split_images,
)
from softaug.lab.report.headline import join

KEYS = ("error", "nll", "ece_15", "occlusion/0.4")


@dataclass(frozen=True)
class Line:
    """One measure of a pair: the sign and word of its verdict, and the difference."""

    sign: str
    word: str
    name: str
    phrase: str


@dataclass(frozen=True)
class Finding:
    """One arm against another, or one arm alone: a sentence, then a line for each measure."""

    sentence: str
    lines: tuple[Line, ...]
    note: str


def findings(comparison: Comparison) -> list[Finding]:
    """One for each pair; where there is none, one for each arm."""
    measures = [m for key in KEYS for m in comparison["measures"] if m["key"] == key]
    if comparison["pairs"]:
        images = split_images(comparison["arms"][0]["evaluations"][0])
        return [_finding(pair, measures, images) for pair in comparison["pairs"]]
    return [_alone(arm, measures) for arm in comparison["arms"]]


def in_words(measure: Measure) -> str:
    """A label as it stands in a sentence.

    >>> in_words({"key": "", "label": "Accuracy, 40% hidden, %", "percent": True, "digits": 1,
    ...     "higher_is_better": True})
    'accuracy, 40% hidden'
    """
    name = measure["label"].removesuffix(", %")
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


def _finding(pair: Pair, measures: list[Measure], images: str) -> Finding:
    held: dict[str, list[str]] = {}
    for measure in measures:
        word = pair["verdicts"][measure["key"]]["word"]
        held.setdefault(word, []).append(in_words(measure))
    words = [f"{word} in {join(held[word])}" for word in SIGNS if word in held]
    sentence = f"{pair['arm']} against {pair['against']}: {'; '.join(words)}."
    return Finding(sentence, tuple(_line(pair, m) for m in measures), _note(pair, images))


def _line(pair: Pair, measure: Measure) -> Line:
    key = measure["key"]
    verdict, found, interval = pair["verdicts"][key], difference(pair, key), judged(pair, key)
    if verdict["over"] == "images" and interval is not None:
        found = interval.value
    phrase = "not known" if found is None else signed(measure, found)
    phrase += " points" if measure["percent"] and found is not None else ""
    if interval is not None:
        phrase += f", 95 % interval {range_text(measure, interval)}"
    phrase += f", n = {plural(verdict['n'], verdict['over'].removesuffix('s'))}"
    return Line(SIGNS[verdict["word"]], verdict["word"], in_words(measure), phrase)


def _note(pair: Pair, images: str) -> str:
    counts = [found["n"] for found in pair["by_seed"].values()]
    tested = f"Measured on {images}."
    if not counts or max(counts) < 2:
        return f"{tested} One pair of runs only: another seed may turn any of these."
    reach = seed_interval(Estimate(0.0, 1.0, max(counts))).high
    return (
        f"{tested} Over {max(counts)} seeds, a difference must be more than {reach:.1f} standard "
        "errors to be called better or worse."
    )


def _alone(arm: Arm, measures: list[Measure]) -> Finding:
    images = split_images(arm["evaluations"][0])
    lines = tuple(_alone_line(arm, measure) for measure in measures)
    sentence = f"{arm['name']}: {', '.join(f'{one.name} {one.phrase}' for one in lines[:1])}."
    note = f"Measured on {images}; {plural(len(arm['seeds']), 'seed')}. "
    return Finding(sentence, lines, note + "There is one arm only, so nothing to compare.")


def _alone_line(arm: Arm, measure: Measure) -> Line:
    found = arm["estimates"][measure["key"]]
    unit = " %" if measure["percent"] else ""
    phrase = show(measure, found["mean"]) + unit
    if found["se"] is not None:
        phrase += f" ± {show(measure, found['se'])}"
    elif ends := image_ends(measure, arm):
        phrase += f" (95 % interval over images {ends})"
    return Line("", "", in_words(measure), phrase)
