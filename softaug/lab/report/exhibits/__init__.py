"""The paper's tables and figures with its numbers beside ours, from the files of a grid."""

from softaug.lab.report.exhibits.terminal import print_exhibit
from softaug.lab.report.exhibits.write import write_exhibit

__all__ = ["print_exhibit", "write_exhibit"]
