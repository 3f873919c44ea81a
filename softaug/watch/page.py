"""The page: one file that asks its server for what is new, and nothing else."""

import base64
import hashlib
from pathlib import Path

from jinja2 import ChoiceLoader, PackageLoader
from markupsafe import Markup

from softaug.report import palette
from softaug.report.page import environment
from softaug.watch.glance import Answer, answer

SCRIPTS = ("words.js", "runs.js", "chart.js", "curves.js", "exhibits.js", "watch.js")


def render(folder: Path) -> Answer:
    """The page of a folder, in the report's colours and style; it holds no state yet."""
    base = environment()
    assert base.loader is not None, "the report has templates"
    ours = PackageLoader("softaug.watch")
    templates = base.overlay(loader=ChoiceLoader([ours, base.loader]))
    script = "\n".join(templates.get_template(name).render() for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = templates.get_template("watch.html").render(
        name=folder.resolve().name or str(folder.resolve()),
        place=str(folder),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        colours=(*palette.PAGE, *palette.SERIES),
    )
    return answer(page.encode(errors="replace"))
