"""The command lines that make a result file again, as its page shows them."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from softaug.evaluation.robustness import HARMS, HarmName


def shown_path(path: Path | str) -> str:
    """A path as a reader may use it: from here where it lies below, else as it was given.

    >>> shown_path(Path.cwd() / "runs" / "a"), shown_path("../b")
    ('runs/a', '../b')
    """
    given, here = Path(path), Path.cwd()
    below = given.is_absolute() and given.is_relative_to(here) and given != here
    return str(given.relative_to(here) if below else given)


def evaluate_command(
    runs: Sequence[Path],
    draws: int,
    also: Sequence[str],
    resize: Sequence[int],
    ensemble_out: Path | None,
    held_out: bool = False,
    harms: Sequence[HarmName] = HARMS,
) -> str:
    """`softaug evaluate` with all that its numbers depend on, but for where data sets lie.

    >>> evaluate_command([Path("runs/a")], 3, ["v2=my images"], [256], None)
    "softaug evaluate runs/a --draws 3 --also 'v2=my images' --resize 256"
    """
    parts = ["softaug", "evaluate", *map(shown_path, runs), "--draws", str(draws)]
    parts += ["--held-out"] if held_out else []
    parts += ["--harms", *harms] if tuple(harms) != HARMS else []
    parts += ["--also", *map(_shown_also, also)] if also else []
    parts += ["--resize", *map(str, resize)] if resize else []
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
