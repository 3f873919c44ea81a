"""The command `softaug data`."""

import shutil

import pytest
from PIL import Image

from softaug.lab.data.check import data


@pytest.fixture
def photos(tmp_path):
    for file, size in (("ant/a.png", (4, 5)), ("ant/b.png", (30, 20)), ("bee/c.png", (6, 6))):
        path = tmp_path / "photos" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(path)
    return tmp_path / "photos"


def test_embedded_sets_are_described_with_citation_and_license(capsys):
    data("digits")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "train: 1,100 images of 16 x 16 pixels, 10 classes of 107 to 112 images"
    assert lines[1].startswith("test: 697 images of 16 x 16 pixels")
    data("fashion-mini")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "test: 2,000 images of 28 x 28 pixels, 10 classes of 200 images"
    assert lines[2].startswith("cite: 4,000 images of Xiao")
    assert lines[3].startswith("license: MIT, Zalando SE")


def test_a_folder_is_described(photos, capsys):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (50, 40)).save(photos / "bee" / "turned.jpg", exif=exif)
    data(f"folder:{photos}")
    data(f"folder:{photos}", decode=True)
    out = capsys.readouterr().out
    assert "train: 4 images of 4 x 5 to 50 x 40 pixels, 2 classes of 2 images\ntest: none\n" in out
    assert "train: 4 images of 4 x 5 to 40 x 50 pixels, 2 classes" in out


def test_files_that_cannot_be_decoded_are_named_only_if_all_are_decoded(photos, capsys):
    for name in ("ant/cut.png", "bee/cut.jpg"):
        Image.effect_noise((64, 64), 90).save(photos / name)
        content = (photos / name).read_bytes()
        (photos / name).write_bytes(content[: len(content) // 2])
    Image.effect_noise((64, 64), 90).save(photos / "bee" / "bad.jpg", quality=98)
    content = (photos / "bee" / "bad.jpg").read_bytes()
    (photos / "bee" / "bad.jpg").write_bytes(content[:900] + b"\xff\x12" + content[902:])
    data(f"folder:{photos}")
    with pytest.raises(ValueError, match="must be images, got 3 that are not"):
        data(f"folder:{photos}", decode=True)
    out = capsys.readouterr().out
    assert f"WRONG: {photos}/ant/cut.png, " in out
    assert f"WRONG: {photos}/bee/cut.jpg, a truncated JPEG" in out
    assert f"WRONG: {photos}/bee/bad.jpg, a damaged JPEG" in out


@pytest.mark.parametrize("decode", [False, True])
def test_broken_files_of_both_splits_are_named_before_they_are_refused(photos, capsys, decode):
    for split in ("train", "val"):
        shutil.copytree(photos / "ant", photos / "both" / split / "ant")
        (photos / "both" / split / "ant" / "x.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=f"files of {photos}/both must be images, got 2 that"):
        data(f"folder:{photos}/both", decode=decode)
    named = [line for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert [split in line for split, line in zip(("train", "val"), named, strict=True)] == [
        True
    ] * 2


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
