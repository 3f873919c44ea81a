"""The paper's numbers, typed a second time as its tables print them."""

import pytest

from softaug.lab.recipes import PaperNumber, entries, find

ARMS = ("hard", "soft", "randaugment", "soft-randaugment")
TABLE_2 = """
cifar100 efficientnet-b0 | 49.70±1.55 | 42.13±0.45 | 46.68±1.52 | 38.72±0.71
cifar100 resnet18 | 20.80±0.11 | 18.31±0.17 | 20.99±0.11 | 18.10±0.20
cifar100 resnet50 | 20.18±0.30 | 18.06±0.24 | 18.57±0.09 | 16.72±0.06
cifar100 wrn28-10 | 18.60±0.19 | 16.47±0.18 | 17.65±0.14 | 15.37±0.17
cifar100 pyramidnet272 | 15.77±0.17 | 14.03±0.05 | 14.02±0.28 | 12.78±0.16
cifar10 efficientnet-b0 | 17.73±0.69 | 12.21±0.22 | 14.54±0.47 | 11.67±0.26
cifar10 resnet18 | 4.38±0.05 | 3.51±0.08 | 3.89±0.06 | 3.27±0.08
cifar10 resnet50 | 4.34±0.14 | 3.67±0.08 | 3.91±0.14 | 3.01±0.02
cifar10 wrn28-10 | 3.67±0.08 | 2.85±0.02 | 3.26±0.04 | 2.45±0.03
cifar10 pyramidnet272 | 2.86±0.03 | 2.26±0.02 | 2.32±0.08 | 2.02±0.01
imagenet resnet50 | 22.62±<0.01 | 21.66±0.02 | 22.02±0.02 | 21.27±0.05
imagenet resnet101 | 20.91±0.04 | 20.63±0.03 | 20.39±0.07 | 19.86±0.03
"""
TABLE_2_V2 = """
imagenet resnet50 | 34.97±0.03 | 33.32±0.10 | 34.16±0.21 | 32.38±0.16
imagenet resnet101 | 32.68±0.04 | 31.81±0.16 | 32.08±0.19 | 31.26±0.12
"""
V2 = "ImageNet-V2"


def table_2(text=TABLE_2):
    for line in text.strip().splitlines():
        family, *cells = line.split(" | ")
        first = "baseline" if family.startswith("imagenet") else "hard"
        for arm, cell in zip((first, *ARMS[1:]), cells, strict=True):
            yield f"{family.replace(' ', '-')}-{arm}", cell


def printed(name, table, on=""):
    """error±se as the recipe `name` has it for `table`; None where it has none."""
    found = [n for n in find(name).paper if (n.table, n.on) == (table, on)]
    return found[0].shown.split(" % error")[0].replace(" ", "") if found else None


@pytest.mark.parametrize(("name", "cell"), list(table_2()))
def test_table_2(name, cell):
    assert printed(name, "2") == cell


@pytest.mark.parametrize(("name", "cell"), list(table_2(TABLE_2_V2)))
def test_table_2_on_imagenet_v2(name, cell):
    assert printed(name, "2", V2) == cell


@pytest.mark.parametrize(("on", "text"), [("", TABLE_2), (V2, TABLE_2_V2)])
def test_table_2_has_no_other_rows(on, text):
    rows = {entry.recipe.name for entry in entries() if printed(entry.recipe.name, "2", on)}
    assert rows == {name for name, _ in table_2(text)}


@pytest.mark.parametrize(
    ("on", "baseline", "randaugment", "soft", "both"),
    [("", 5.11, 4.09, 3.17, 2.78), (V2, 9.91, 8.84, 3.24, 3.18)],
)
def test_table_7_has_calibration_alone(on, baseline, randaugment, soft, both):
    wanted = [baseline, randaugment, soft, both]
    for arm, ece in zip(
        ("baseline", "randaugment", "soft", "soft-randaugment"), wanted, strict=True
    ):
        assert PaperNumber("7", ece=ece, on=on) in find(f"imagenet-resnet50-{arm}").paper


@pytest.mark.parametrize(("arm", "accuracy"), [("baseline", 3.42), ("soft-randaugment", 18.98)])
def test_the_text_has_accuracies_at_80_percent_occlusion(arm, accuracy):
    (number,) = [n for n in find(f"imagenet-resnet50-{arm}").paper if n.table == "text"]
    assert number.error == pytest.approx(100 - accuracy)
    assert number.shown.endswith("% error on images 80 % hidden")


RESNET18 = {
    "1": {
        "cutout": "20.51±0.02",
        "focal-gamma1": "20.45±0.08",
        "focal-gamma2": "20.38±0.08",
        "focal-gamma5": "20.69±0.17",
        "hard": "20.80±0.11",
        "label-smoothing": "19.47±0.18",
        "mixup": "19.88±0.38",
        "online-label-smoothing": "20.12±0.05",
        "randaugment": "20.99±0.11",
        "soft": "18.31±0.17",
    },
    "5": {
        "cutout": "20.51±0.02",
        "focal-gamma1": "20.45±0.08",
        "focal-gamma2": "20.38±0.08",
        "focal-gamma5": "20.69±0.17",
        "hard": "20.80±0.11",
        "label-smoothing": "19.47±0.18",
        "mixup": "19.88±0.38",
        "online-label-smoothing": "20.12±0.05",
        "randaugment": "20.99±0.11",
        "soft": "18.31±0.17",
        "soft-randaugment": "18.10±0.20",
    },
    "6": {
        "hard": "20.80±0.11",
        "hard-normal": "20.26±0.12",
        "noise": "20.68±0.05",
        "randaugment": "20.99±0.11",
        "soft": "18.31±0.17",
        "soft-randaugment": "18.10±0.20",
        "soft-noise": "19.20±0.20",
        "soft-noise-randaugment": "17.87±0.17",
    },
}


@pytest.mark.parametrize("table", RESNET18)
def test_tables_1_5_and_6(table):
    names = [entry.recipe.name for entry in entries()]
    found = {name: printed(name, table) for name in names if printed(name, table)}
    assert found == {f"cifar100-resnet18-{arm}": cell for arm, cell in RESNET18[table].items()}


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("cifar100-wrn28-10-hard", (18.60, 0.16, 4.86, 0.10)),
        ("cifar100-wrn28-10-soft-trivialaugment", (14.24, 0.11, 1.76, 0.15)),
        ("cifar10-wrn28-10-hard", (3.67, 0.07, 2.22, 0.03)),
        ("cifar10-wrn28-10-soft-trivialaugment", (2.23, 0.06, 0.61, 0.10)),
    ],
)
def test_table_3_has_errors_and_calibration(name, numbers):
    assert PaperNumber("3", *numbers) in find(name).paper


@pytest.mark.parametrize(
    ("data", "error", "ece"), [("cifar100", 17.21, 3.32), ("cifar10", 3.41, 0.76)]
)
def test_table_3_quotes_the_ensemble(data, error, ece):
    (number,) = find(f"{data}-wrn28-10-ensemble").paper
    assert number == PaperNumber("3", error, ece=ece, quoted=True)


def test_the_text_s_aggressive_crop_is_219_points_above_the_baseline():
    (number,) = find("cifar100-resnet18-hard-aggressive").paper
    assert number == PaperNumber("text", 22.99)
    assert number.error == pytest.approx(20.80 + 2.19)


@pytest.mark.parametrize(
    "name",
    [
        "cifar100-wrn28-10-trivialaugment",
        "cifar100-resnet18-soft-release",
        "cifar100-resnet18-soft-release-sigma",
        "cifar100-resnet18-hard-paper-fill",
        "cifar100-resnet8-s2-soft",
        "digits-resnet8-soft",
    ],
)
def test_rows_that_the_paper_does_not_have_carry_no_number(name):
    assert find(name).paper == ()
