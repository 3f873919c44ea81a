"""What a suite returns: rows of ratios, and the bounds they must keep."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from softaug.bench.timing import Spread, Timing

MISSING = "not installed (pip install 'softaug[peers]')"


@dataclass(frozen=True)
class Row:
    """One variant: its cost in units of the base, and in the table's own unit."""

    name: str
    ratio: Spread | None = None
    amount: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Bound:
    """A promise about one number: at most `limit`, or at least."""

    rule: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether it is kept; a NaN never is."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(frozen=True)
class Table:
    """A suite's result. `per` names what a ratio of 1 costs; `unit` is that of the amounts."""

    title: str
    per: str
    unit: str
    rows: list[Row]
    bounds: list[Bound] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers and strings."""
        kept = [{**asdict(bound), "passed": bound.passed} for bound in self.bounds]
        return {**asdict(self), "bounds": kept}


def timing_rows(timing: Timing, base: str, missing: Iterable[str] = ()) -> list[Row]:
    """A row in milliseconds for each variant, then one for each peer that is not installed."""
    rows = [
        Row(name, timing.ratio(name, base), timing.median(name) * 1000) for name in timing.seconds
    ]
    return rows + [Row(name, note=MISSING) for name in missing]
