"""The paper's numbers, typed a second time, and the tables in which each of them stands once."""

from collections import Counter

import pytest

from softaug.lab.recipes import PaperNumber, entries, find
from softaug.lab.recipes.pairs import DIVERGED
from softaug.lab.recipes.paper_numbers import V2, quoted_numbers
from softaug.lab.recipes.paper_tables import all_tables, find_tables

TABLES = [f"table{number}" for number in range(1, 10)]
FIGURES = [f"figure{number}" for number in range(1, 8)]
STUDIES = ["evidence", "variants", "budgets", "self-paced", "pacing-rules"]
FOUR = "hard soft randaugment soft-randaugment"
PHOTOS = FOUR.replace("hard", "baseline", 1)
PRINTED = f"""
2 cifar100-efficientnet-b0 {FOUR} | 49.70±1.55 42.13±0.45 46.68±1.52 38.72±0.71
2 cifar100-resnet18 {FOUR} | 20.80±0.11 18.31±0.17 20.99±0.11 18.10±0.20
2 cifar100-resnet50 {FOUR} | 20.18±0.30 18.06±0.24 18.57±0.09 16.72±0.06
2 cifar100-wrn28-10 {FOUR} | 18.60±0.19 16.47±0.18 17.65±0.14 15.37±0.17
2 cifar100-pyramidnet272 {FOUR} | 15.77±0.17 14.03±0.05 14.02±0.28 12.78±0.16
2 cifar10-efficientnet-b0 {FOUR} | 17.73±0.69 12.21±0.22 14.54±0.47 11.67±0.26
2 cifar10-resnet18 {FOUR} | 4.38±0.05 3.51±0.08 3.89±0.06 3.27±0.08
2 cifar10-resnet50 {FOUR} | 4.34±0.14 3.67±0.08 3.91±0.14 3.01±0.02
2 cifar10-wrn28-10 {FOUR} | 3.67±0.08 2.85±0.02 3.26±0.04 2.45±0.03
2 cifar10-pyramidnet272 {FOUR} | 2.86±0.03 2.26±0.02 2.32±0.08 2.02±0.01
2 imagenet-resnet50 {PHOTOS} | 22.62±<0.01 21.66±0.02 22.02±0.02 21.27±0.05
2 imagenet-resnet101 {PHOTOS} | 20.91±0.04 20.63±0.03 20.39±0.07 19.86±0.03
1 cifar100-resnet18 {FOUR.rpartition(" ")[0]} | 20.80±0.11 18.31±0.17 20.99±0.11
1 cifar100-resnet18 mixup cutout | 19.88±0.38 20.51±0.02
1 cifar100-resnet18 label-smoothing online-label-smoothing | 19.47±0.18 20.12±0.05
1 cifar100-resnet18 focal-gamma1 focal-gamma2 focal-gamma5 | 20.45±0.08 20.38±0.08 20.69±0.17
5 cifar100-resnet18 {FOUR} | 20.80±0.11 18.31±0.17 20.99±0.11 18.10±0.20
5 cifar100-resnet18 mixup cutout | 19.88±0.38 20.51±0.02
5 cifar100-resnet18 label-smoothing online-label-smoothing | 19.47±0.18 20.12±0.05
5 cifar100-resnet18 focal-gamma1 focal-gamma2 focal-gamma5 | 20.45±0.08 20.38±0.08 20.69±0.17
6 cifar100-resnet18 {FOUR} | 20.80±0.11 18.31±0.17 20.99±0.11 18.10±0.20
6 cifar100-resnet18 hard-normal noise soft-noise | 20.26±0.12 20.68±0.05 19.20±0.20
6 cifar100-resnet18 soft-noise-randaugment | 17.87±0.17
4 cifar100-simsiam-resnet18 baseline sa1 sa2 | 37.64±0.06 36.61±0.05 37.39±0.06
4 cifar10-simsiam-resnet18 baseline sa1 | 9.87±0.03 9.31±0.01
8 cifar10-simsiam-resnet18 baseline sa1 | 9.87±0.03 9.31±0.01
8 cifar100-simsiam-resnet18 baseline-lr0.1 sa1-lr0.1 sa2 | 39.50±0.13 40.21±0.03 37.39±0.06
8 cifar100-simsiam-resnet18 baseline sa1 sa2-lr0.2 | 37.64±0.06 36.61±0.05 39.20±0.42
8 cifar100-simsiam-resnet18 baseline-lr0.4 sa1-lr0.4 | 40.28±2.49 37.68±0.06
8 cifar100-simsiam-resnet18 baseline-lr0.5 sa1-lr0.5 | 43.26±3.03 41.94±0.04
8 cifar100-simsiam-resnet18 baseline-lr0.8 sa1-lr0.8 | 78.88±9.05 55.44±4.15
9 cifar100-simsiam-resnet18 sa1-k1 sa1-k2 sa1-k3 sa1 | 37.78 37.27 36.34 36.31
text cifar100-resnet18 hard-aggressive | 22.99
"""
PRINTED_V2 = f"""
2 imagenet-resnet50 {PHOTOS} | 34.97±0.03 33.32±0.10 34.16±0.21 32.38±0.16
2 imagenet-resnet101 {PHOTOS} | 32.68±0.04 31.81±0.16 32.08±0.19 31.26±0.12
"""
PRINTED_ECE = {  # Table 3: error, its s.e., ECE, its s.e.
    "cifar100-wrn28-10-hard": PaperNumber("3", 18.60, 0.16, 4.86, 0.10),
    "cifar100-wrn28-10-soft-trivialaugment": PaperNumber("3", 14.24, 0.11, 1.76, 0.15),
    "cifar10-wrn28-10-hard": PaperNumber("3", 3.67, 0.07, 2.22, 0.03),
    "cifar10-wrn28-10-soft-trivialaugment": PaperNumber("3", 2.23, 0.06, 0.61, 0.10),
    "cifar100-wrn28-10-ensemble": PaperNumber("3", 17.21, ece=3.32, quoted=True),
    "cifar10-wrn28-10-ensemble": PaperNumber("3", 3.41, ece=0.76, quoted=True),
}
QUOTED = """
1 Zhang: Baseline 25.6, Mixup 21.1
1 DeVries: Baseline 22.46±0.31, Cutout 21.96±0.24
1 Co-Mixup: Baseline 23.59, Mixup 22.43
5 Zhang: Baseline 25.6, Mixup 21.1
5 Puzzle: Baseline 23.67, Mixup 23.16, Manifold Mixup 20.98, Puzzle Mix 19.62
5 Co-Mixup: Baseline 23.59, Mixup 22.43, Manifold Mixup 21.64, Puzzle Mix 20.62, Co-Mixup 19.87
"""
QUOTED_ECE = {
    "cifar100": {"Energy-based": (19.74, 4.62), "SNGP": (20.00, 4.33), "DDU": (19.02, 4.10)},
    "cifar10": {
        "Energy-based": (4.02, 0.85),
        "DUQ": (5.40, 1.55),
        "SNGP": (3.96, 1.80),
        "DDU": (4.03, 0.85),
    },
}


def typed(text):
    """(table, recipe, error±se) of each number of a block."""
    for line in text.strip().splitlines():
        names, _, values = line.partition(" | ")
        table, family, *arms = names.split()
        for arm, value in zip(arms, values.split(), strict=True):
            yield table, f"{family}-{arm}", value


def stored(on):
    """The same of the data file, without Tables 3 and 7."""
    return Counter(
        (number.table, entry.recipe.name, number.shown.split(" % error")[0].replace(" ", ""))
        for entry in entries()
        for number in entry.paper
        if number.on == on and number.table not in ("3", "7")
    )


@pytest.mark.parametrize(("on", "text"), [("", PRINTED), (V2, PRINTED_V2)])
def test_errors_are_as_the_paper_prints_them_and_no_others_are_there(on, text):
    assert stored(on) == Counter(typed(text))


def test_calibration_is_as_the_paper_prints_it():
    found = {e.recipe.name: n for e in entries() for n in e.paper if n.table == "3"}
    assert found == PRINTED_ECE
    sevens = {"": (5.11, 3.17, 4.09, 2.78), V2: (9.91, 3.24, 8.84, 3.18)}
    for on, values in sevens.items():
        for arm, ece in zip(PHOTOS.split(), values, strict=True):
            assert PaperNumber("7", ece=ece, on=on) in find(f"imagenet-resnet50-{arm}").paper


def test_numbers_of_the_text_are_turned_into_errors():
    (number,) = find("cifar100-resnet18-hard-aggressive").paper
    assert number.error == pytest.approx(20.80 + 2.19)
    for arm, accuracy in (("baseline", 3.42), ("soft-randaugment", 18.98)):
        (number,) = [n for n in find(f"imagenet-resnet50-{arm}").paper if n.table == "text"]
        assert number.error == pytest.approx(100 - accuracy)
        assert number.shown.endswith("% error on images 80 % hidden")


def test_quoted_numbers_are_as_the_paper_prints_them():
    wanted = Counter()
    for line in QUOTED.strip().splitlines():
        start, _, values = line.partition(": ")
        for value in values.split(", "):
            method, _, error = value.rpartition(" ")
            wanted[(*start.split(), method, error)] += 1
    words = ("Zhang", "DeVries", "Puzzle", "Co-Mixup")
    found = Counter()
    for number in quoted_numbers():
        if number.ece is None:
            error = f"{number.error:g}" + (f"±{number.se:.2f}" if number.se else "")
            (word,) = [word for word in words if word in number.source]
            found[number.table, word, number.method, error] += 1
        else:
            assert QUOTED_ECE[number.data].pop(number.method) == (number.error, number.ece)
    assert found == wanted
    assert QUOTED_ECE == {"cifar100": {}, "cifar10": {}}


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


def test_a_table_has_all_numbers_of_its_recipes_once_and_no_other():
    for name in TABLES:
        wanted, quoted = Counter(), Counter()
        for entry in entries():
            for number in entry.paper:
                parts = {"error": (number.error, number.se), "ece": (number.ece, number.ece_se)}
                for measure, (value, se) in parts.items():
                    if f"table{number.table}" == name and value is not None:
                        wanted[entry.recipe.name, measure, number.on, value, se] += 1
        for number in quoted_numbers():
            if f"table{number.table}" == name:
                eces = [number.ece] if number.ece else []
                quoted[(number.method, number.source, number.error, *eces)] += 1
        for row in one(name).rows:
            for cell in row.cells if row.recipe else ():
                if cell.value is not None:
                    measure = cell.measure.removeprefix("probe_")
                    wanted[row.recipe, measure, cell.on, cell.value, cell.se] -= 1
            if row.quoted:
                values = [cell.value for cell in row.cells]
                quoted[(row.label.partition(", ")[0], row.quoted, *values)] -= 1
        assert not any(wanted.values())
        assert not any(quoted.values())


def test_numbers_of_the_text_stand_in_figures_1_and_5():
    texts = [(e.recipe.name, n.error) for e in entries() for n in e.paper if n.table == "text"]
    rows = [row for name in ("figure1", "figure5") for row in one(name).rows]
    assert set(texts) <= {(row.recipe, cell.value) for row in rows for cell in row.cells}


def test_table_1_is_in_the_paper_s_order():
    labels = [row.label for row in one("table1").rows]
    mixup = ["Mixup, Zhang et al. (Mixup)", "Mixup, Kim et al. (Co-Mixup)", "Mixup"]
    assert labels[3:7] == ["Baseline", *mixup]
    assert labels[-3:] == ["Focal Loss, gamma 5", "RandAugment", "Soft Augmentation"]


def test_table_3_has_the_row_that_the_paper_lacks_and_says_whose_numbers_are_quoted():
    rows = {row.label: row for row in one("table3").rows if row.recipe}
    lacking = rows["TrivialAugment (not in the paper)"]
    assert [cell.value for cell in lacking.cells] == [None, None]
    sources = {label: row.cells[0].source for label, row in rows.items()}
    assert sources.pop("5-Ensemble (the paper quotes its number)") == "another paper"
    assert set(sources.values()) == {""}


def test_what_diverged_in_the_paper_is_said_to_have():
    told = [row for row in one("table8").rows if row.cells[0].diverged]
    names = [f"cifar100-simsiam-resnet18-sa2-lr{lr}" for lr in ("0.4", "0.5", "0.8")]
    assert [row.recipe for row in told] == names
    assert all(row.cells[0].value is None for row in told)
    assert [e.recipe.name for e in entries() if e.about.endswith(DIVERGED)] == names


def test_the_points_of_panels_are_cells_of_rows():
    for name, num_lines in (("figure3", 4 * 5), ("figure5", 4)):
        figure = one(name)
        lines = [line for panel in figure.panels for line in panel.lines]
        assert len(lines) == num_lines
        for _, row, cell in (point for line in lines for point in line.points):
            assert row in figure.rows
            assert cell in row.cells
