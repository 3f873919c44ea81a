"""Collected exhibits in every format."""

from pathlib import Path

from rich.console import Console

from softaug.report.exhibits import print_exhibit, write_exhibit


def present(file: Path, console: Console) -> None:
    """Write the table or figure of a collected file beside it, and print it."""
    written = write_exhibit(file)
    print_exhibit(file, console)
    told = f"\n{file.parent}: {', '.join(path.name for path in written)}\n"
    console.print(told, soft_wrap=True, highlight=False, markup=False)
