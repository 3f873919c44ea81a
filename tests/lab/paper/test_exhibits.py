"""Every number that the paper printed stands in its table, and no other does."""

from collections import Counter

import pytest

from softaug.lab.recipes import entries, find
from softaug.lab.recipes.paper_figures import all_tables as exhibits
from softaug.lab.recipes.paper_figures import find_tables
from softaug.lab.recipes.paper_numbers import QUOTED, PaperNumber

TABLES = [f"table{number}" for number in range(1, 10)]
FIGURES = [f"figure{number}" for number in range(1, 8)]
STUDIES = ["evidence", "variants", "budgets", "self-paced", "pacing-rules"]


def one(name):
    (found,) = find_tables([name])
    return found


def printed(number: PaperNumber):
    """(measure, on, value, se) of each part of a number that a table prints."""
    parts = [("error", number.error, number.se), ("ece", number.ece, number.ece_se)]
    return [(measure, number.on, value, se) for measure, value, se in parts if value is not None]


def of_table(name):
    """(recipe, measure, on, value, se) of the paper's numbers in a table, as often as there."""
    return Counter(
        (row.recipe, cell.measure.removeprefix("probe_"), cell.on, cell.value, cell.se)
        for row in one(name).rows
        for cell in row.cells
        if row.recipe and cell.value is not None
    )


def test_nine_tables_and_seven_figures_come_in_the_paper_s_order_before_studies():
    assert [exhibit.name for exhibit in exhibits()] == TABLES + FIGURES + STUDIES


def test_all_leaves_studies_out_at_the_paper_s_scale_alone():
    assert [exhibit.name for exhibit in find_tables(["all"], "paper")] == TABLES + FIGURES
    assert len(find_tables(["all"], "smoke")) == len(exhibits())


def test_a_study_at_the_paper_s_scale_is_refused():
    with pytest.raises(ValueError, match=r"evidence is a study .* got scale paper"):
        find_tables(["table1", "evidence"], "paper")


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_no_number_of_the_paper_s_and_each_arm_its_baseline(name):
    rows = one(name).rows
    assert all(cell.value is None for row in rows for cell in row.cells)
    arms = {(row.group, row.label) for row in rows}
    assert all(row.baseline is None or (row.group, row.baseline) in arms for row in rows)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_all_numbers_of_its_recipes_once_and_no_other(name):
    wanted = Counter(
        (entry.recipe.name, *part)
        for entry in entries()
        for number in entry.paper
        if f"table{number.table}" == name
        for part in printed(number)
    )
    assert of_table(name) == wanted


@pytest.mark.parametrize("name", TABLES)
def test_a_table_quotes_what_the_paper_quotes_there(name):
    found = Counter(
        (row.label.partition(", ")[0], row.quoted, *(cell.value for cell in row.cells))
        for row in one(name).rows
        if row.quoted
    )
    wanted = Counter(
        (number.method, number.source, number.error, *([number.ece] if number.ece else []))
        for number in QUOTED
        if f"table{number.table}" == name
    )
    assert found == wanted


def test_numbers_of_the_text_stand_in_figures_1_and_5():
    wanted = {
        (entry.recipe.name, number.error)
        for entry in entries()
        for number in entry.paper
        if number.table == "text"
    }
    rows = [row for name in ("figure1", "figure5") for row in one(name).rows]
    found = {(row.recipe, cell.value) for row in rows for cell in row.cells}
    assert wanted <= found


@pytest.mark.parametrize("exhibit", exhibits(), ids=lambda exhibit: exhibit.name)
def test_recipes_exist_labels_are_unique_and_baselines_are_rows_of_their_group(exhibit):
    assert all(find(name).recipe.name == name for name in exhibit.recipes)
    labels = [(row.group, row.label) for row in exhibit.rows]
    assert len(set(labels)) == len(labels)
    bases = [(row.group, row.baseline) for row in exhibit.rows if row.baseline]
    assert set(bases) <= set(labels)


def test_table_1_is_in_the_paper_s_order():
    labels = [row.label for row in one("table1").rows]
    assert labels[3:7] == [
        "Baseline",
        "Mixup, Zhang et al. (Mixup)",
        "Mixup, Kim et al. (Co-Mixup)",
        "Mixup",
    ]
    assert labels[-3:] == ["Focal Loss, gamma 5", "RandAugment", "Soft Augmentation"]


def test_table_3_has_the_row_that_the_paper_lacks():
    (row, _) = [row for row in one("table3").rows if row.label.startswith("TrivialAugment")]
    assert row.recipe == "cifar100-wrn28-10-trivialaugment"
    assert [cell.value for cell in row.cells] == [None, None]


def test_numbers_that_the_paper_quotes_are_not_its_own():
    own = {row.label: row.cells[0].source for row in one("table3").rows if row.recipe}
    assert own.pop("5-Ensemble (the paper quotes its number)") == "another paper"
    assert set(own.values()) == {""}
    quoted = [row for name in TABLES for row in one(name).rows if row.quoted]
    assert all(cell.source == row.quoted for row in quoted for cell in row.cells)


def test_what_diverged_in_the_paper_is_said_to_have():
    told = [row for row in one("table8").rows if row.cells[0].diverged]
    names = [f"cifar100-simsiam-resnet18-sa2-lr{lr}" for lr in ("0.4", "0.5", "0.8")]
    assert [row.recipe for row in told] == names
    assert all(row.cells[0].value is None for row in told)


def test_the_points_of_panels_are_cells_of_rows():
    for name, num_lines in (("figure3", 4 * 5), ("figure5", 4)):
        exhibit = one(name)
        lines = [line for panel in exhibit.panels for line in panel.lines]
        assert len(lines) == num_lines
        for _, row, cell in (point for line in lines for point in line.points):
            assert row in exhibit.rows
            assert cell in row.cells


def test_all_is_every_exhibit_and_order_is_the_paper_s():
    assert find_tables(["all"]) == list(exhibits())
    assert [found.name for found in find_tables(["figure2", "table3", "figure2"])] == [
        "table3",
        "figure2",
    ]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("tabel3", "did you mean 'table3'?"), ("xyz", "`softaug reproduce list` lists them")],
)
def test_an_unknown_name_is_told_the_nearest(name, remedy):
    with pytest.raises(
        ValueError, match="name must be that of a table, figure or study"
    ) as refused:
        find_tables(["table1", name])
    assert str(refused.value).endswith(remedy)
