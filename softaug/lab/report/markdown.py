"""A page as Markdown: what it says, its printed tables, their notes."""

import re
from collections.abc import Iterator

from softaug.lab.report.model import Cell, Page, Paragraph, Row, Table, one_line


def render_markdown(page: Page, picture: str = "", alt: str = "") -> str:
    """Return the page as text, under the image file `picture` if there is one."""
    parts = [f"# {escape(page.title)}", *(f"**{escape(told)}**" for told in page.cautions)]
    if picture:
        parts.append(f"![{escape(alt)}]({picture})")
    parts += map(escape, page.findings)
    for section in page.sections:
        for block in section.blocks if section.printed else ():
            if isinstance(block, Table):
                parts += _table(block)
            elif isinstance(block, Paragraph):
                parts.append(escape(block.text))
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> Iterator[str]:
    """Write a table for each group of rows, then caption and notes."""
    heads = [escape(column.title) for column in table.columns]
    sides = [":--" if place == 0 or table.is_text(place) else "--:" for place in range(len(heads))]
    for group in table.groups:
        rows = [heads, sides, *map(_cells, group.rows)]
        if group.heading:
            yield f"**{escape(group.heading)}**"
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    if table.notes:
        yield "\n".join(f"- <sup>{mark}</sup> {escape(why)}" for mark, why in table.notes)
    if table.caption:
        yield escape(table.caption)


def _cells(row: Row) -> list[str]:
    return [_cell(cell) for cell in row]


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"**{text}**" if cell.best else text
    text += f" *({escape(cell.source)})*" if cell.source else ""
    return text + (f" <sup>{cell.note}</sup>" if cell.note else "")


def escape(text: str) -> str:
    r"""Write text that Markdown shows as it is, also inside a table.

    >>> print(escape("a|b *c* <d> $e$"))
    a\|b \*c\* \<d\> \$e\$
    """
    return re.sub(r"([\\`*_\[\]<>|~#$&])", r"\\\1", one_line(text))
