"""A page as one self-contained HTML file; figures inline and as files.

The page needs no network and no script, has light and dark colors and is accessible. Its figures
are inline SVG; files are SVG, PNG and PDF.
"""

import io
import re
import warnings
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib import style
from matplotlib.figure import Figure as MplFigure

from softaug.lab.report.model import Colors, Figure, Page, one_line, slug
from softaug.lab.report.style import (
    FILE,
    INLINE,
    PAGE,
    SERIES,
    css_colors,
    page_color,
    paper_color,
)

_SVG = '<svg xmlns="http://www.w3.org/2000/svg"'
_STYLE = "font-family: system-ui, sans-serif; stroke-linejoin: round"


def render_html(page: Page) -> str:
    """Return the page as text; equal pages give equal text."""
    templates = Environment(
        loader=PackageLoader("softaug.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["slug"] = slug
    templates.tests["instance"] = lambda value, name: type(value).__name__ == name
    template = templates.get_template("page.html")
    return template.render(page=page, svg=inline_svg, colors=(*PAGE, *SERIES)).lstrip()


def inline_svg(figure: Figure) -> Markup:
    """Return an SVG element that follows the page's light and dark colors.

    Equal figures give equal text; every id inside starts with the figure's name.
    """
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    (content,) = _save(figure, INLINE, page_color, {"svg": nothing}).values()
    text = content.decode()
    root = re.search(r"<svg .*?(viewBox=\"[^\"]*\").*?>", text, flags=re.DOTALL)
    assert root is not None, "matplotlib writes its size"
    alt = escape(one_line(figure.alt))
    start = f'{_SVG} {root[1]} role="img" aria-label="{alt}" style="{_STYLE}">'
    text = re.sub(r"<(metadata|style).*?</\1>", "", text[root.end() :], flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", "\n", _name_ids(text, figure.name)).replace("xlink:href", "href")
    for stand_in, css in css_colors().items():
        text = text.replace(stand_in, css)
    # matplotlib 3.11 writes font-size and font-family apart, older ones one `font`.
    text = re.sub(r"font: (?:[a-z0-9]+ )*?([\d.]+px) [^;\"]*", r"font-size: \1", text)
    text = re.sub(r"font-family: 'DejaVu Sans'[^;\"]*;? ?", "", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0]), text)
    return Markup(start + text.strip())


def figure_files(figure: Figure, kinds: tuple[str, ...] = ("svg", "png")) -> dict[str, bytes]:
    """Return a figure on white as SVG, PNG or PDF; equal figures give equal files."""
    text = one_line(figure.alt)
    latin = text.encode("latin-1", "replace").decode("latin-1")
    metadata: dict[str, dict[str, Any]] = {  # the text alternative, and no date or version
        "svg": {"Date": None, "Creator": None, "Title": figure.name, "Description": text},
        "png": {"Software": None, "Description": latin},
        "pdf": {**dict.fromkeys(("Creator", "Producer", "CreationDate")), "Subject": text},
    }
    found = _save(figure, FILE, paper_color, {kind: metadata[kind] for kind in kinds})
    if "svg" in found:
        found["svg"] = _name_ids(found["svg"].decode(), figure.name).encode()
    return found


def draw_figure(figure: Figure, colors: Colors = paper_color) -> MplFigure:
    """Return a matplotlib figure of the size of `figure` with its drawing."""
    drawn = MplFigure(figsize=(figure.width / 72, figure.height / 72), layout="constrained")
    figure.draw(drawn, colors)
    return drawn


def _save(
    figure: Figure, settings: dict[str, Any], colors: Colors, metadata: dict[str, dict[str, Any]]
) -> dict[str, bytes]:
    """Draw in a style, and save in the formats of `metadata`."""
    found = {}
    with style.context(["default", settings]), warnings.catch_warnings():
        # class names may be in any script, and DejaVu lacks some letters
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        drawn = draw_figure(figure, colors)
        for kind, words in metadata.items():
            buffer = io.BytesIO()
            inline = settings is INLINE
            drawn.savefig(buffer, format=kind, transparent=inline, metadata=words)
            drawn.set_layout_engine("none")  # laid out by the first, so that all are alike
            found[kind] = buffer.getvalue()
    return found


def _name_ids(text: str, name: str) -> str:
    """Name what is referred to by figure and order, and drop other ids.

    Matplotlib's are hashes, which differ with the last bit of a layout.
    """
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    names = {old: f"{name}-{place}" for place, old in enumerate(used)}

    def rename(found: re.Match[str]) -> str:
        return f' id="{names[found[1]]}"' if found[1] in names else ""

    text = re.sub(r' id="([^"]*)"', rename, text)
    return re.sub(r'(url\(|href=")#([^")]+)', lambda found: f"{found[1]}#{names[found[2]]}", text)
