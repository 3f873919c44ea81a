import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from softaug.lab.recipes import as_dict, entries, find, header
from softaug.lab.recipes.catalog import show_recipes
from softaug.lab.recipes.serialize import dotted

NAMES = [entry.recipe.name for entry in entries()]


def shown(*words, terminal, width=80):
    text = io.StringIO()
    show_recipes(words, Console(file=text, force_terminal=terminal, no_color=True, width=width))
    return text.getvalue()


@pytest.mark.parametrize("width", [10, 80, 200])
def test_piped_it_is_one_whole_name_a_line(width):
    assert shown(terminal=False, width=width).splitlines() == NAMES


def test_piped_a_full_name_still_gives_names_alone():
    name = "digits-resnet8-soft"
    assert shown(name, terminal=False) == f"{name}\n"


def test_words_keep_the_names_that_contain_them_all():
    found = shown("CIFAR10-", "soft", terminal=False).split()
    assert found == [name for name in NAMES if name.startswith("cifar10-") and "soft" in name]
    assert len(found) > 5


@pytest.mark.parametrize("width", [80, 100, 160])
def test_on_a_terminal_no_name_is_broken(width):
    lines = shown(terminal=True, width=width).splitlines()
    assert [line.split()[0] for line in lines if line.startswith(tuple(NAMES))] == NAMES
    assert max(map(len, lines[2:])) <= width + len("\x1b[2m\x1b[0m")  # dim text's codes


def test_the_table_has_the_paper_s_error_marked_as_the_paper_s_and_the_cost():
    lines = shown("cifar100", "resnet18", terminal=True, width=200).splitlines()
    row = next(line for line in lines if line.startswith("cifar100-resnet18-soft "))
    assert "error % (paper)" in lines[0]
    assert row.split()[1:3] == ["cifar100", "resnet18"]
    assert "18.31 ± 0.17   2.5 V100-hours (the paper's)" in row
    own = next(line for line in lines if line.startswith("cifar100-resnet18-soft-no-decay"))
    assert " -   2.5 V100" in own


def test_the_table_has_imagenet_s_error_and_the_header_that_of_v2_too():
    text = shown("imagenet-resnet50-baseline", terminal=True, width=200)
    row = next(line for line in text.splitlines() if line.startswith("imagenet-resnet50-baseline"))
    assert " 22.62 ± <0.01 " in row
    assert "# Expect: 34.97 ± 0.03 % error on ImageNet-V2 (paper: Table 2)" in text
    assert "# Expect: 9.91 % ECE on ImageNet-V2 (paper: Table 7, bins not stated)" in text


def test_a_cost_is_wrapped_not_cut():
    assert shown("cifar10-resnet50", terminal=True).count("(the paper's)") == 4


def test_on_a_narrow_terminal_what_a_row_is_stands_below_its_name():
    lines = shown("digits", terminal=True).splitlines()
    row = next(place for place, line in enumerate(lines) if line.startswith("digits-resnet8-soft"))
    assert "Digits: Soft" in lines[row + 1]


def test_the_only_match_is_shown_whole():
    entry = find("cifar10-wrn28-10-soft-trivialaugment")
    text = shown("cifar10-", "soft-trivial", terminal=True)
    assert header(entry) in text
    for name, value in dotted(as_dict(entry.recipe)).items():
        assert f"\n{name} = {json.dumps(value)}\n" in text


def test_a_full_name_is_shown_whole_among_longer_ones():
    text = shown("cifar100-resnet18-soft", terminal=True)
    assert "cifar100-resnet18-soft-target" in text
    assert text.count("# softaug train ") == 1
    assert "# softaug train cifar100-resnet18-soft\n" in text


def test_of_several_matches_none_is_shown_whole():
    assert "# softaug train" not in shown("digits", terminal=True)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["cifar100-resnet18-sotf"], "did you mean 'cifar100-resnet18-soft'?"),
        (["cifar100", "resnet18", "sotf"], "did you mean 'cifar100-resnet18-soft'?"),
        (["trivialagment"], "did you mean 'trivialaugment'?"),
        (["xyz"], "`softaug recipes` lists them all"),
        (["digits", "hard", "soft"], "did you mean 'digits-resnet8-soft'?"),
    ],
)
def test_words_without_a_match_are_refused_with_the_nearest(words, remedy, terminal):
    with pytest.raises(ValueError, match=r"^recipes: a recipe's name must contain") as refused:
        shown(*words, terminal=terminal)
    assert str(refused.value).endswith(f"got {' '.join(words)}; {remedy}")


def test_the_command_takes_words_and_pipes_names():
    code = "import tyro; from softaug.lab.recipes.catalog import recipes; tyro.cli(recipes)"
    command = [sys.executable, "-c", code, "digits", "hard"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["digits-resnet8-hard", "digits-resnet8-hard-aggressive"]
