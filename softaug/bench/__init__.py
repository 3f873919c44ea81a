"""Benchmarks: softaug and its peers side by side (`softaug bench`)."""

from softaug.bench.run import SUITES, run_bench

__all__ = ["SUITES", "run_bench"]
