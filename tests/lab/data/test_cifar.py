"""CIFAR's binary files: reading them, and writing them from torchvision's download."""

import hashlib
import io
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from torchvision.datasets import CIFAR10, CIFAR100

from softaug.lab.data.cifar import RELEASES, convert_from_torchvision
from softaug.lab.data.images import load

needs_data = pytest.mark.skipif(
    "SOFTAUG_DATA" not in os.environ, reason="SOFTAUG_DATA names no folder with real CIFAR"
)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Two-image files in CIFAR-100's layout: coarse byte, fine byte, pixels."""
    release = replace(RELEASES["cifar100"], images_in_file={"train": 2, "test": 2})
    monkeypatch.setitem(RELEASES, "cifar100", release)
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for split in ("train", "test"):
        records = [bytes([19, 99, *([7] * 1024), *([8] * 1024), *range(256)] + [9] * 768)] * 2
        (folder / f"{split}.bin").write_bytes(b"".join(records))
    for kind, num in (("coarse", 20), ("fine", 100)):
        (folder / f"{kind}_label_names.txt").write_text("\n".join(f"c{i}" for i in range(num)))
    return tmp_path


@pytest.mark.filterwarnings("ignore:cifar")
def test_a_record_is_labels_then_planes_row_by_row(small):
    data = load("cifar100", small)
    assert data.train.labels.tolist() == [99, 99]
    assert data.train.images.shape == (2, 3, 32, 32)
    assert data.train.images[0, :, 5, 5].tolist() == [7, 8, 5 * 32 + 5]
    assert load("cifar100", small, labels="coarse").test.labels.tolist() == [19, 19]


def test_an_unknown_checksum_is_a_warning(small):
    with pytest.warns(UserWarning, match="differs from the official release"):
        load("cifar100", small)


def test_a_short_file_is_refused_by_name(small):
    path = small / "cifar-100-binary" / "test.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"test\.bin must hold 6148 bytes, got 6147"):
        load("cifar100", small)


@pytest.mark.filterwarnings("ignore:cifar")
def test_a_label_out_of_range_is_refused(small):
    path = small / "cifar-100-binary" / "train.bin"
    path.write_bytes(path.read_bytes().replace(bytes([19, 99]), bytes([19, 100])))
    with pytest.raises(ValueError, match=r"fine labels of .* must be in 0\.\.99, got 100"):
        load("cifar100", small)


def test_missing_files_say_how_to_get_them(tmp_path):
    command = rf"`softaug data cifar10 --data-dir {tmp_path}` gets it"
    with pytest.raises(ValueError, match=rf"data_batch_1\.bin must exist.*{command}.*SOFTAUG"):
        load("cifar10", tmp_path)


def test_without_a_folder_the_cache_is_looked_in(monkeypatch, tmp_path):
    monkeypatch.delenv("SOFTAUG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "softaug" / "data" / "cifar-10-batches-bin" / "data_batch_1.bin"
    with pytest.raises(ValueError, match=rf"{path} must exist.*`softaug data cifar10` gets it"):
        load("cifar10")


@needs_data
@pytest.mark.parametrize(
    ("name", "means"),
    [("cifar10", (0.4914, 0.4822, 0.4465)), ("cifar100", (0.5071, 0.4865, 0.4409))],
)
def test_real_files_are_the_official_ones(name, means, recwarn):
    if not (os.path.isdir(os.path.join(os.environ["SOFTAUG_DATA"], RELEASES[name].folder))):
        pytest.skip(f"no {name} in SOFTAUG_DATA")
    data = load(name)
    assert len(data.train.labels) == 50_000
    assert len(data.test.labels) == 10_000
    assert data.train.labels.bincount().unique().tolist() == [50_000 // len(data.class_names)]
    found = (data.train.images.double().mean((0, 2, 3)) / 255).tolist()
    assert [round(mean, 4) for mean in found] == list(means)
    assert len(recwarn) == 0
    assert torch.equal(data.train.labels, load(name).train.labels)


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
    convert_from_torchvision("cifar100", downloaded.parent, home, Console(file=out, width=300))
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
    convert_from_torchvision(name, tmp_path / "tv", tmp_path / "home", Console(file=io.StringIO()))
    for file, content in files.items():
        assert (tmp_path / "home" / release.folder / file).read_bytes() == content, file
