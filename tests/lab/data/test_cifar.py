"""CIFAR's binary files: reading them, and writing them from torchvision's download."""

import hashlib
import io
import os
import pickle

import numpy as np
import pytest
from rich.console import Console
from torchvision.datasets import CIFAR100

from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES, convert_from_torchvision
from softaug.lab.data.images import load

NAMES = [f"class_{number}" for number in range(100)]


@pytest.fixture
def small(tiny, tmp_path):
    """The data folder with the small set; `small / ...` are its files."""
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for name, content in tiny.files.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_record_is_labels_then_planes_row_by_row(small, recwarn):
    record = bytes([COARSE_OF_FINE[99], 99, *[7] * 1024, *[8] * 1024, *range(256), *[9] * 768])
    (small / "train.bin").write_bytes(record * 4)
    with pytest.warns(UserWarning, match=r"train\.bin differs from the official release"):
        data = load("cifar100", small.parent)
    assert data.train.labels.tolist() == [99] * 4
    assert data.train.images.shape == (4, 3, 32, 32)
    assert data.train.images[0, :, 5, 5].tolist() == [7, 8, 5 * 32 + 5]
    assert data.class_names == tuple(NAMES)


def test_official_files_are_read_without_a_warning_and_may_be_written_to(small, recwarn):
    fine, coarse = (load("cifar100", small.parent, labels=kind) for kind in ("fine", "coarse"))
    groups = [COARSE_OF_FINE[label] for label in fine.test.labels.tolist()]
    assert coarse.test.labels.tolist() == groups
    assert len(coarse.class_names) == 20
    fine.train.images[0] = fine.train.labels[0] = 0
    assert len(recwarn) == 0


@pytest.mark.parametrize(
    ("file", "change", "rule"),
    [
        ("test.bin", lambda old: old[:-1], "got 6,147 bytes, should be 6,148"),
        ("train.bin", lambda old: old[:1] + b"d" + old[2:], "got fine label 100 is outside 0"),
        ("fine_label_names.txt", lambda old: b"one two", "got 2 names"),
    ],
)
def test_a_bad_file_is_refused_by_name(small, file, change, rule):
    (small / file).write_bytes(change((small / file).read_bytes()))
    command = f"; `softaug data cifar100 --data-dir {small.parent}` gets it"
    with pytest.raises(ValueError, match=f"{small / file} must .*{rule}.*{command}"):
        load("cifar100", small.parent)


def test_missing_files_say_how_to_get_them_here_or_in_the_cache(monkeypatch, tmp_path):
    rule = r"data_batch_1\.bin must hold 10,000 images, got no such file; `softaug data cifar10"
    with pytest.raises(ValueError, match=rf"{rule} --data-dir {tmp_path}` gets it.*SOFTAUG_DATA"):
        load("cifar10", tmp_path)
    monkeypatch.delenv("SOFTAUG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ValueError, match=rf"{tmp_path}/softaug/data/cifar-10-.*{rule}` gets it"):
        load("cifar10")


@pytest.mark.parametrize(
    ("name", "means"),
    [("cifar10", (0.4914, 0.4822, 0.4465)), ("cifar100", (0.5071, 0.4865, 0.4409))],
)
def test_real_files_are_the_official_ones(name, means, recwarn):
    if not os.path.isdir(os.path.join(os.environ.get("SOFTAUG_DATA", ""), RELEASES[name].folder)):
        pytest.skip(f"SOFTAUG_DATA names no folder with real {name}")
    data = load(name)
    assert data.train.labels.bincount().unique().tolist() == [50_000 // len(data.class_names)]
    assert len(data.test.labels) == 10_000
    found = [data.train.images[:, channel].float().mean() / 255 for channel in range(3)]
    assert [round(float(mean), 4) for mean in found] == list(means)
    assert len(recwarn) == 0


def dump(path, content):
    """Write a pickle as the python release has them; its name and md5."""
    path.write_bytes(pickle.dumps(content))
    return [path.name, hashlib.md5(path.read_bytes()).hexdigest()]


@pytest.fixture
def downloaded(tiny, tmp_path, monkeypatch):
    """The small set in torchvision's layout, its md5 lists to match."""
    folder = tmp_path / "tv" / CIFAR100.base_folder
    folder.mkdir(parents=True)
    for split in ("train", "test"):
        records = np.frombuffer(tiny.files[f"{split}.bin"], np.uint8).reshape(-1, 2 + 3072)
        entry = {"data": records[:, 2:], "fine_labels": records[:, 1].tolist()}
        monkeypatch.setattr(CIFAR100, f"{split}_list", [dump(folder / split, entry)])
    meta = dict(CIFAR100.meta)
    _, meta["md5"] = dump(folder / meta["filename"], {meta["key"]: tiny.fine})
    monkeypatch.setattr(CIFAR100, "meta", meta)
    return folder


def convert(downloaded, home):
    out = io.StringIO()
    convert_from_torchvision("cifar100", downloaded.parent, home, Console(file=out, width=300))
    return out.getvalue()


def test_a_download_of_torchvision_becomes_the_binary_files_once(tiny, downloaded, tmp_path):
    home = tmp_path / "home"
    assert convert(downloaded, home).count("ok: ") == 4
    for name in ("train.bin", "test.bin"):
        assert (home / "cifar-100-binary" / name).read_bytes() == tiny.files[name]
    made = (home / "cifar-100-binary").stat().st_mtime_ns
    (downloaded / "train").unlink()
    assert convert(downloaded, home).count("ok: ") == 4  # what is there is only checked
    assert (home / "cifar-100-binary").stat().st_mtime_ns == made


def test_other_downloads_are_not_put_in_place(downloaded, tmp_path, monkeypatch):
    (downloaded / "test").write_bytes(b"cos\nsystem\n")  # as a harmful pickle may begin
    with pytest.raises(ValueError, match="must hold cifar-100-python as torchvision downloads it"):
        convert(downloaded, tmp_path / "home")
    other = {"data": np.zeros((2, 3072), np.uint8), "fine_labels": [1, 2]}
    monkeypatch.setattr(CIFAR100, "test_list", [dump(downloaded / "test", other)])
    with pytest.raises(ValueError, match=r"test\.bin: sha256 is not the official one; nothing"):
        convert(downloaded, tmp_path / "home")
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".cifar-100-binary.lock"]
