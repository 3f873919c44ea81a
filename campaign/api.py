"""API calls drawn by hypothesis over every public name, judged by slow oracles.

A good call must agree with its oracle (`campaign.oracles`). A bad one, in which one argument is
anything, must be a `ValueError` that begins with the name of what refused it.
"""

import inspect
import math
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import softaug
from campaign.attempts import Outcome, Part
from campaign.oracles import GOOD, Count, Data, Quick
from softaug import DrawKey, MixedLabel, OnlineSmoothing, SoftLabel, SoftLoss, confidence, retained
from softaug.label import mix_labels

EXAMPLES = 20  # of hypothesis in an attempt
REPEATS = 20  # of each, with values from a seed that it draws
NASTY: list[Any] = [
    *(math.nan, math.inf, -math.inf, -1, 0, 1, 2, 0.5, -0.5, 1e-300, 1e300, 10**400, -(10**400)),
    *(None, "a", "", True, False, [], (), [1.0], (0.1, 0.2), (0.2, 0.1), {}, 1j, b"x", object()),
    *(np.float32(0.25), np.int64(3), np.array([1.0, 2.0]), torch.tensor(0.5), torch.ones(2)),
    *(torch.tensor([math.nan]), torch.ones(2, dtype=torch.float8_e4m3fn), torch.tensor([1 + 1j])),
]

CLASSES = [
    *(softaug.SoftCrop, softaug.UniformCrop, softaug.SoftErase, softaug.SoftCutout),
    *(softaug.SoftNoise, softaug.SoftAffine, softaug.SoftPolicy, softaug.SoftResizedCrop),
    *(softaug.UniformResizedCrop, softaug.SoftLoss, softaug.SoftBCELoss, softaug.Mixup),
    *(softaug.CutMix, softaug.OnlineSmoothing),
]
REQUIRED = {"size": 8, "num_classes": 4, "length": 4, "policy": "trivial"}


WHO = [
    *(kind.__name__ for kind in CLASSES),
    *("retained", "confidence", "SoftLabel", "MixedLabel", "pair_weight", "mix_labels"),
]


def bad_settings(data: Data, count: Count) -> None:
    """One setting of one class is anything; what is not refused must work."""
    kind = data.choice(CLASSES)
    names = list(inspect.signature(kind.__init__).parameters)[1:]
    name, value = data.choice(names), data.choice(NASTY)
    settings_ = {other: REQUIRED[other] for other in names if other in REQUIRED} | {name: value}
    made = refused_or(count, kind.__name__, kind, **settings_)
    if made is None or not hasattr(made, "draw") or kind in (softaug.Mixup, softaug.CutMix):
        return
    images = torch.rand(2, 3, 8, 8)
    answer = refused_or(count, kind.__name__, made, images, torch.tensor([0, 1]))
    if answer is not None:
        assert answer[1].retained.isfinite().all(), (kind, name, value)


def bad_input(data: Data, count: Count) -> None:
    """One argument of one function or call is anything."""
    value, position = data.choice(NASTY), data.integer(0, 3)
    label = SoftLabel(torch.tensor([0, 1]), torch.tensor([0.5, 1.0]))
    images, logits, boxes = torch.rand(2, 3, 8, 8), torch.zeros(2, 4), torch.tensor([[0, 0, 2, 2]])
    mixed = MixedLabel(torch.zeros(2, 2).long(), torch.ones(2, 2), torch.full((2, 2), 0.5))
    key, crop = DrawKey(0, 0, torch.tensor([0, 1])), softaug.SoftCrop()
    calls: list[tuple[str, Callable[..., Any], list[Any]]] = [
        ("retained", retained, [0.5, 2.0]),
        ("confidence", confidence, [0.5, 10]),
        ("SoftLabel.dense", lambda a, b, c: SoftLabel(a, b).dense(c), [*label, 4]),
        ("MixedLabel.dense", lambda a, b, c: MixedLabel(a, b, c).dense(4), [*mixed]),
        ("SoftLoss", lambda a, b, c: SoftLoss()(a, SoftLabel(b, c)), [logits, *label]),
        ("SoftLoss", lambda a, b: SoftLoss()(a, b), [logits, label.label]),
        ("SoftLoss", lambda a, b, c: SoftLoss()(logits, MixedLabel(a, b, c)), [*mixed]),
        ("SoftBCELoss", lambda a, b: softaug.SoftBCELoss()(a, b), [logits, logits]),
        ("pair_weight", lambda a, b, c: softaug.pair_weight(a, b, c), [boxes, boxes, 2.0]),
        ("SoftCrop", lambda a, b, c: crop(a, SoftLabel(b, c), key=key), [images, *label]),
        ("SoftCrop", lambda a, b, c: crop(images, label, key=DrawKey(a, b, c)), [*key[:3]]),
        ("SoftErase", lambda a, b: softaug.SoftErase()(a, b), [images, label.label]),
        ("CutMix", lambda a, b: softaug.CutMix()(a, b), [images, label.label]),
        ("Mixup", lambda a, b, c: softaug.Mixup()(a, SoftLabel(b, c)), [images, *label]),
        ("mix_labels", mix_labels, [label, label, 0.5]),
        ("OnlineSmoothing", lambda a, b: OnlineSmoothing(4).gather(a, b), [logits, label.label]),
    ]
    who, function, arguments = data.choice(calls)
    arguments[position % len(arguments)] = value
    refused_or(count, who, function, *arguments)


def refused_or(count: Count, who: str, function: Any, *rest: Any, **named: Any) -> Any:
    """Return what a call returns, None if it refuses; anything else is a failure."""
    try:
        return count.call(function, *rest, **named)
    except ValueError as refused:
        text = str(refused)
        assert text.startswith(tuple(WHO)), text
        return None
    except Exception as error:
        call = f"{who}(*{rest}, **{named})"
        raise AssertionError(f"{call[:300]}: {type(error).__name__}: {error}") from None


CASES = {
    case.__name__: case
    for case in (
        *GOOD,
        *(bad_settings, bad_input),
    )
}


def prepare(folder: Path) -> SimpleNamespace:
    """Nothing is needed."""
    return SimpleNamespace()


def attempt(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Let hypothesis draw examples of one case, and shrink one that fails."""
    name = draw.choice(list(CASES))
    count = Count()

    @hypothesis.seed(draw.randrange(2**32))
    @settings(
        max_examples=EXAMPLES, database=None, deadline=None, print_blob=False,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def examples(data: Any) -> None:
        CASES[name](Data(data.draw), count)
        seed = data.draw(st.integers(0, 2**63))
        for number in range(REPEATS):
            CASES[name](Quick(seed + number), count)

    try:
        examples()
    except Exception as error:
        notes = "; ".join(getattr(error, "__notes__", []))
        parts = getattr(error, "exceptions", [error])  # of a group
        text = "; ".join(f"{name}: {type(one).__name__}: {one}"[:300] for one in parts)
        return Outcome(count.num, f"{text}\n{notes[:500]}", (name,))
    return Outcome(count.num, "", (name,))


PART = Part("api", "API calls", 1_000_000, 0.14, prepare, attempt)
