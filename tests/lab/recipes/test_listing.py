import re

import pytest

from softaug.lab.recipes import entries, find, header
from softaug.lab.recipes.listing import (
    format_matches,
    format_overview,
    format_settings,
    match_recipes,
    recipes,
)
from softaug.lab.recipes.paper_tables import find_tables

NAMES = [entry.recipe.name for entry in entries()]


def shown(*words, width=80):
    return "\n".join(format_matches(match_recipes(words), words, width))


def test_piped_it_is_one_whole_name_a_line(capsys):
    recipes([])
    assert capsys.readouterr().out.splitlines() == NAMES
    recipes(["CIFAR10-", "soft"])
    found = capsys.readouterr().out.split()
    assert found == [name for name in NAMES if name.startswith("cifar10-") and "soft" in name]


def test_a_table_or_a_study_stands_for_its_rows():
    for name in ("table3", "where-it-pays"):
        (table,) = find_tables([name])
        found = [entry.recipe.name for entry in match_recipes([name])]
        assert sorted(found) == sorted(table.recipes)
    ensembles = [entry.recipe.name for entry in match_recipes(["table3", "ensemble"])]
    assert ensembles == ["cifar100-wrn28-10-ensemble", "cifar10-wrn28-10-ensemble"]


def test_the_overview_is_short_and_begins_with_what_a_laptop_can_do():
    text = "\n".join(format_overview())
    assert len(text.splitlines()) < 80
    assert max(map(len, text.splitlines())) <= 80
    places = [text.index(part) for part in ("digits-resnet8-soft", "Small networks", "table1")]
    assert places == sorted(places)
    counted = re.findall(r"^  \S+-\* +(\d+)", text, re.MULTILINE)
    embedded = [name for name in NAMES if name.startswith(("digits", "fashion-mini"))]
    assert sum(map(int, counted)) + len(embedded) == len(NAMES)


def test_a_list_has_the_paper_s_error_what_a_row_is_and_its_cost():
    lines = shown("cifar100", "resnet18", width=60).splitlines()
    row = lines.index(next(line for line in lines if line.startswith("cifar100-resnet18-soft ")))
    assert lines[row].split()[1:] == ["18.31", "±", "0.17"]
    assert lines[row + 1].startswith("    Soft Augmentation: far crops")
    assert "2.5 V100-hours" in " ".join(lines[row + 1 : row + 5])
    assert all(line.startswith("c") or len(line) <= 60 for line in lines[1:])
    assert next(line for line in lines if "soft-no-decay" in line).endswith(" -")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["cifar10-", "soft-trivial", "wrn"], "cifar10-wrn28-10-soft-trivialaugment"),
        (["cifar100-resnet18-soft"], "cifar100-resnet18-soft"),  # longer names contain it
    ],
)
def test_one_row_is_shown_whole(words, name):
    entry = find(name)
    assert shown(*words) == f"{header(entry)}\n{format_settings(entry.recipe)}"
    assert '\nloss.soften = "both"\n' in format_settings(entry.recipe)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["cifar100", "resnet18", "sotf"], "did you mean 'cifar100-resnet18-soft'?"),
        (["tabel3"], "did you mean 'table3'?"),
        (["xyz"], "`softaug recipes` lists them all"),
        (["digits", "hard", "soft"], "did you mean 'digits-resnet8-soft'?"),
    ],
)
def test_words_without_a_match_are_refused_with_the_nearest(words, remedy):
    with pytest.raises(ValueError, match=r"^recipes: a recipe's name must contain") as refused:
        match_recipes(words)
    assert str(refused.value).endswith(f"got {' '.join(words)}; {remedy}")
