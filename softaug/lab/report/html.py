"""A page as one self-contained HTML file: no network, light and dark, accessible."""

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from softaug.lab.report import style
from softaug.lab.report.model import Page
from softaug.lab.report.render import inline_svg


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
        colors=(*style.PAGE, *style.SERIES),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
    )
    return text.lstrip()
