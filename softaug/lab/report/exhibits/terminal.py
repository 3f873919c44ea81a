"""An exhibit in the terminal; as Markdown where it is piped."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from softaug.lab.report.exhibits.markdown import markdown, numbered
from softaug.lab.report.exhibits.progress import unfinished
from softaug.lab.report.exhibits.reading import read_exhibit
from softaug.lab.report.exhibits.sheet import Line, Sheet, sheet

_BETWEEN = "  "


def print_exhibit(file: Path, console: Console) -> None:
    """Print tableN.json or figureN.json: a table and its notes; Markdown if no terminal reads.

    Where the terminal is narrow, a row's label stands above its numbers.
    """
    exhibit = read_exhibit(file)
    mark = unfinished(exhibit, file.parent)
    if not console.is_terminal:
        console.print(Text(markdown(exhibit, mark)), end="", soft_wrap=True)
        return
    found = sheet(exhibit, mark)
    console.print(Text(f"{numbered(exhibit['name'])}. {exhibit['title']}", "bold"))
    for caution in found.cautions:
        console.print(Text(caution))
    for line in _table(found, console.width):
        console.print(line, soft_wrap=True)
    for mark, why in found.notes:
        console.print(Text(f"[{mark}] {why}"))
    for remark in found.remarks:
        console.print(Text(remark))


def _table(found: Sheet, width: int) -> Iterator[Text]:
    every = [line for section in found.sections for line in section.lines]
    if not every:
        return
    heads = list(zip(*map(_head_lines, found.heads[1:]), strict=True))
    columns = zip(*heads, *(_numbers(line, found) for line in every), strict=True)
    widths = [max(map(len, cells)) for cells in columns]
    label = max(len(_label(line)) for line in every)
    if label + sum(widths) + len(_BETWEEN) * len(widths) > width:
        label = 0
    yield Text("")
    for row in heads:
        yield Text(_aligned(" " * label, row, widths), "bold")
    for section in found.sections:
        yield Text(section.heading, "bold")
        for line in section.lines:
            if not label:
                yield Text(_label(line))
            yield Text(_aligned(_label(line).ljust(label)[:label], _numbers(line, found), widths))
        yield Text("")


def _head_lines(head: str) -> tuple[str, str]:
    """A heading on two lines.

    >>> _head_lines("Ours − paper’s"), _head_lines("Runs")
    (('Ours −', 'paper’s'), ('', 'Runs'))
    """
    first, _, last = head.rpartition(" ")
    return first, last


def _aligned(label: str, cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return (label + _BETWEEN if label else "") + _BETWEEN.join(columns)


def _label(line: Line) -> str:
    return f"  {line.label}" + (f" ({line.quoted})" if line.quoted else "")


def _numbers(line: Line, found: Sheet) -> list[str]:
    return [f"{text} [{mark}]" if mark else text for text, mark in found.cells(line)]
