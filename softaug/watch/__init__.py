"""A live page of a grid, or of any folder of runs: it reads, and never writes."""
