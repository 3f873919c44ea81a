"""The Python code of README and docs runs, links lead somewhere, and pages stay short."""

import importlib
import re
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
DOCS = sorted(ROOT.glob("docs/**/*.md"))
PAGES = [*ROOT.glob("*.md"), *DOCS, *ROOT.glob("studies/**/*.md")]
GUIDE = sorted(path.stem for path in ROOT.glob("docs/guide/*.md"))
REFERENCE = ["softaug", "softaug.transforms", "softaug.pacing", "softaug.metrics"]


def python_blocks(page):
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))


@pytest.mark.parametrize("images", ["uint8", "float"])
def test_the_readme_loop_runs_as_pasted(images):
    code = python_blocks("README.md")
    if images == "float":
        code = re.sub(r"torch\.randint\(256.*?uint8\)", "torch.rand(8, 3, 32, 32)", code, count=1)
        assert "uint8" not in code
    scope = {}
    exec(code, scope)
    assert scope["loss"].isfinite()


def run_page(page, folder, monkeypatch):
    """Execute a page's blocks as one program; what it writes goes into `folder`."""
    monkeypatch.chdir(folder)
    for name in ("a.jpg", "b.jpg"):  # the page on ImageNet reads two photographs
        Image.new("RGB", (120, 90), "olive").save(name)
    scope = {"__name__": "page"}
    exec(python_blocks(f"docs/guide/{page}.md"), scope)
    return scope


@pytest.mark.parametrize("page", GUIDE)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    scope = run_page(page, tmp_path, monkeypatch)
    if page == "training":
        assert scope["wide"].augment.crop.sigma == 0.5
        assert 0 <= scope["result"]["error"] <= 1
        assert (tmp_path / "runs/mine/result.json").exists()
    if page == "curves":
        assert scope["loss"].prior.shape == (3, 3)
    if page == "imagenet":
        assert scope["batch"].images.shape == (2, 3, 64, 64)
    if page == "reproduce":
        assert scope["plan"].runs


def test_links_lead_somewhere():
    for page in PAGES:
        links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        missing = [n for n in links if "://" not in n and not (page.parent / n).exists()]
        assert missing == [], page


def test_the_page_on_other_libraries_names_every_example_and_the_pinned_versions():
    page = (ROOT / "docs/guide/clients.md").read_text()
    assert {path.name for path in ROOT.glob("examples/*.py")} == set(
        re.findall(r"\[(\w+\.py)\]", page)
    )
    pins = re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    tested = set(re.findall(r"^\| ([a-z]+) ([\d.]+) \|", page, re.MULTILINE))
    assert len(tested) > 5
    assert tested <= set(pins)


def test_the_locked_versions_are_the_pinned_ones():
    pattern = r"^([\w.-]+)==(\S+)"
    pinned, locked = (
        {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pairs}
        for pairs in (
            re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE)
            for file in ("constraints.txt", "requirements-lab.txt")
        )
    )
    names = {name for name, _ in pinned}
    assert len(locked) > 60
    assert {pair for pair in locked if pair[0] in names} <= pinned


def test_paths_and_commands_that_are_named_exist():
    for path in [*ROOT.glob("softaug/**/*.py"), *ROOT.glob("benchmarks/*.py")]:
        for name in re.findall(r"\b(docs/[\w/.-]+\.md)", path.read_text()):
            assert (ROOT / name).exists(), f"{path} names {name}"
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


def test_the_map_of_the_code_is_current(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from make_map import make_map

    assert make_map() in (ROOT / "CONTRIBUTING.md").read_text(), "run python docs/make_map.py"


def test_docs_stay_short_enough_to_be_read():
    words = {page: len(page.read_text().split()) for page in DOCS}
    assert sum(words.values()) <= 20_000
    assert words[ROOT / "docs/results/self-paced.md"] <= 1_500
    assert len((ROOT / "README.md").read_text().split()) <= 700


@pytest.mark.parametrize("package", REFERENCE)
def test_the_reference_has_every_public_name(package):
    """A module that defines it, or a constant's value, has a directive on a page."""
    text = "\n".join(path.read_text() for path in ROOT.glob("docs/reference/*.md"))
    listed = set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))
    public = {name: getattr(importlib.import_module(package), name) for name in names_of(package)}
    constants = [name for name, value in public.items() if not hasattr(value, "__module__")]
    shown = {name for module in listed for name in vars(importlib.import_module(module))}
    assert [name for name in constants if name not in shown] == []
    modules = {name: value.__module__ for name, value in public.items() if name not in constants}
    assert [name for name, module in modules.items() if module not in listed] == []


def names_of(package):
    return importlib.import_module(package).__all__
