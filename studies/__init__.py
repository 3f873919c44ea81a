"""Scripts and results of the studies behind docs/results; not part of the installed package."""
