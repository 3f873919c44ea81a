"""Result files to tables, figures and one self-contained HTML page.

Reads result files only: nothing here imports what draws, trains or measures.
"""

from softaug.lab.report.page import write_report
from softaug.lab.report.summary import summarise
from softaug.lab.report.table import print_table

__all__ = ["print_table", "summarise", "write_report"]
