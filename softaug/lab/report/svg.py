"""matplotlib figures as inline SVG: small, equal for equal input, light and dark."""

import io
import re
from collections.abc import Callable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from softaug.lab.report.palette import GRID, INK, css_colours

WIDTH = 260  # points: at a phone's 328 px a 9.5 pt letter is 12 px high

STYLE: dict[str, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "softaug",
    "font.family": "DejaVu Sans",  # for the layout only: the page's font takes its place
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.color": INK,
    "hatch.linewidth": 0.7,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
}


def draw_svg(name: str, alt: str, height: int, draw: Callable[[Figure], None]) -> Markup:
    """What `draw` puts on a figure, as an SVG element with `alt` as its text alternative.

    `name` must be unique on the page: every id inside starts with it.
    """
    buffer = io.BytesIO()
    with style.context(["default", STYLE]):
        figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
        draw(figure)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    _drop_namespaces(root)
    _drop_children(root, {"metadata", "style"})
    _prefix_ids(root, name)
    _set_root(root, alt)
    for element in root.iter():
        element.text = element.text and element.text.strip()
        element.tail = None
    text = ElementTree.tostring(root, encoding="unicode")
    return Markup(_adapt_styles(text))


def fraction_axis(axes: Axes, *, x: bool = False, y: bool = False) -> None:
    """Show shares 0..1 as 0, 20, ... 100."""
    for wanted, axis in ((x, axes.xaxis), (y, axes.yaxis)):
        if wanted:
            axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1], ["0", "20", "40", "60", "80", "100"])


def _drop_namespaces(root: Element) -> None:
    """Plain names, as HTML wants them; `xlink:href` is today's `href`."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: v for key, v in element.attrib.items()}


def _drop_children(root: Element, tags: set[str]) -> None:
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in tags]:
            parent.remove(child)


def _prefix_ids(root: Element, name: str) -> None:
    """Keep only the ids that something refers to, and make them unique on the page."""
    used: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            used.update(re.findall(r"url\(#([^)]+)\)", value))
            if key == "href" and value.startswith("#"):
                used.add(value.removeprefix("#"))
    for element in root.iter():
        kept = {key: _prefixed(key, value, name) for key, value in element.attrib.items()}
        if element.get("id") not in used:
            kept.pop("id", None)
        element.attrib = kept


def _prefixed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href" and value.startswith("#"):  # others are pictures: data URIs
        return f"#{name}-{value.removeprefix('#')}"
    return value.replace("url(#", f"url(#{name}-")


def _set_root(root: Element, alt: str) -> None:
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": alt,
        "style": "font-family: system-ui, sans-serif; stroke-linejoin: round",
    }


def _adapt_styles(text: str) -> str:
    """CSS variables for the stand-in colours, the page's font for matplotlib's, short numbers."""
    for stand_in, css in css_colours().items():
        text = text.replace(stand_in, css)
    # matplotlib 3.11 writes font-size and font-family apart, older ones one `font`.
    text = re.sub(r"font: (?:[a-z0-9]+ )*?([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*;? ?", "", text)
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
