"""All tables, figures and studies, by name."""

from collections.abc import Sequence
from functools import cache

from softaug.checks import nearest, refuse
from softaug.paper.exhibit import Exhibit
from softaug.paper.figures import figures
from softaug.paper.scale import Scale
from softaug.paper.studies import studies
from softaug.paper.tables import tables

ALL = "all"


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """Tables, then figures, then studies of ours."""
    return (*tables(), *figures(), *studies())


def find_exhibits(names: Sequence[str], scale: Scale = "cpu") -> list[Exhibit]:
    """Those called so, each once, in the paper's order; "all" is every one of the scale.

    An unknown name is refused with the nearest, a study at the paper's scale with the others.
    """
    known = [exhibit.name for exhibit in exhibits()]
    for name in names:
        if name not in (ALL, *known):
            remedy = nearest(name, [ALL, *known]) or "`softaug reproduce list` lists them"
            refuse("reproduce", "name must be that of a table, figure or study", repr(name), remedy)
    named = [exhibit for exhibit in exhibits() if exhibit.name in names]
    studied = [exhibit.name for exhibit in named if not exhibit.of_paper]
    if scale == "paper" and studied:
        rule, remedy = f"{studied[0]} is a study of ours for scale cpu or smoke", "--scale cpu"
        refuse("reproduce", rule, "scale paper", remedy)
    if ALL not in names:
        return named
    return [exhibit for exhibit in exhibits() if exhibit.of_paper or scale != "paper"]
