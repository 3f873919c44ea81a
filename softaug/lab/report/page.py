"""One self-contained HTML page from one result file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from softaug.lab.report import palette
from softaug.lab.report.figures.curves import softening_curves
from softaug.lab.report.figures.occlusion import occlusion_curves
from softaug.lab.report.figures.offsets import axis_limit, drawn_offsets, mean_visible
from softaug.lab.report.figures.reliability import arm_bins, means, reliability_diagram
from softaug.lab.report.figures.samples import sample_views
from softaug.lab.report.headline import headline
from softaug.lab.report.results import Results, check_results, read_results
from softaug.lab.report.summary import Summary, summarise
from softaug.lab.report.table import num_seeds, run_rows, table_rows


def write_report(results: Path) -> Path:
    """Write `report.html` beside a result file (given itself or its folder); return its path.

    The page needs no network and no other file; equal results give equal bytes.
    """
    page = render(read_results(results))
    out = (results if results.is_dir() else results.parent) / "report.html"
    part = out.with_name(out.name + ".part")
    part.write_text(page, encoding="utf-8", newline="\n")
    os.replace(part, out)
    return out


def render(results: Mapping[str, Any]) -> str:
    """The page as text."""
    checked = check_results(results)
    summary = summarise(results)
    settings = checked["settings"]
    return (
        environment()
        .get_template("comparison.html")
        .render(
            results=checked,
            summary=summary,
            num_seeds=num_seeds(summary),
            headline=headline(results),
            rows=table_rows(summary),
            every_run=run_rows(checked["arms"]),
            curves=softening_curves(checked["curves"], settings["k"]),
            occlusion=occlusion_curves(summary, settings["num_classes"]),
            arms=_arm_views(checked, summary),
            samples=sample_views(checked["samples"]),
            colours=(*palette.PAGE, *palette.SERIES),
        )
    )


def _arm_views(results: Results, summary: Summary) -> list[dict[str, object]]:
    """What the template shows of each arm."""
    size = results["settings"]["image_size"]
    limit = axis_limit(results["arms"], size)
    views = []
    for index, arm in enumerate(results["arms"]):
        bins = arm_bins(arm)
        view = {
            "arm": arm,
            "offsets": drawn_offsets(arm, index, size, limit),
            "mean_visible": mean_visible(arm, size),
            "reliability": reliability_diagram(arm, index),
            "bins": bins,
            "means": means(bins),
            "ece": summary.arms[index].estimates["ece"],
        }
        views.append(view)
    return views


def environment() -> Environment:
    """The templates and their filters."""
    found = Environment(
        loader=PackageLoader("softaug.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["percent"] = lambda share, digits=0: f"{100 * share:.{digits}f}"
    found.filters["number"] = lambda value: f"{value:,}"
    found.filters["plain"] = _plain
    return found


def _plain(value: object) -> str:
    """A setting as text: strings as they are, all else as JSON."""
    if value is None:
        return "not known"
    return value if isinstance(value, str) else json.dumps(value)
