"""Which drawing a figure of the paper is."""

from pathlib import Path
from typing import cast

from softaug.lab.report.exhibits.drawing import Drawing
from softaug.lab.report.exhibits.equations import softening_drawing
from softaug.lab.report.exhibits.panels import panels_drawing
from softaug.lab.report.exhibits.predictions import predictions_drawing
from softaug.lab.report.exhibits.ranges import ranges_drawing
from softaug.lab.report.exhibits.reading import SHAPES
from softaug.lab.report.exhibits.shapes import Crops, Examples, Exhibit, Panels


def draw_exhibit(exhibit: Exhibit, folder: Path) -> Drawing | None:
    """The figure of an exhibit whose file is in `folder`; None for tables and before any run."""
    shape = SHAPES.get(exhibit["name"])
    if shape is Crops:
        return ranges_drawing(cast(Crops, exhibit))
    if shape is Panels:
        return panels_drawing(cast(Panels, exhibit))
    if shape is Examples:
        return predictions_drawing(cast(Examples, exhibit), folder)
    return softening_drawing() if exhibit["name"] == "figure2" else None
