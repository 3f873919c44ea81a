"""The shape of tableN.json and figureN.json: what a grid has collected for one exhibit."""

from typing import Literal, TypedDict

State = Literal[
    "complete", "partial", "diverged", "waiting", "no data", "not at this scale", "quoted"
]


class Quotable(TypedDict, total=False):
    """May say whose number it is: "" is the paper's own, else it quotes it."""

    source: str


class Published(Quotable):
    """A number of the paper in %, as it prints it; a standard error of 0 is its "<0.01".

    The value is null where the paper says that training diverged.
    """

    value: float | None
    se: float | None


class Measured(TypedDict):
    """Ours in %: one value a seed, their mean, and how many of the planned runs are done."""

    values: list[float]
    mean: float
    se: float | None
    n: int
    planned: int


class Diverged(TypedDict):
    """Our runs whose training diverged, by seed, of so many planned."""

    seeds: list[int]
    planned: int


class MayDiverge(TypedDict, total=False):
    """May tell of runs that diverged."""

    diverged: Diverged | None


class Cell(MayDiverge):
    """One number of a row: what is measured, on which images, the paper's and ours.

    `on` is "" for the test images as they are; `why` explains the state where it needs it.
    """

    measure: str
    on: str
    paper: Published | None
    ours: Measured | None
    state: str
    why: str


class Row(TypedDict):
    """A row of the paper's table; `baseline` is the label of the row that gains count from."""

    group: str
    label: str
    recipe: str | None
    baseline: str | None
    quoted: str | None
    cells: list[Cell]


class Exhibit(TypedDict):
    """The whole file of a table; a figure's file holds one part more."""

    schema: int
    name: str
    title: str
    scale: str
    complete: object  # true or false
    notes: list[str]
    environment: dict[str, object]
    rows: list[Row]


class Series(TypedDict):
    """A line of a panel: ours at each x (null where no run is done), and the paper's."""

    label: str
    x: list[float]
    mean: list[float | None]
    se: list[float | None]
    n: list[int]
    paper: list[float | None]


class Panel(TypedDict):
    """Axes with lines."""

    title: str
    x_label: str
    y_label: str
    lines: list[Series]


class Crop(TypedDict):
    """Draws of the crop of a row: offsets [dx, dy] in pixels, the confidence each target keeps."""

    label: str
    size: int
    offsets: list[list[float]]
    confidence: list[float]


class Panels(Exhibit):
    """Figures 3 and 5, and studies by budget."""

    panels: list[Panel]


class Crops(Exhibit):
    """Figure 1."""

    crops: list[Crop]


class Labelled(Exhibit, total=False):
    """May say how the arms are called; else they are called by their folders."""

    labels: list[str]


class Examples(Labelled):
    """Figures 4, 6 and 7: a run folder for each arm, relative to the file."""

    runs: list[str]
