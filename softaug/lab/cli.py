"""The `softaug` command: it knows its subcommands by name, and imports the one that runs."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, NoReturn

from softaug import __version__
from softaug.checks import nearest


class Command(NamedTuple):
    """A subcommand: where its function is, and what it does."""

    function: str
    """module:function in softaug.lab"""
    about: str
    parses: bool = False
    """whether the function takes the list of arguments; else tyro reads them for its parameters"""


COMMANDS = {
    "demo": Command("reproduce.command:demo", "compare hard and soft crops in minutes, on a page"),
    "recipes": Command("recipes.listing:recipes", "list what can be trained", parses=True),
    "train": Command("commands:train", "train a recipe, any setting changed; resume", parses=True),
    "evaluate": Command("commands:evaluate", "measure trained runs: error, calibration, occlusion"),
    "predict": Command("evaluation.predict:predict", "classify image files with a trained run"),
    "export": Command(
        "evaluation.export:export", "take the network out: ONNX, torch.export, state dict"
    ),
    "compare": Command("commands:compare", "compare evaluated runs over seeds, with verdicts"),
    "reproduce": Command("reproduce.command:reproduce", "run a table, figure or study"),
    "show": Command("evaluation.show:show", "draw what an augmentation does to your images"),
    "curves": Command(
        "curves.cli:curves_command", "measure what operations leave of a label", parses=True
    ),
    "data": Command("data.check:data", "get a data set, or check the one that is there"),
}
# What the lab extra installs, as it is imported.
LAB_EXTRA = (
    "filelock",
    "jinja2",
    "matplotlib",
    "maxflow",
    "maxflow",
    "pydantic",
    "rich",
    "safetensors",
    "scipy",
    "sklearn",
    "tensorboard",
    "tyro",
)
USAGE = """usage: softaug COMMAND ...

Soft Augmentation: labels that soften with what an augmentation destroyed.

{commands}

`softaug COMMAND --help` has the options of each; `softaug --version` the version."""


def main() -> None:
    """Run a subcommand; bad input ends with one line and code 2, a stop with code 130."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(format_usage())
        raise SystemExit(0 if arguments else 2)
    if arguments[0] == "--version":
        print(__version__)
        return
    try:
        run_command(arguments[0], arguments[1:])
    except BrokenPipeError:  # of a reader that stops early, such as head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        raise SystemExit(141) from None
    except (ValueError, OSError) as refused:
        _end(str(refused), 2)
    except KeyboardInterrupt:
        _end("stopped", 130)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] not in LAB_EXTRA:
            raise
        _end_without_lab(missing)
    except Exception as stopped:
        from softaug.lab.training.trainer import StoppedError

        if not isinstance(stopped, StoppedError):
            raise
        _end(str(stopped), 130)


def format_usage() -> str:
    """Return the subcommands, a line for each."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.about}" for name, command in COMMANDS.items()]
    return USAGE.format(commands="\n".join(lines))


def run_command(name: str, arguments: Sequence[str]) -> None:
    """Import a subcommand and run it; refuse an unknown name with the nearest."""
    if name not in COMMANDS:
        remedy = nearest(name, list(COMMANDS)) or "`softaug --help` lists them"
        raise ValueError(f"softaug: {name!r} is not a command; {remedy}")
    command = COMMANDS[name]
    module, _, function = command.function.partition(":")
    try:
        run: Callable[..., object] = getattr(import_module(f"softaug.lab.{module}"), function)
        if not command.parses:
            run = _with_tyro(run, name)
    except ImportError as missing:  # the library alone is installed
        _end_without_lab(missing)
    run(arguments)


def _with_tyro(function: Callable[..., object], name: str) -> Callable[[Sequence[str]], object]:
    """Return what reads the parameters of a function from a list of arguments, and calls it."""
    import tyro

    return lambda arguments: tyro.cli(function, prog=f"softaug {name}", args=arguments)


def _end_without_lab(missing: ImportError) -> NoReturn:
    remedy = "pip install 'softaug[lab]'"
    sys.exit(f"softaug: the command line needs the lab extra ({missing}); {remedy}")


def _end(message: str, code: int) -> NoReturn:
    """Say why on one process of many, and exit."""
    if os.environ.get("RANK", "0") == "0":
        print(message, file=sys.stderr)
    sys.exit(code)
