"""Data flows one way: each part of the package imports only parts before it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "softaug"
STAGES = [
    ["checks", "files", "progress"],
    ["softening"],
    ["label"],
    ["draws", "weighting", "online_smoothing"],
    ["transforms", "mixing", "pairs"],
    ["pacing", "loss_checks"],
    ["losses"],
    ["data", "models", "metrics"],
    ["recipes"],
    ["paper"],
    ["training"],
    ["evaluation"],
    ["curves"],
    ["report"],
    ["grid"],
    ["watch"],
    ["bench"],
    ["cli"],
    ["__main__"],
]
RANK = {part: rank for rank, parts in enumerate(STAGES) for part in parts}
NOT_FOR_REPORT = {
    "training",
    "recipes",
    "models",
    "transforms",
    "losses",
    "data",
}  # it reads result files
CORE = {
    "checks",
    "draws",
    "label",
    "loss_checks",
    "losses",
    "mixing",
    "online_smoothing",
    "pacing",
    "pairs",
    "softening",
    "transforms",
    "weighting",
}
HEAVY = [
    "matplotlib",
    "jinja2",
    "rich",
    "tyro",
    "sklearn",
    "scipy",
    "safetensors",
    "tensorboard",
    "ray",
]


def part_of(module):
    """softaug.lab.report.page -> report; None for the package itself and for others."""
    names = module.split(".")
    return names[1] if names[0] == "softaug" and len(names) > 1 else None


def public_parts():
    """The part that each name importable from `softaug` comes from."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: part_of(node.module) for node in imports for alias in node.names}


def imported_parts(source):
    """The parts of softaug that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {part_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "softaug":
            names = [alias.name for alias in node.names]
            found |= {public_parts().get(name, name if name in RANK else None) for name in names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write `from softaug.x import y`, so that layers can be read"
            found.add(part_of(node.module))
    return found - {None}


def wrong_imports(part, source):
    """Imports of `source`, a file of `part`, that go against the flow."""
    others = imported_parts(source) - {part}
    against = {other for other in others if RANK[other] >= RANK[part]}
    return sorted(against | (others & NOT_FOR_REPORT if part == "report" else set()))


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of_file(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_every_part_has_its_place_in_the_flow():
    assert {part_of_file(path) for path in FILES} <= set(RANK), "give the new part a stage"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    assert wrong_imports(part_of_file(path), path.read_text()) == []


@pytest.mark.parametrize(
    ("part", "source", "wrong"),
    [
        ("label", "from softaug.softening import retained", []),
        ("label", "from softaug.losses import SoftLoss", ["losses"]),
        ("transforms", "def f():\n    import softaug.losses", ["losses"]),
        ("metrics", "from softaug import SoftLoss, SoftCrop", []),
        ("metrics", "from softaug import models", ["models"]),
        ("draws", "from softaug import SoftCrop", ["transforms"]),
        ("report", "from softaug.metrics import reliability", []),
        ("report", "from softaug.lab.training import study", ["training"]),
        ("report", "from softaug import SoftCrop", ["transforms"]),
        ("cli", "from softaug.lab.report import page\nimport torch, rich", []),
    ],
)
def test_this_check_sees_wrong_imports(part, source, wrong):
    assert wrong_imports(part, source) == wrong


def ray_imports(source):
    """How a file imports Ray: {"late"} is inside functions only."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    late = {node for function in functions for node in ast.walk(function)}
    return {"late" if node in late else "early" for node in ast.walk(tree) if names_ray(node)}


def names_ray(node):
    """Whether a node of the syntax tree imports Ray or a part of it, by statement or by call."""
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "ray" for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module.split(".")[0] == "ray"
    is_call = isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func)
    return is_call and ast.unparse(node.args[0]).strip("'").split(".")[0] == "ray"


def test_ray_is_imported_in_one_file_and_only_when_it_is_used():
    found = {str(path.relative_to(PACKAGE)): ray_imports(path.read_text()) for path in FILES}
    assert {name: how for name, how in found.items() if how} == {"grid/ray_start.py": {"late"}}


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("import ray", {"early"}),
        ("from ray.util import state", {"early"}),
        ("ray = importlib.import_module('ray')", {"early"}),
        ("def f():\n    import ray.util", {"late"}),
        ("import arrays\nimport_module('x.ray')", set()),
    ],
)
def test_this_check_sees_imports_of_ray(source, how):
    assert ray_imports(source) == how


@pytest.fixture(scope="module")
def loaded_by_import():
    """The modules that a bare `import softaug` loads in a fresh interpreter."""
    code = "import sys, softaug; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("module", HEAVY)
def test_import_of_the_core_loads_no_library_of_the_lab(loaded_by_import, module):
    assert module not in loaded_by_import


def test_import_of_the_core_loads_only_the_core(loaded_by_import):
    ours = {part_of(module) for module in loaded_by_import} - {None}
    assert ours == CORE
