"""What the commands print."""

from collections.abc import Mapping, Sequence

from rich.table import Table
from torch import Tensor

from softaug.curves.measure import CROP
from softaug.curves.operation_fit import OperationFit

HEADS = ("operation", "loss", "± s.e.", "k", "± s.e.", "misfit", "at full strength, %")


def fit_table(fits: Mapping[str, OperationFit], whole: float) -> Table:
    """Loss and k of each operation with their errors, and accuracy where it is strongest."""
    table = Table(title=f"accuracy on whole images: {100 * whole:.1f} %", title_justify="left")
    per_class = any(isinstance(found.curve.k, tuple) for found in fits.values())
    for head in (*HEADS, "k of classes") if per_class else HEADS:
        table.add_column(head, justify="left" if head == "operation" else "right")
    for name, found in fits.items():
        table.add_row(name, *_numbers(name, found), *_range(found))
    return table


def _numbers(name: str, found: OperationFit) -> list[str]:
    return [
        f"{found.curve.loss:.3f}",
        "fixed" if name == CROP else f"{found.loss_error:.3f}",
        f"{found.common_k:.2f}",
        f"{found.k_error:.2f}",
        f"{found.misfit:.3f}",
        f"{100 * found.accuracy[-1]:.1f}",
    ]


def _range(found: OperationFit) -> list[str]:
    """From the least k of a class to the largest, where classes have their own."""
    k = found.curve.k
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
