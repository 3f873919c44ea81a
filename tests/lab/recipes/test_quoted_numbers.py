"""The numbers of docs/methods.md are those of the data, and none of them is a recipe's own."""

from pathlib import Path

import pytest

from softaug.lab.recipes.paper_numbers import QUOTED

PAGE = (Path(__file__).parents[3] / "docs" / "methods.md").read_text()
METHODS = {"Energy-based", "DUQ", "SNGP", "DDU", "Puzzle Mix", "Co-Mixup", "Manifold Mixup"}


def shown(number):
    error = f"{number.error:g}" if number.se is None else f"{number.error:.2f} ± {number.se:.2f}"
    return error if number.ece is None else f"{number.error:.2f} / {number.ece:.2f}"


@pytest.mark.parametrize(
    "number", QUOTED, ids=lambda n: f"{n.table}-{n.method}-{n.source}-{n.data}"
)
def test_the_page_shows_it_in_the_row_of_its_source(number):
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    mine = [row for row in rows if number.source in row and shown(number) in row]
    assert any(number.method.lower() in row.lower() for row in mine)


def test_each_method_is_quoted_once_for_each_table_source_and_data_set():
    keys = [number[:4] for number in QUOTED]
    assert len(set(keys)) == len(keys)
    assert {number.method for number in QUOTED} >= METHODS
