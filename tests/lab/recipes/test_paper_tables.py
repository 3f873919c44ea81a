"""The paper's numbers, added up from its pages, and the tables in which they stand."""

import pytest

from softaug.lab.recipes import entries, find
from softaug.lab.recipes.pairs import DIVERGED
from softaug.lab.recipes.paper_numbers import V2, read_paper
from softaug.lab.recipes.paper_tables import all_tables, find_tables

TABLES = [f"table{number}" for number in range(1, 10)]
FIGURES = [f"figure{number}" for number in range(1, 8)]
STUDIES = [
    "evidence",
    "variants",
    "budgets",
    "self-paced",
    "pacing-rules",
    "demo",
    "where-it-pays",
    "tail",
    "sigma-laws",
    "fast-cifar",
    "fine-tuning",
    "by-class",
    "rivals",
]
# Of each table: how many errors are printed, their sum, and that of their standard errors.
PRINTED = {
    ("1", ""): (10, 201.60, 1.35),
    ("2", ""): (48, 730.83, 9.71),
    ("2", V2): (8, 262.66, 1.01),
    ("3", ""): (6, 59.36, 0.40),
    ("4", ""): (5, 130.82, 0.21),
    ("5", ""): (11, 219.70, 1.55),
    ("6", ""): (8, 156.21, 1.13),
    ("8", ""): (14, 547.21, 19.61),
    ("9", ""): (4, 147.70, 0.00),
}
PRINTED_ECE = {("3", ""): (6, 13.53, 0.38), ("7", ""): (4, 15.15, 0.0), ("7", V2): (4, 25.17, 0.0)}
QUOTED = {("1", ""): (6, 137.14, 0.55), ("3", ""): (7, 76.17, 0.0), ("5", ""): (11, 242.28, 0.0)}
QUOTED_ECE = {("3", ""): (7, 18.10, 0.0)}


def add_up(numbers, value, se):
    found = {}
    for number in numbers:
        if getattr(number, value) is not None and number.table != "text":
            num, total, spread = found.get((number.table, number.on), (0, 0, 0))
            each = getattr(number, value), getattr(number, se) or 0
            found[number.table, number.on] = num + 1, total + each[0], spread + each[1]
    return found


def test_numbers_are_as_the_paper_prints_them_and_no_others_are_there():
    quoted = [number for number in read_paper() if number.source]
    numbers = [number for entry in entries() for number in entry.paper]
    own = [number for number in numbers if not number.source]
    for wanted, found in (
        (PRINTED, add_up(own, "error", "se")),
        (PRINTED_ECE, add_up(own, "ece", "ece_se")),
        (QUOTED, add_up(quoted, "error", "se")),
        (QUOTED_ECE, add_up(quoted, "ece", "ece_se")),
    ):
        assert found.keys() == wanted.keys()
        for key, values in wanted.items():
            assert found[key] == pytest.approx(values, abs=1e-6), key


def test_numbers_of_the_text_are_turned_into_errors():
    (number,) = find("cifar100-resnet18-hard-aggressive").paper
    assert number.error == pytest.approx(20.80 + 2.19)
    for arm, accuracy in (("baseline", 3.42), ("soft-randaugment", 18.98)):
        (number,) = [n for n in find(f"imagenet-resnet50-{arm}").paper if n.table == "text"]
        assert number.error == pytest.approx(100 - accuracy)
        assert number.shown.endswith("% error on images 80 % hidden")


def one(name):
    (found,) = find_tables([name])
    return found


def test_tables_and_figures_come_in_the_paper_s_order_before_studies():
    assert [table.name for table in all_tables()] == TABLES + FIGURES + STUDIES
    assert [table.name for table in find_tables(["all"], "paper")] == TABLES + FIGURES
    assert find_tables(["all"], "smoke") == find_tables(["all"]) == list(all_tables())
    chosen = find_tables(["figure2", "table3", "figure2"])
    assert [table.name for table in chosen] == ["table3", "figure2"]


@pytest.mark.parametrize(
    ("names", "scale", "message"),
    [
        (["table1", "evidence"], "paper", r"evidence is a study .* got scale paper"),
        (["table1", "tabel3"], "cpu", r"table, figure or study.*did you mean 'table3'\?"),
        (["xyz"], "cpu", "`softaug reproduce list` lists them"),
    ],
)
def test_a_name_that_cannot_be_is_refused(names, scale, message):
    with pytest.raises(ValueError, match=message):
        find_tables(names, scale)


def test_recipes_exist_labels_are_unique_and_baselines_are_rows_of_their_group():
    for table in all_tables():
        assert all(find(name).recipe.name == name for name in table.recipes)
        labels = [(row.group, row.label) for row in table.rows]
        assert len(set(labels)) == len(labels)
        assert {(row.group, row.baseline) for row in table.rows if row.baseline} <= set(labels)
        if not table.of_paper:
            assert all(cell.value is None for row in table.rows for cell in row.cells)


def test_cells_have_the_measures_of_their_table_and_gains_a_baseline():
    rows = {(name, row.recipe): row for name in TABLES for row in one(name).rows}
    wrn, simsiam = "cifar100-wrn28-10", "cifar100-simsiam-resnet18"
    both = [(c.measure, c.value, c.se) for c in rows["table3", f"{wrn}-soft-trivialaugment"].cells]
    assert both == [("error", 14.24, 0.11), ("ece", 1.76, 0.15)]
    lacking = rows["table3", f"{wrn}-trivialaugment"]  # the paper has no such row
    assert [cell.value for cell in lacking.cells] == [None, None]
    assert rows["table3", f"{wrn}-ensemble"].cells[0].source == "another paper"
    (photo,) = rows["table7", "imagenet-resnet50-soft"].cells
    assert (photo.measure, photo.on, photo.value) == ("ece", V2, 3.24)
    soft = rows["table2", "imagenet-resnet101-soft"]
    assert (soft.group, soft.baseline) == (V2, "ResNet-101, Baseline")
    assert rows["table5", "cifar100-resnet18-cutout"].baseline == "Baseline"
    assert rows["table9", f"{simsiam}-sa1-k1"].baseline is None
    diverged = [name for (_, name), row in rows.items() if row.cells[0].diverged]
    assert diverged == [f"{simsiam}-sa2-lr{lr}" for lr in ("0.4", "0.5", "0.8")]
    assert [e.recipe.name for e in entries() if e.about.endswith(DIVERGED)] == diverged


def test_exhibits_with_soft_photographs_say_that_offsets_are_halved():
    noted = [table.name for table in all_tables() if "literal-offsets" in " ".join(table.notes)]
    assert noted == ["table2", "table7", "figure4", "figure5", "figure7"]


def test_the_release_s_tables_have_its_best_error_before_the_last():
    found = find_tables(["all"], "paper", "release")
    names = [f"table{number}-release" for number in (1, 2, 5, 6)]
    assert [table.name for table in found] == [*names, "figure1-release"]
    rows = {row.recipe: row for row in found[0].rows}
    soft = rows["cifar100-resnet18-soft-release"]
    assert [(cell.measure, cell.value) for cell in soft.cells] == [
        ("best_error", 18.31),
        ("error", None),
    ]
    assert "cifar100-resnet18-online-label-smoothing" not in rows
    assert len(rows) == len(found[0].rows) == 9  # quoted numbers are not of this code
    with pytest.raises(ValueError, match=r"whose rows the authors released, got table4; .*table1"):
        find_tables(["table4"], "paper", "release")


def test_every_row_of_the_paper_s_tables_can_be_run_and_quoted_numbers_say_whose_they_are():
    rows = [row for name in TABLES for row in one(name).rows]
    sources = {row.cells[0].source for row in rows if row.label in ("Puzzle Mix", "Co-Mixup")}
    assert sources == {"Kim et al. (Puzzle Mix)", "Kim et al. (Co-Mixup)"}
    assert all(row.recipe for row in rows)


def test_the_points_of_panels_are_cells_of_rows():
    for table in all_tables():
        for line in (line for panel in table.panels for line in panel.lines):
            assert all(row in table.rows and cell in row.cells for _, row, cell in line.points)
