"""The paper's tables and figures, and studies of ours, as data: their recipes and numbers."""

from softaug.paper.exhibit import Cell, Exhibit, Line, Panel, Row
from softaug.paper.exhibits import exhibits, find_exhibits
from softaug.paper.scale import SCALES, Scale, at_scale

__all__ = [
    "SCALES",
    "Cell",
    "Exhibit",
    "Line",
    "Panel",
    "Row",
    "Scale",
    "at_scale",
    "exhibits",
    "find_exhibits",
]
