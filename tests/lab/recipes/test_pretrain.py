"""Recipes without labels: rows, the paper's numbers, refusals, overrides."""

import re
from dataclasses import replace

import pytest
import tyro

from softaug.lab.recipes import (
    BarlowTwinsSpec,
    DataSpec,
    PairSpec,
    PaperNumber,
    PretrainRecipe,
    ProbeSpec,
    Recipe,
    SimSiamSpec,
    ViewsSpec,
    as_dict,
    differences,
    entries,
    find,
    from_dict,
)
from softaug.lab.recipes.ssl import DIVERGED

ROWS = [entry for entry in entries() if isinstance(entry.recipe, PretrainRecipe)]
HUNDRED, TEN = "cifar100-simsiam-resnet18", "cifar10-simsiam-resnet18"
TABLE_8 = """
0.1 | 39.50±0.13 | 40.21±0.03 | 37.39±0.06
0.2 | 37.64±0.06 | 36.61±0.05 | 39.20±0.42
0.4 | 40.28±2.49 | 37.68±0.06 | diverged
0.5 | 43.26±3.03 | 41.94±0.04 | diverged
0.8 | 78.88±9.05 | 55.44±4.15 | diverged
"""


def table_8():
    for line in TABLE_8.strip().splitlines():
        lr, *cells = line.split(" | ")
        for arm, cell in zip(("baseline", "sa1", "sa2"), cells, strict=True):
            own = float(lr) == (0.1 if arm == "sa2" else 0.2)
            yield f"{HUNDRED}-{arm}" + ("" if own else f"-lr{lr}"), float(lr), cell


def printed(name, table):
    found = [number.shown for number in find(name).paper if number.table == table]
    return found[0].removesuffix(" % error").replace(" ", "") if found else None


@pytest.mark.parametrize(("name", "lr", "cell"), list(table_8()))
def test_table_8(name, lr, cell):
    entry = find(name)
    assert entry.recipe.optim.lr == lr
    assert printed(name, "8") == (None if cell == "diverged" else cell)
    assert entry.about.endswith(DIVERGED) == (cell == "diverged")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        (f"{HUNDRED}-baseline", "37.64±0.06"),
        (f"{HUNDRED}-sa1", "36.61±0.05"),
        (f"{HUNDRED}-sa2", "37.39±0.06"),
        (f"{TEN}-baseline", "9.87±0.03"),
        (f"{TEN}-sa1", "9.31±0.01"),
        (f"{TEN}-sa2", None),
    ],
)
def test_table_4(name, cell):
    assert printed(name, "4") == cell


@pytest.mark.parametrize(
    ("arm", "k", "error"),
    [("sa1-k1", 1, 37.78), ("sa1-k2", 2, 37.27), ("sa1-k3", 3, 36.34), ("sa1", 4, 36.31)],
)
def test_table_9_has_single_runs(arm, k, error):
    entry = find(f"{HUNDRED}-{arm}")
    assert (entry.recipe.weight.mode, entry.recipe.weight.k) == ("SA1", k)
    assert PaperNumber("9", error) in entry.paper
    assert PaperNumber("9", error).place == "Table 9, a single run"


def test_the_tables_have_no_other_rows():
    with_number = {entry.recipe.name for entry in ROWS if entry.paper}
    tables = {name for name, _, cell in table_8() if cell != "diverged"}
    tables |= {f"{HUNDRED}-sa1-k{k}" for k in (1, 2, 3)} | {f"{TEN}-baseline", f"{TEN}-sa1"}
    assert with_number == tables


def test_the_paper_s_rows_are_as_the_text_says():
    recipe = find(f"{HUNDRED}-sa1").recipe
    assert (recipe.epochs, recipe.batch, recipe.optim.lr) == (500, 512, 0.2)
    assert (recipe.optim.momentum, recipe.optim.weight_decay) == (0.9, 5e-4)
    assert (recipe.optim.warmup_epochs, recipe.weight) == (0, PairSpec("SA1", k=4, p_min=0))
    assert recipe.method == SimSiamSpec(hidden=2048, bottleneck=512, num_layers=3)
    assert recipe.views == ViewsSpec(scale=(0.2, 1.0), ratio=(3 / 4, 4 / 3))
    assert recipe.probe == ProbeSpec(epochs=100, lr=10, drops=(0.6, 0.8))


def test_a_name_begins_with_data_method_and_model():
    for recipe in (entry.recipe for entry in ROWS):
        assert recipe.name.startswith(f"{recipe.data.name}-{recipe.method.word}-{recipe.model}-")


def test_a_row_changes_the_weight_of_pairs_or_the_learning_rate():
    for entry in ROWS:
        parts = {re.split(r"[.:]", line)[0] for line in entry.changes}
        if entry.parent is None:
            assert entry.recipe.name.endswith("-baseline")
        elif entry.recipe.name in (f"{TEN}-sa2", f"{HUNDRED}-sa2"):
            assert parts == {"weight", "optim"}
        else:
            assert parts == ({"optim"} if "-lr" in entry.recipe.name else {"weight"})


@pytest.mark.parametrize("data", ["cifar10", "cifar100"])
def test_small_rows_differ_in_the_weight_of_pairs_alone(data):
    first, *others = (
        find(f"{data}-simsiam-resnet8-s2-{arm}").recipe for arm in ("baseline", "sa1", "sa2")
    )
    for other in others:
        changed = differences(as_dict(first), as_dict(other))
        assert {line.split(":")[0] for line in changed} == {"name", "weight.mode"}


def test_the_keys_of_a_recipe_say_which_kind_it_is():
    values = as_dict(find(f"{TEN}-sa1").recipe)
    assert isinstance(from_dict(values), PretrainRecipe)
    assert isinstance(from_dict(as_dict(find("cifar10-resnet18-soft").recipe)), Recipe)
    barlow = as_dict(find("cifar10-barlow-twins-resnet18-sa1").recipe)
    assert from_dict(barlow).method == BarlowTwinsSpec()
    with pytest.raises(ValueError, match=r"got 'views\.scal'; did you mean 'views\.scale'"):
        from_dict({**values, "views": {**values["views"], "scal": [0.2, 1.0]}})


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["--weight.k", "2"], ["weight.k: 4.0 -> 2.0"]),
        (["--weight.mode", "SA2"], ['weight.mode: "SA1" -> "SA2"']),
        (["--method.hidden", "64"], ["method.hidden: 2048 -> 64"]),
        (["--method.no-fixed-predictor-lr"], ["method.fixed_predictor_lr: true -> false"]),
        (["--probe.drops", "0.5"], ["probe.drops: [0.6, 0.8] -> [0.5]"]),
        (["--views.scale", "0.08", "1"], ["views.scale: [0.2, 1.0] -> [0.08, 1.0]"]),
    ],
)
def test_an_override_changes_what_it_names(arguments, lines):
    recipe = find(f"{HUNDRED}-sa1").recipe
    changed = tyro.cli(tyro.conf.AvoidSubcommands[PretrainRecipe], default=recipe, args=arguments)
    assert differences(as_dict(recipe), as_dict(changed)) == lines


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PairSpec("SA3"), "weight: mode must be one of"),
        (lambda: PairSpec(k=0), "weight: k must be > 0"),
        (lambda: PairSpec(p_min=2), "weight: p_min must be a number in 0..1"),
        (lambda: ViewsSpec(scale=(0.5, 0.2)), "views: scale must be 0 < low <= high"),
        (lambda: ViewsSpec(jitter=(0.4, 0.4, 0.4, 0.6)), "of the hue, must be at most 0.5"),
        (lambda: ViewsSpec(jitter=(-1, 0, 0, 0)), r"views: jitter\[0\] must be a number >= 0"),
        (lambda: ViewsSpec(jitter=(0.4, 0.4, 0.1)), "views: jitter must be a tuple of four"),
        (lambda: ViewsSpec(jitter=0.4), "views: jitter must be a tuple of four: .* got float 0.4"),
        (lambda: ProbeSpec(drops=0.6), "probe: drops must be a tuple of shares"),
        (lambda: ViewsSpec(grey_p=1.5), "views: grey_p must be a number in 0..1"),
        (lambda: SimSiamSpec(hidden=0), "method: hidden must be a whole number >= 1"),
        (lambda: BarlowTwinsSpec(redundancy=-1), "method: redundancy must be a number >= 0"),
        (lambda: ProbeSpec(epochs=0), "probe: epochs must be a whole number >= 1"),
        (lambda: ProbeSpec(drops=(1.5,)), r"probe: drops\[0\] must be a number in 0..1"),
        (lambda: PretrainRecipe("a", "resnet8", batch=1), "batch must be at least 2, got 1"),
        (lambda: PretrainRecipe("a/b", "resnet8"), "name must be a word"),
        (lambda: PretrainRecipe("a", "resnet8", method=None), "SimSiamSpec or BarlowTwinsSpec"),
        (
            lambda: PretrainRecipe("a", "resnet8", DataSpec("folder:x", unreadable="skip")),
            'data.unreadable must be "refuse"',
        ),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_warm_up_longer_than_training_is_refused():
    recipe = find(f"{TEN}-sa1").recipe
    with pytest.raises(ValueError, match="warmup_epochs must be below the 5 epochs, got 5"):
        replace(recipe, epochs=5, optim=replace(recipe.optim, warmup_epochs=5.0))
