"""Priors of soft labels: where the mass goes that is taken from the true class, by class."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from softaug.checks import check_share, describe, refuse
from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES

SCHEMA = 1
COARSE = "coarse"
_SMOOTHING = 0.1
_REMEDY = "make one with `softaug curves confusion`"


def read_prior(source: str, class_names: Sequence[str]) -> Tensor:
    """Read the prior [C, C] for `SoftLoss(prior=...)`, checked against the data's classes.

    `source` is a file of `softaug curves confusion`, or "coarse": CIFAR-100's groups.

    >>> read_prior("coarse", ["cat", "dog"])
    Traceback (most recent call last):
        ...
    ValueError: coarse_prior: the classes must be CIFAR-100's 100, got 2
    """
    if source == COARSE:
        return coarse_prior(class_names).float()
    path = Path(source)
    content = _read(path)
    _check_names(path, content["class_names"], class_names)
    return _parse_rows(path, content["rows"], len(class_names))


def coarse_prior(class_names: Sequence[str], smoothing: float = _SMOOTHING) -> Tensor:
    """Spread the mass over the five classes of the true class's group, itself included.

    The share `smoothing` of it goes to all 100 classes equally.
    """
    if len(class_names) != len(COARSE_OF_FINE):
        refuse("coarse_prior", "the classes must be CIFAR-100's 100", len(class_names))
    joined = hashlib.sha256("\n".join(class_names).encode()).hexdigest()
    if joined != RELEASES["cifar100"].names_sha256["fine"]:
        remedy = 'only its classes have groups; use "uniform" or a file'
        refuse("coarse_prior", "the classes must be CIFAR-100's, in order", class_names[0], remedy)
    group = torch.tensor(COARSE_OF_FINE)
    return confusion_prior((group[:, None] == group).double(), smoothing)


def confusion_prior(counts: Tensor, smoothing: float = _SMOOTHING) -> Tensor:
    """Turn confusion counts [C, C], a row for each true class, into rows that sum to 1.

    The true class gets as much as the most frequent wrong class. That the network prefers it to
    others is information from the image, which `retained` counts; less would make a wrong class
    the most probable. The share `smoothing` goes to all classes equally.

    >>> counts = torch.tensor([[8.0, 2.0, 0.0], [0.0, 5.0, 5.0], [1.0, 1.0, 0.0]])
    >>> confusion_prior(counts, smoothing=0.0)
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.5000, 0.5000],
            [0.3333, 0.3333, 0.3333]], dtype=torch.float64)
    """
    check_share("confusion_prior", "smoothing", smoothing)
    others = counts.double().clone().fill_diagonal_(0)
    rows = others + others.max(1).values.diag()
    uniform = torch.full_like(rows, 1 / len(rows))
    total = rows.sum(1, keepdim=True)
    shares = torch.where(total > 0, rows / total, uniform)  # never confused: unknown
    return (1 - smoothing) * shares + smoothing * uniform


def describe_prior(
    rows: Tensor, class_names: Sequence[str], about: dict[str, Any]
) -> dict[str, Any]:
    """Build the content of a prior's file."""
    # Nine digits: rows of thousands of classes still sum to 1 within the tolerance.
    rounded = [[round(share, 9) for share in row] for row in rows.tolist()]
    names = list(class_names)
    return {
        "schema": SCHEMA,
        "kind": "prior",
        "class_names": names,
        "rows": rounded,
        "about": about,
    }


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        refuse("read_prior", f'source must be "coarse" or a file, {path}', "no such file", _REMEDY)
    try:
        content = json.loads(path.read_text())
    except ValueError as error:
        refuse("read_prior", f"{path} must be JSON", error, _REMEDY)
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind != "prior" or content.get("schema") != SCHEMA:
        rule = f'{path} must be of kind "prior", schema {SCHEMA}'
        got = f"kind {kind!r}, schema {content.get('schema')!r}" if kind else "something else"
        refuse("read_prior", rule, got, _REMEDY)
    if missing := {"class_names", "rows"} - content.keys():
        refuse("read_prior", f"{path} must have class_names and rows", f"no {min(missing)}")
    return dict(content)


def _check_names(path: Path, names: Any, wanted: Sequence[str]) -> None:
    if not isinstance(names, list) or len(names) != len(wanted):
        num = len(names) if isinstance(names, list) else describe(names)
        rule = f"{path} must be for the data's {len(wanted)} classes"
        refuse("read_prior", rule, f"one for {num}", _REMEDY)
    for label, (theirs, ours) in enumerate(zip(names, wanted, strict=True)):
        if theirs != ours:
            refuse("read_prior", f"class {label} of {path} must be {ours!r}", repr(theirs), _REMEDY)


def _parse_rows(path: Path, rows: Any, num_classes: int) -> Tensor:
    try:
        table = torch.tensor(rows, dtype=torch.float64)
    except (TypeError, ValueError) as error:
        refuse("read_prior", f"rows of {path} must be numbers", error)
    if table.shape != (num_classes, num_classes):
        refuse("read_prior", f"rows of {path} must be {[num_classes] * 2}", list(table.shape))
    if not bool((table >= 0).all()):
        refuse("read_prior", f"rows of {path} must not be negative", float(table.min()))
    total = table.sum(1)
    if not bool(((total - 1).abs() < 1e-4).all()):
        label = int((total - 1).abs().argmax())
        got = f"{float(total[label])} (class {label})"
        refuse("read_prior", f"rows of {path} must sum to 1", got, "divide each by its sum")
    return (table / total[:, None]).float()
