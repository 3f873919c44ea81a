"""Result files to tables, figures and one self-contained HTML page.

Reads result files only: nothing here imports what draws, trains or measures.
"""

from softaug.report.page import write_report
from softaug.report.summary import summarise
from softaug.report.table import print_table

__all__ = ["print_table", "summarise", "write_report"]
