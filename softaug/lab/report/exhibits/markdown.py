"""An exhibit as Markdown: a table for each section, then the notes."""

import re

from softaug.lab.report.evaluation.drawing import one_line
from softaug.lab.report.exhibits.shapes import Exhibit
from softaug.lab.report.exhibits.sheet import Line, Section, Sheet, sheet


def markdown(exhibit: Exhibit, mark: str, picture: tuple[str, str] | None = None) -> str:
    """The exhibit as text; `picture` is the file of its figure and what it shows in words."""
    found = sheet(exhibit, mark)
    parts = [f"# {_title(exhibit)}", *(f"**{escape(told)}**" for told in found.cautions)]
    if picture is not None:
        file, alt = picture
        parts.append(f"![{escape(alt)}]({file})")
    parts += [_section(section, found) for section in found.sections]
    parts += [_notes(found)] if found.notes else []
    parts += [escape(remark) for remark in found.remarks]
    return "\n\n".join(parts) + "\n"


def _title(exhibit: Exhibit) -> str:
    return escape(f"{numbered(exhibit['name'])}. {exhibit['title']}")


def numbered(name: str) -> str:
    """The name as it stands in a title.

    >>> numbered("table2")
    'Table 2'
    """
    return re.sub(r"(\D+)(\d+)", r"\1 \2", name).capitalize()


def _section(section: Section, found: Sheet) -> str:
    rows = [found.heads, (":--", *["--:"] * len(found.columns))]
    rows += [_cells(line, found) for line in section.lines]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return f"**{escape(section.heading)}**\n\n{table}"


def _cells(line: Line, found: Sheet) -> tuple[str, ...]:
    label = escape(line.label) + (f" *({escape(line.quoted)})*" if line.quoted else "")
    cells = found.cells(line)
    return label, *(escape(text) + (f" <sup>{mark}</sup>" if mark else "") for text, mark in cells)


def _notes(found: Sheet) -> str:
    return "\n".join(f"- <sup>{mark}</sup> {escape(why)}" for mark, why in found.notes)


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, also inside a table.

    >>> print(escape("a|b *c* <d> $e$"))
    a\|b \*c\* \<d\> \$e\$
    """
    return re.sub(r"([\\`*_\[\]<>|~#$&])", r"\\\1", one_line(text))
