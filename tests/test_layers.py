"""The import contracts of pyproject.toml hold, and a bare `import softaug` stays light."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEAVY = {"matplotlib", "jinja2", "rich", "tyro", "sklearn", "scipy", "safetensors", "ray"}


def test_imports_go_one_way():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_import_of_the_library_loads_nothing_of_the_lab():
    code = "import sys, softaug; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & HEAVY
    assert not any(name.startswith("softaug.lab") for name in loaded)
