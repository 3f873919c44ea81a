"""Figures of the report: each a function from numbers to an SVG with its text alternative."""
