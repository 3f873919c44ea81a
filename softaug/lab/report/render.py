"""A page as one self-contained HTML file; figures inline, as files and for print.

The page needs no network, has light and dark colors and is accessible. Its figures are inline SVG;
files are SVG and PNG, for print PDF and PNG.
"""

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib import style
from matplotlib.figure import Figure as MplFigure

from softaug.lab.report.model import Figure, Page, one_line
from softaug.lab.report.style import (
    FILE,
    INLINE,
    PAGE,
    PRINT,
    PRINT_LETTERS,
    SERIES,
    css_colors,
    page_color,
    print_color,
)

_FILE_DPI, _PRINT_DPI = 200, 300


def render_html(page: Page) -> str:
    """Return the page as text; equal pages give equal text."""
    templates = Environment(
        loader=PackageLoader("softaug.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.tests["instance"] = lambda value, name: type(value).__name__ == name
    script = templates.get_template("tables.js").render()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = templates.get_template("page.html").render(
        page=page,
        svg=inline_svg,
        colors=(*PAGE, *SERIES),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )
    return text.lstrip()


def inline_svg(figure: Figure, *, wide: bool = False) -> Markup:
    """Return an SVG element that follows the page's light and dark colors.

    Equal figures give equal text; every id inside starts with the figure's name.
    """
    buffer = io.BytesIO()
    width = figure.wide if wide else figure.width
    with _styled(INLINE):
        drawn = MplFigure(figsize=(width / 72, figure.height / 72), layout="constrained")
        figure.draw(drawn, page_color)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        drawn.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ElementTree.fromstring(buffer.getvalue())
    _clean(root)
    _prefix_ids(root, f"{figure.name}-wide" if wide else figure.name)
    _set_root(root, figure.alt)
    for element in root.iter():
        element.text = element.text and element.text.strip()
        element.tail = None
    return Markup(_adapt_styles(_number_ids(ElementTree.tostring(root, encoding="unicode"))))


def figure_files(figure: Figure) -> dict[str, bytes]:
    """Return {"svg": ..., "png": ...} on white; equal figures give equal SVG."""
    with _styled(FILE):
        width = figure.wide or figure.width
        drawn = MplFigure(figsize=(width / 72, figure.height / 72), layout="constrained")
        figure.draw(drawn, print_color)
        found = _save(drawn, figure, ("svg", "png"), _FILE_DPI)
    return {**found, "svg": _number_ids(found["svg"].decode()).encode()}


def print_files(figure: Figure, mark: str = "") -> dict[str, bytes]:
    """Return {"pdf": ..., "png": ...}: on white, letters of 7 points, 300 dots an inch."""
    with _styled(PRINT):
        return _save(draw_for_print(figure, mark), figure, ("pdf", "png"), _PRINT_DPI)


def draw_for_print(figure: Figure, mark: str = "") -> MplFigure:
    """Return the printed figure; `mark` stands small at its top right."""
    with _styled(PRINT):
        size = (figure.width / 72, figure.height / 72)
        drawn = MplFigure(figsize=size, dpi=_PRINT_DPI, layout="constrained")
        figure.draw(drawn, print_color)
        if mark:
            drawn.suptitle(mark, x=0.99, ha="right", fontsize=PRINT_LETTERS, fontstyle="italic")
        for _ in range(2):  # axes of fixed shape find their place in the second
            drawn.draw_without_rendering()
        drawn.set_layout_engine("none")
    return drawn


def _save(drawn: MplFigure, figure: Figure, kinds: tuple[str, ...], dpi: int) -> dict[str, bytes]:
    """Save in several formats, laid out by the first so that all are alike."""
    found = {}
    for kind in kinds:
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=kind, dpi=dpi, metadata=_metadata(figure, kind))
        found[kind] = buffer.getvalue()
        drawn.set_layout_engine("none")
    return found


def _metadata(figure: Figure, kind: str) -> dict[str, Any]:
    """Return the text alternative as each format holds it, and no date or version."""
    text = one_line(figure.alt)
    if kind == "png":
        latin = text.encode("latin-1", "replace").decode("latin-1")
        return {"Software": None, "Description": latin}
    if kind == "pdf":
        return {**dict.fromkeys(("Creator", "Producer", "CreationDate")), "Subject": text}
    return {"Date": None, "Creator": None, "Title": figure.name, "Description": text}


def _number_ids(text: str) -> str:
    """Count ids up: matplotlib's are hashes, which differ with the last bit of a layout."""
    hashes = dict.fromkeys(re.findall(r'id="(?:[\w-]*-)?([chmp][0-9a-f]{10})"', text))
    numbers = {name: f"{name[0]}{place}" for place, name in enumerate(hashes)}
    return re.sub(r"[chmp][0-9a-f]{10}\b", lambda found: numbers.get(found[0], found[0]), text)


@contextmanager
def _styled(settings: dict[str, Any]) -> Iterator[None]:
    """Draw in a style; class names may be in any script, and DejaVu lacks some letters."""
    with style.context(["default", settings]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _clean(root: Element) -> None:
    """Drop what is not seen, and make names plain for HTML: `xlink:href` is today's `href`."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: v for key, v in element.attrib.items()}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in ("metadata", "style")]:
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
    """Use CSS variables for stand-in colors, the page's font for matplotlib's, short numbers."""
    for stand_in, css in css_colors().items():
        text = text.replace(stand_in, css)
    # matplotlib 3.11 writes font-size and font-family apart, older ones one `font`.
    text = re.sub(r"font: (?:[a-z0-9]+ )*?([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*;? ?", "", text)
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", text)
