"""Priors of soft labels: where the mass goes that is taken from the true class, by class."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field, JsonValue, field_validator
from torch import Tensor

from softaug.checks import check_share, refuse
from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES
from softaug.lab.schema import ResultFile, Share, read

COARSE = "coarse"
CONFUSION = "confusion"
NAMED = ("uniform", COARSE, CONFUSION)  # all others are files
_FOLDER = Path(__file__).with_name("priors")  # of `softaug curves confusion`, by data set


class PriorFile(ResultFile):
    """A row of shares for each true class."""

    remedy: ClassVar[str] = "make one with `softaug curves confusion`"
    written_as_schema_1: ClassVar[bool] = True
    kind: Literal["prior"] = "prior"
    class_names: list[str]
    rows: list[list[Share]]
    about: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("rows")
    @classmethod
    def _check_rows(cls, rows: list[list[Share]]) -> list[list[Share]]:
        for label, row in enumerate(rows):
            if len(row) != len(rows):
                raise ValueError(f"there must be a column for each row, got {len(row)}")
            if abs(sum(row) - 1) >= 1e-4:
                raise ValueError(f"each row must sum to 1, got {sum(row)} (class {label})")
        return rows


def read_prior(source: str, class_names: Sequence[str]) -> Tensor:
    """Read the prior [C, C] for `SoftLoss(prior=...)`, checked against the data's classes.

    `source` is a file of `softaug curves confusion`, "confusion" for the one of these classes that
    comes with softaug, or "coarse": CIFAR-100's groups.
    """
    if source == COARSE:
        return coarse_prior(class_names).float()
    prior = _find_shipped(class_names) if source == CONFUSION else read(Path(source), PriorFile)
    if prior.class_names != list(class_names) or len(prior.rows) != len(class_names):
        rule = f"the prior must be for the data's {len(class_names)} classes, in order"
        refuse(source, rule, ", ".join(prior.class_names[:5]), prior.remedy)
    table = torch.tensor(prior.rows, dtype=torch.float64)
    return (table / table.sum(1, keepdim=True)).float()


def _find_shipped(class_names: Sequence[str]) -> PriorFile:
    """Return the prior of these classes that comes with softaug."""
    files = {path.stem: read(path, PriorFile) for path in sorted(_FOLDER.glob("*.json"))}
    found = [file for file in files.values() if file.class_names == list(class_names)]
    if not found:
        rule = f"a confusion prior comes with softaug for {', '.join(files)}"
        refuse(CONFUSION, rule, ", ".join(class_names[:5]), PriorFile.remedy)
    return found[0]


def coarse_prior(class_names: Sequence[str]) -> Tensor:
    """Spread the mass over the five classes of the true class's group, itself included.

    A tenth of it goes to all 100 classes equally.
    """
    joined = hashlib.sha256("\n".join(class_names).encode()).hexdigest()
    if joined != RELEASES["cifar100"].names_sha256["fine"]:
        remedy = 'only its classes have groups; use "uniform" or a file'
        refuse("coarse_prior", "the classes must be CIFAR-100's, in order", class_names[0], remedy)
    group = torch.tensor(COARSE_OF_FINE)
    return confusion_prior((group[:, None] == group).double())


def confusion_prior(counts: Tensor, smoothing: float = 0.1) -> Tensor:
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
    names = list(class_names)
    return PriorFile(class_names=names, rows=rows.tolist(), about=about).model_dump()
