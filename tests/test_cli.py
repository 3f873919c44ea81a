"""The command line: what it lists, refuses and loads; each subcommand has tests of its own."""

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from softaug.lab.cli import COMMANDS, LAB_EXTRA, main

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
LOADED = "import sys; import softaug.__main__ as m\ntry: m.main()\nexcept SystemExit: pass\n"
LOADED += "print(*sys.modules, file=sys.stderr)"


def run(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command in this process: its exit code, and what it prints."""

    def run_main(*arguments):
        monkeypatch.setattr(sys, "argv", ["softaug", *arguments])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        return code, *capsys.readouterr()

    return run_main


@pytest.mark.parametrize("arguments", [["--help"], ["trian"], ["recipes"], ["recipes", "tabel3"]])
def test_listing_and_refusing_loads_no_torch_and_takes_half_a_second(arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    loaded = set(run(LOADED, *arguments).stderr.split())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "softaug.lab.cli" in loaded
    assert not {"torch", "torchvision", "numpy", "matplotlib", "pydantic"} & loaded
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "'trian' is not a command; did you mean 'train'?"),
        (["xyzzy"], "'xyzzy' is not a command; `softaug --help` lists them"),
        (["recipes", "cifar100-resnet18-sotf"], "did you mean 'cifar100-resnet18-soft'?"),
        (["train", "digits-resnet8-sotf"], "did you mean 'digits-resnet8-soft'?"),
        (["data", "cifar-10"], "did you mean 'cifar10'?"),
        (["data", "no/such"], "must be that of a folder of classes, got no/such, which is none"),
        (["train", "no/such"], "must be that of a folder of classes, got no/such, which is none"),
    ],
)
def test_a_wrong_word_is_one_line_and_code_2_and_names_the_nearest(call, arguments, message):
    code, _, error = call(*arguments)
    assert code == 2
    assert error.strip().endswith(message)
    assert len(error.splitlines()) == 1


def test_every_command_has_a_help_of_its_own(call):
    code, shown, _ = call("--help")
    names = [line.split()[0] for line in shown.splitlines() if line[:2] == "  "]
    assert (code, names) == (0, [*COMMANDS])
    assert call()[0] == 2
    for name in COMMANDS:
        code, shown, _ = call(name, "--help")
        assert (code, shown[:6]) == (0, "usage:"), name


def test_an_unknown_option_is_refused_with_the_nearest(call):
    code, *printed = call("evaluate", "runs", "--ensembel")
    assert code == 2
    assert "--ensemble" in "".join(printed)


@pytest.mark.parametrize("module", ["tyro", "pydantic", "tensorboard"])
def test_without_the_lab_extra_the_command_says_what_to_install(module, tmp_path):
    code = f"import sys; sys.modules[{module!r}] = None; from softaug.lab.cli import main; main()"
    refused = run(code, "train", "digits-resnet8-soft", "--epochs=1", f"--out={tmp_path}")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "pip install 'softaug[lab]'" in refused.stderr


def test_load_run_without_the_lab_extra_says_what_to_install():
    code = "import sys; sys.modules['pydantic'] = None; import softaug; softaug.lab.load_run"
    assert "load_run needs the lab extra" in run(code).stderr


def test_the_lab_extra_is_what_the_command_asks_for():
    tomllib = pytest.importorskip("tomllib")  # not in Python 3.10
    extra = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["lab"]
    imported_as = {"scikit-learn": "sklearn", "PyMaxflow": "maxflow"}
    names = [re.split("[><=]", one)[0] for one in extra]
    assert {imported_as.get(name, name) for name in names} == set(LAB_EXTRA)


def test_a_reader_that_stops_early_ends_it_without_a_word():
    with subprocess.Popen(
        [sys.executable, "-m", "softaug", "recipes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
