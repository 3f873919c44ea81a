import hashlib
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.lab.data.cifar import from_torchvision
from softaug.lab.data.releases import RELEASES

KINDS = {"cifar10": CIFAR10, "cifar100": CIFAR100}


def dump(path, content):
    """Write a pickle as the python release has them; its name and md5."""
    path.write_bytes(pickle.dumps(content))
    return [path.name, hashlib.md5(path.read_bytes()).hexdigest()]


def python_release(name, files, fine_names, root, monkeypatch):
    """torchvision's layout of the binary `files` {name: bytes}, its md5 list to match."""
    kind, num_labels = KINDS[name], len(RELEASES[name].label_bytes)
    folder = root / kind.base_folder
    folder.mkdir(parents=True)
    lists = {"train": [], "test": []}
    for file, content in files.items():
        records = np.frombuffer(content, np.uint8).reshape(-1, num_labels + 3072)
        key = "fine_labels" if name == "cifar100" else "labels"
        entry = {"data": records[:, num_labels:], key: records[:, num_labels - 1].tolist()}
        split = "test" if file.startswith("test") else "train"
        lists[split].append(dump(folder / file.removesuffix(".bin"), entry))
    meta = dict(kind.meta)
    _, meta["md5"] = dump(folder / meta["filename"], {meta["key"]: fine_names})
    monkeypatch.setattr(kind, "train_list", lists["train"])
    monkeypatch.setattr(kind, "test_list", lists["test"])
    monkeypatch.setattr(kind, "meta", meta)
    return folder


@pytest.fixture
def downloaded(tiny, tmp_path, monkeypatch):
    files = {name: content for name, content in tiny.files.items() if name.endswith(".bin")}
    return python_release("cifar100", files, tiny.fine, tmp_path / "tv", monkeypatch)


def convert(downloaded, home):
    out = io.StringIO()
    from_torchvision("cifar100", downloaded.parent, home, Console(file=out, width=300))
    return out.getvalue()


def test_the_binary_files_come_back_byte_by_byte(downloaded, tiny, tmp_path):
    text = convert(downloaded, tmp_path / "home")
    folder = tmp_path / "home" / "cifar-100-binary"
    assert {path.name for path in folder.iterdir()} == set(tiny.files)
    for name in ("train.bin", "test.bin", "coarse_label_names.txt"):
        assert (folder / name).read_bytes() == tiny.files[name]
    assert (folder / "fine_label_names.txt").read_text().split() == tiny.fine
    assert "ok: test.bin, 2 images, sha256 official" in text


def test_a_download_with_another_md5_is_not_read(downloaded, tmp_path):
    (downloaded / "test").write_bytes(b"cos\nsystem\n")  # as a harmful pickle may begin
    with pytest.raises(ValueError, match="must hold cifar-100-python as torchvision downloads it"):
        convert(downloaded, tmp_path / "home")
    assert not (tmp_path / "home" / "cifar-100-binary").exists()


def test_other_images_are_not_put_in_place(downloaded, tmp_path, monkeypatch):
    other = {"data": np.zeros((2, 3072), np.uint8), "fine_labels": [1, 2]}
    monkeypatch.setattr(CIFAR100, "test_list", [dump(downloaded / "test", other)])
    with pytest.raises(ValueError, match=r"test\.bin: sha256 is not the official one; nothing"):
        convert(downloaded, tmp_path / "home")
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".cifar-100-binary.lock"]


def test_a_set_that_is_there_is_only_checked(downloaded, tmp_path):
    convert(downloaded, tmp_path / "home")
    folder = tmp_path / "home" / "cifar-100-binary"
    made = folder.stat().st_mtime_ns
    (downloaded / "train").unlink()
    assert convert(downloaded, tmp_path / "home").count("ok: ") == 4
    assert folder.stat().st_mtime_ns == made


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_real_cifar_comes_back_with_the_official_checksums(name, tmp_path, monkeypatch):
    release = RELEASES[name]
    real = Path(os.environ.get("SOFTAUG_DATA", "")) / release.folder
    if "SOFTAUG_DATA" not in os.environ or not real.is_dir():
        pytest.skip(f"SOFTAUG_DATA names no folder with real {name}")
    files = {file: (real / file).read_bytes() for file in (*release.train, *release.test)}
    fine = (real / release.names["fine"]).read_text().split()
    python_release(name, files, fine, tmp_path / "tv", monkeypatch)
    from_torchvision(name, tmp_path / "tv", tmp_path / "home", Console(file=io.StringIO()))
    for file, content in files.items():
        assert (tmp_path / "home" / release.folder / file).read_bytes() == content, file
