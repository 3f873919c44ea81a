"""A page as text: in the terminal, and as Markdown where it is piped or written."""

import re
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from softaug.lab.report.model import Cell, Page, Row, Table, one_line

_BETWEEN = "  "


def print_page(page: Page, console: Console) -> None:
    """Print title, cautions, tables, and last what they say; Markdown if no terminal reads."""
    if not console.is_terminal:
        console.print(Text(render_markdown(page)), end="", soft_wrap=True)
        return
    console.print(Text(page.title, "bold"))
    for caution in page.cautions:
        console.print(Text(f"Note: {caution}"))
    for table in page.tables():
        for line in _table(table, console.width):
            console.print(line, soft_wrap=True)
        for mark, why in table.notes:
            console.print(Text(f"[{mark}] {why}"))
        if table.caption:
            console.print(Text(table.caption, "dim"))
    for finding in page.findings:
        console.print(Text(finding))


def _table(table: Table, width: int) -> Iterator[Text]:
    """Align the columns; where the terminal is narrow, a row's label stands above its numbers."""
    if not table.rows:
        return
    heads = list(zip(*(_head_lines(column.title) for column in table.columns[1:]), strict=True))
    heads = [line for line in heads if any(line)]
    starred = any(cell.best for row in table.rows for cell in row)

    def texts(row: Row) -> list[str]:
        return [_text(cell) + ("  " if starred and not cell.best else "") for cell in row[1:]]

    columns = zip(*heads, *map(texts, table.rows), strict=True)
    widths = [max(map(len, cells)) for cells in columns]
    label = max(len(_label(row)) for row in table.rows)
    if label + sum(widths) + len(_BETWEEN) * len(widths) > width:
        label = 0
    yield Text("")
    yield Text(table.title, "bold")
    left = [column.words for column in table.columns[1:]]
    for head in heads:
        yield Text(_align(" " * label, head, widths, left), "bold")
    for heading, rows in table.groups.items():
        if heading:
            yield Text(heading, "bold")
        for row in rows:
            if not label:
                yield Text(_label(row))
            yield Text(_align(_label(row).ljust(label)[:label], texts(row), widths, left))
    yield Text("")


def _head_lines(head: str) -> tuple[str, str]:
    """Break a heading into two lines.

    >>> _head_lines("Ours − paper’s"), _head_lines("Runs")
    (('Ours −', 'paper’s'), ('', 'Runs'))
    """
    first, _, last = head.rpartition(" ")
    return first, last


def _align(label: str, cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    columns = (
        cell.ljust(width) if is_text else cell.rjust(width)
        for cell, width, is_text in zip(cells, widths, left, strict=True)
    )
    return ((label + _BETWEEN if label else "") + _BETWEEN.join(columns)).rstrip()


def _label(row: Row) -> str:
    return f"  {_text(row[0])}" + (f" ({row[0].source})" if row[0].source else "")


def _text(cell: Cell) -> str:
    text = f"{cell.text} *" if cell.best else cell.text
    return f"{text} [{cell.note}]" if cell.note else text


def render_markdown(page: Page, pictures: Sequence[str] = ()) -> str:
    """Return the page as text, with its first figures under the names of their files."""
    parts = [f"# {escape(page.title)}", *(f"**{escape(caution)}**" for caution in page.cautions)]
    for figure, file in zip(page.figures, pictures, strict=False):
        parts.append(f"![{escape(figure.alt)}]({file})")
    parts += map(escape, page.findings)
    for section in page.sections:
        for block in section.blocks if section.printed else ():
            if isinstance(block, Table):
                parts += _markdown_table(block)
            elif isinstance(block, str):
                parts.append(escape(block))
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> Iterator[str]:
    """Write a table for each group of rows, then caption and notes."""
    heads = [escape(column.title) for column in table.columns]
    sides = [":--", *(":--" if column.words else "--:" for column in table.columns[1:])]
    for heading, rows in table.groups.items():
        lines = [heads, sides, *(map(_markdown_cell, row) for row in rows)]
        if heading:
            yield f"**{escape(heading)}**"
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    if table.notes:
        yield "\n".join(f"- <sup>{mark}</sup> {escape(why)}" for mark, why in table.notes)
    if table.caption:
        yield escape(table.caption)


def _markdown_cell(cell: Cell) -> str:
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
