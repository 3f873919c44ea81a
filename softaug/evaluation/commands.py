"""The command lines that make a result file again, as its page shows them."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from softaug.evaluation.options import EvaluationOptions
from softaug.evaluation.robustness import HARMS


def shown_path(path: Path | str) -> str:
    """A path as a reader may use it: from here where it lies below, else as it was given.

    >>> shown_path(Path.cwd() / "runs" / "a"), shown_path("../b")
    ('runs/a', '../b')
    """
    given, here = Path(path), Path.cwd()
    below = given.is_absolute() and given.is_relative_to(here) and given != here
    return str(given.relative_to(here) if below else given)


def evaluate_command(
    runs: Sequence[Path], options: EvaluationOptions, ensemble_out: Path | None
) -> str:
    """`softaug evaluate` with all that its numbers depend on, but for where data sets lie.

    >>> options = EvaluationOptions(also=("v2=my images",), resize=(256,))
    >>> evaluate_command([Path("runs/a")], options, None)
    "softaug evaluate runs/a --draws 3 --also 'v2=my images' --resize 256"
    """
    parts = ["softaug", "evaluate", *map(shown_path, runs), "--draws", str(options.draws)]
    parts += ["--held-out"] if options.held_out else []
    parts += ["--harms", *options.harms] if options.harms != HARMS else []
    parts += ["--also", *map(_shown_also, options.also)] if options.also else []
    parts += ["--resize", *map(str, options.resize)] if options.resize else []
    if ensemble_out is not None:
        parts += ["--ensemble", "--out", shown_path(ensemble_out)]
    return shlex.join(parts)


def compare_command(folders: Sequence[Path], out: Path) -> str:
    """`softaug compare` of these folders.

    >>> compare_command([Path("runs/a"), Path("runs/b")], Path("a-b"))
    'softaug compare runs/a runs/b --out a-b'
    """
    return shlex.join(["softaug", "compare", *map(shown_path, folders), "--out", shown_path(out)])


def _shown_also(text: str) -> str:
    name, _, paths = text.partition("=")
    return f"{name}={','.join(map(shown_path, paths.split(',')))}"
