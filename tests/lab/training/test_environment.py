import subprocess
from pathlib import Path

from softaug.lab.training.logging import commit, environment, num_cores, package_version

NAME = ["-c", "user.name=x", "-c", "user.email=x@example.org"]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), *NAME, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_commit_of_a_branch_of_packed_refs_and_of_a_second_worktree(tmp_path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    git(first, "init", "-q")
    assert commit(first) is None, "there is none before the first"
    git(first, "commit", "-q", "--allow-empty", "-m", "x")
    head = git(first, "rev-parse", "HEAD")
    assert commit(first) == head
    git(first, "pack-refs", "--all")
    git(first, "worktree", "add", "-q", "--detach", str(tmp_path / "second"))
    assert commit(first) == commit(tmp_path / "second") == head


def test_no_commit_outside_a_repository_or_below_its_root(tmp_path) -> None:
    assert commit(tmp_path) is None
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    (tmp_path / "package").mkdir()
    assert commit(tmp_path / "package") is None, "that of another project's repository"


def test_environment_names_versions_and_hardware() -> None:
    found = environment()
    assert found["torch"].startswith("2.")
    assert found["cores"] == num_cores() >= 1
    assert found["cpu"]
    assert package_version("no-such-package") == "not installed"
