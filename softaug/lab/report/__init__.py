"""Result files as pages, tables and figures.

`model` is what a page consists of, `evaluation` and `paper` build pages from result files, and
`render`, `text` and `latex` render them. Nothing here trains or measures.
"""
