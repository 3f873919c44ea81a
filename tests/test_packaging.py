"""What an installed package holds and says of itself."""

import io
import re
import zipfile
from pathlib import Path

import pytest

import softaug

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def project():
    tomllib = pytest.importorskip("tomllib")  # not in Python 3.10
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_a_wheel_holds_the_package_alone_in_four_megabytes(project):
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["softaug"]}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in (ROOT / "softaug").rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                wheel.write(path, path.relative_to(ROOT))
    assert len(content.getvalue()) < 4e6


def test_every_python_that_is_supported_is_a_classifier(project):
    about = project["project"]
    prefix = "Programming Language :: Python :: 3."
    minors = [int(c.removeprefix(prefix)) for c in about["classifiers"] if c.startswith(prefix)]
    assert minors == [10, 11, 12, 13]
    assert about["requires-python"] == ">=3.10"


def test_the_version_is_the_newest_of_the_changelog():
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == softaug.__version__
