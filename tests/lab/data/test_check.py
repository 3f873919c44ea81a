"""The command `softaug data`."""

import shutil

import pytest
from PIL import Image

from softaug.lab.data.check import data


@pytest.fixture
def photos(tmp_path):
    for file, size in (("ant/a.png", (4, 5)), ("ant/b.png", (30, 20)), ("bee/c.png", (6, 6))):
        path = tmp_path / "photos" / "train" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(path)
    return tmp_path / "photos"


def test_sets_that_need_no_download_are_described_with_citation_and_license(photos, capsys):
    data("fashion-mini")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "test: 2,000 images, 10 classes of 200 images"
    assert lines[2].startswith("cite: 4,000 images of Xiao")
    assert lines[3].startswith("license: MIT, Zalando SE")
    data(f"folder:{photos}", decode=True)
    text = capsys.readouterr().out
    assert text.startswith("train: 3 images, 2 classes of 1 to 2 images\n")
    assert "\ntest: none\n" in text


def test_files_of_both_splits_that_cannot_be_decoded_are_named(photos, capsys):
    shutil.copytree(photos / "train", photos / "val")
    for name in ("train/ant/cut.png", "val/bee/cut.jpg", "val/bee/bad.jpg"):
        Image.effect_noise((64, 64), 90).save(photos / name, quality=98)
        content = (photos / name).read_bytes()
        damaged = content[:900] + b"\xff\x12" + content[902:]
        (photos / name).write_bytes(damaged if "bad" in name else content[: len(content) // 2])
    data(f"folder:{photos}")
    with pytest.raises(ValueError, match=f"files of {photos} must be images, got 3 that are not"):
        data(f"folder:{photos}", decode=True)
    out = capsys.readouterr().out
    assert f"WRONG: {photos}/train/ant/cut.png: " in out
    assert f"WRONG: {photos}/val/bee/cut.jpg: a truncated JPEG" in out
    assert f"WRONG: {photos}/val/bee/bad.jpg: a damaged JPEG" in out


def test_options_that_do_not_apply_and_unknown_sets_are_refused(tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path} must hold cifar-10-batches-py"):
        data("cifar10", tmp_path / "root", tmp_path)
    for name in ("digits", "fashion-mnist"):
        with pytest.raises(ValueError, match=f"must be left out but for CIFAR, got {name}"):
            data(name, from_torchvision=tmp_path)
        with pytest.raises(ValueError, match=f"must be left out but for folders, got {name}"):
            data(name, decode=True)
    with pytest.raises(ValueError, match=r"got 'cifer100'; did you mean 'cifar100'\?"):
        data("cifer100")
