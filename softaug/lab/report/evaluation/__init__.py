"""An evaluation or a comparison as a page, as figures for a paper, and in the terminal."""

from softaug.lab.report.evaluation.page import write_evaluation_report
from softaug.lab.report.evaluation.terminal import print_comparison

__all__ = ["print_comparison", "write_evaluation_report"]
