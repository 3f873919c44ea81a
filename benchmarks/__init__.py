"""Benchmarks: softaug and its peers side by side (`python -m benchmarks`)."""

from benchmarks.run import SUITES, run_bench

__all__ = ["SUITES", "run_bench"]
