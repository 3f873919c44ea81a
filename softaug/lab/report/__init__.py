"""Result files as pages, tables and figures.

`model` is what a page consists of, `evaluation` and `paper` build pages from result files, and
`html`, `markdown`, `latex` and `terminal` render them. Nothing here trains or measures.
"""

from softaug.lab.report.write import (
    print_paper_table,
    print_report,
    write_paper_table,
    write_report,
)

__all__ = ["print_paper_table", "print_report", "write_paper_table", "write_report"]
