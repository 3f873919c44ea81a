"""Write the map of the code into CONTRIBUTING.md: each module and its docstring's first line.

python docs/make_map.py
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
MARKED = re.compile(r"(<!-- map -->\n).*?(<!-- /map -->)", re.DOTALL)


def make_map() -> str:
    """Return the map as an indented block, packages before what they hold."""
    lines = [line for package in ("softaug", "benchmarks") for line in map_folder(ROOT / package)]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def map_folder(folder: Path, depth: int = 0) -> list[str]:
    """Return a line for a package, for each of its modules, and for the packages in it."""
    start = "  " * depth
    lines = [format_line(f"{start}{folder.name}/", folder / "__init__.py")]
    modules = sorted(path for path in folder.glob("*.py") if not path.name.startswith("__"))
    lines += [format_line(f"{start}  {path.stem}", path) for path in modules]
    for package in sorted(path.parent for path in folder.glob("*/__init__.py")):
        lines += map_folder(package, depth + 1)
    return lines


def format_line(name: str, path: Path) -> str:
    """Return a name and the first line of its docstring."""
    return f"{name:<28}{read_summary(path)}".rstrip()


def read_summary(path: Path) -> str:
    """Return the first sentence of a module's docstring, without its period."""
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").removesuffix(".")


if __name__ == "__main__":
    new = MARKED.sub(lambda found: found.group(1) + make_map() + found.group(2), PAGE.read_text())
    PAGE.write_text(new)
