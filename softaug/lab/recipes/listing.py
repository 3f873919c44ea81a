"""The command `softaug recipes`: an overview, the rows that some words name, or one row."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

from softaug.checks import nearest, refuse
from softaug.lab.recipes.catalog import entries, family_of
from softaug.lab.recipes.config import AnyRecipe
from softaug.lab.recipes.paper_numbers import spread
from softaug.lab.recipes.paper_tables import all_tables
from softaug.lab.recipes.rows import Entry, header, row_name
from softaug.lab.recipes.serialize import as_dict, dotted

USAGE = """usage: softaug recipes [WORD ...]

List what can be trained; piped, one name a line.

  softaug recipes                       an overview
  softaug recipes cifar100 soft         names that contain both words
  softaug recipes table2                what a table, a figure or a study needs
  softaug recipes digits-resnet8-soft   one recipe: command, settings, the paper's number, cost"""
WIDTH = 80  # letters of a line of the overview
EMBEDDED = ("fashion-mini", "digits")  # data that need no download


def recipes(arguments: Sequence[str]) -> None:
    """Run `softaug recipes` with these arguments."""
    if {"-h", "--help"} & set(arguments):
        print(USAGE)
        return
    words = [word.lower() for word in arguments]
    rows = match_recipes(words)
    lines: Iterator[str] = (entry.recipe.name for entry in rows)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        lines = format_matches(rows, words, width) if words else format_overview()
    print("\n".join(lines))


def match_recipes(words: Sequence[str]) -> list[Entry]:
    """Return the rows whose name contains every word; a table's name stands for its rows.

    Where there is none, the nearest name is in the error.
    """
    needed = {table.name: set(table.recipes) for table in all_tables()}

    def fits(name: str, word: str) -> bool:
        return name in needed[word] if word in needed else word in name

    matches = [each for each in entries() if all(fits(each.recipe.name, word) for word in words)]
    if not matches:
        rule = "a recipe's name must contain every word"
        refuse("recipes", rule, " ".join(words), _remedy(words, list(needed)))
    return matches


def _remedy(words: Sequence[str], tables: list[str]) -> str:
    """Name what is most like the words; else what is most like the first unknown word."""
    names = [entry.recipe.name for entry in entries()]
    parts = sorted({part for name in names for part in name.split("-")} | set(tables))
    unknown = [word for word in words if not any(word in name for name in names)]
    remedy = nearest("-".join(words), names) or (nearest(unknown[0], parts) if unknown else "")
    return remedy or "`softaug recipes` lists them all"


def format_overview() -> Iterator[str]:
    """Yield what to try first, what one CPU core can do, and what the paper's tables need."""
    rows = entries()
    embedded = [row for name in EMBEDDED for row in rows if row.recipe.data.name == name]
    yield f"{len(rows)} recipes. `softaug recipes WORD ...` lists those with all the words,"
    yield "`softaug recipes NAME` shows one, `softaug train NAME` trains it."
    yield "\nFirst, on a laptop: nothing to download"
    longest = max(len(row.recipe.name) for row in embedded)
    for row in embedded:
        yield f"  {row.recipe.name:{longest}}  {row.cost}"
    yield "\nSmall networks, timed on one CPU core"
    small = [row for row in rows if "CPU core" in row.cost and row not in embedded]
    yield from _format_families(small)
    yield "\nThe paper's networks, with the paper's times"
    yield from _format_families([row for row in rows if "CPU core" not in row.cost])
    yield "\nBy table or figure of the paper, and by study: `softaug reproduce NAME` runs it"
    longest = max(len(table.name) for table in all_tables())
    for table in all_tables():
        if table.recipes:
            title = textwrap.shorten(table.title, WIDTH - longest - 8, placeholder=" ...")
            yield f"  {table.name:{longest}} {len(table.recipes):3}  {title}"


def _format_families(rows: Sequence[Entry]) -> Iterator[str]:
    """Yield a line for each data set and network: how many rows it has, and what they cost."""
    families: dict[str, list[Entry]] = {}
    for entry in rows:
        families.setdefault(row_name(*family_of(entry), "*"), []).append(entry)
    longest = max(map(len, families))
    for name, members in sorted(families.items()):
        costs = list(dict.fromkeys(_shorten_cost(entry.cost) for entry in members))
        cost = costs[0] if len(costs) == 1 else f"{costs[0]}; others differ"
        yield f"  {name:{longest}} {len(members):3}  {cost}"


def _shorten_cost(cost: str) -> str:
    """Return a cost without its remarks.

    >>> _shorten_cost("about 12 minutes on one CPU core, and 3 for the probe")
    'about 12 minutes'
    """
    return re.split(r" \(|[,;]", cost)[0].removesuffix(" on one CPU core")


def format_matches(matches: Sequence[Entry], words: Sequence[str], width: int) -> Iterator[str]:
    """Yield one row whole if it is the only one or called by its full name, else a list."""
    called = [entry for entry in matches if entry.recipe.name in words] or matches
    if len(called) == 1:
        yield header(called[0])
        yield format_settings(called[0].recipe)
        return
    longest = max(len(entry.recipe.name) for entry in matches)
    yield f"{'recipe':{longest}}  {'error % (paper)':>15}"
    for entry in matches:
        yield f"{entry.recipe.name:{longest}}  {_paper_error(entry):>15}"
        text = f"{entry.about}; {entry.cost}"
        yield from (
            f"    {line}" for line in textwrap.wrap(text, width - 4, break_on_hyphens=False)
        )


def _paper_error(entry: Entry) -> str:
    """The paper's first error on the row's own test images: tables agree but for its spread."""
    for number in entry.paper:
        if number.error is not None and not number.on:
            return spread(number.error, number.se)
    return "-"


def format_settings(recipe: AnyRecipe) -> str:
    """Return every setting of a recipe on a line of its own, by the name that overrides it."""
    flat = dotted(as_dict(recipe))
    return "\n".join(f"{name} = {json.dumps(value)}" for name, value in flat.items())
