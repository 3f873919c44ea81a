"""What the commands print."""

from collections.abc import Mapping, Sequence

import torch
from rich.table import Table
from torch import Tensor

from softaug.curves.measure import CROP
from softaug.curves.operation_fit import OperationFit
from softaug.transforms.curves import AnyCurve, Curve, TableCurve

HEADS = ("operation", "loss", "± s.e.", "k", "± s.e.", "misfit", "right at full, %")
TABLE_HEADS = ("operation", "retained at half", "at full", "misfit", HEADS[-1])
BOUND = "bound"  # of its range, where resamples stay: no error is known


def fit_table(fits: Mapping[str, OperationFit], whole: float) -> Table:
    """What the curve of each operation says, with errors, and accuracy where it is strongest."""
    table = Table(title=f"accuracy on whole images: {100 * whole:.1f} %", title_justify="left")
    for head in _heads(next(iter(fits.values())).curve):
        first = head == "operation"  # never cut, however narrow the terminal
        table.add_column(head, justify="left" if first else "right", no_wrap=first)
    for name, found in fits.items():
        end = f"{found.misfit:.3f}", f"{100 * found.accuracy[-1]:.1f}"
        if isinstance(found.curve, TableCurve):
            table.add_row(name, *_shares(found.curve), *end)
        else:
            table.add_row(name, *_numbers(name, found), *end, *_range(found.curve))
    return table


def _heads(curve: AnyCurve) -> tuple[str, ...]:
    if isinstance(curve, TableCurve):
        return TABLE_HEADS
    return (*HEADS, "k of classes") if isinstance(curve.k, tuple) else HEADS


def _shares(curve: TableCurve) -> list[str]:
    return [f"{share:.3f}" for share in curve(torch.tensor([0.5, 1.0])).tolist()]


def _numbers(name: str, found: OperationFit) -> list[str]:
    loss_error = "fixed" if name == CROP else _error(found.loss_error, 3)
    k_error = _error(found.k_error, 2)
    return [f"{found.loss:.3f}", loss_error, f"{found.common_k:.2f}", k_error]


def _error(value: float | None, digits: int) -> str:
    return BOUND if value is None else f"{value:.{digits}f}"


def _range(curve: Curve) -> list[str]:
    """From the least k of a class to the largest, where classes have their own."""
    k = curve.k
    return [f"{min(k):.2f} to {max(k):.2f}"] if isinstance(k, tuple) else []


def prior_table(rows: Tensor, names: Sequence[str], num: int = 5) -> Table:
    """The likeliest wrong guesses for the first `num` classes."""
    table = Table("true class", "taken for")
    for label, name in enumerate(names[:num]):
        wrong = rows[label].clone()
        wrong[label] = 0
        shares, others = wrong.topk(min(4, len(names) - 1))
        guesses = zip(others.tolist(), shares.tolist(), strict=True)
        table.add_row(name, ", ".join(f"{names[other]} {share:.2f}" for other, share in guesses))
    return table
