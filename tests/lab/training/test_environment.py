from pathlib import Path

from softaug.lab.training.logging import commit, environment, num_cores, package_version

HASH = "0123456789abcdef0123456789abcdef01234567"


def repository(tmp_path: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (tmp_path / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / ".git" / name).write_text(text)
    return tmp_path


def test_commit_of_a_branch(tmp_path) -> None:
    files = {"HEAD": "ref: refs/heads/main\n", "refs/heads/main": HASH + "\n"}
    assert commit(repository(tmp_path, files)) == HASH


def test_commit_of_a_packed_branch(tmp_path) -> None:
    packed = f"# pack-refs\n{'f' * 40} refs/heads/other\n{HASH} refs/heads/main\n"
    files = {"HEAD": "ref: refs/heads/main\n", "packed-refs": packed}
    assert commit(repository(tmp_path, files)) == HASH


def test_commit_of_a_detached_head(tmp_path) -> None:
    assert commit(repository(tmp_path, {"HEAD": HASH})) == HASH


def test_commit_of_a_second_worktree(tmp_path) -> None:
    main = repository(tmp_path / "main", {"refs/heads/other": HASH})
    private = main / ".git" / "worktrees" / "second"
    private.mkdir(parents=True)
    (private / "HEAD").write_text("ref: refs/heads/other\n")
    (private / "commondir").write_text("../..\n")
    second = tmp_path / "second"
    second.mkdir()
    (second / ".git").write_text(f"gitdir: {private}\n")
    assert commit(second) == HASH


def test_no_commit_outside_a_repository_or_before_the_first(tmp_path) -> None:
    assert commit(tmp_path) is None
    assert commit(repository(tmp_path, {"HEAD": "ref: refs/heads/main\n"})) is None


def test_environment_names_versions_and_hardware() -> None:
    found = environment()
    assert found["torch"].startswith("2.")
    assert found["cores"] == num_cores() >= 1
    assert found["cpu"]
    assert package_version("no-such-package") == "not installed"
