import shutil

import pytest
from PIL import Image

from softaug.lab.data.load import data


@pytest.fixture
def photos(tmp_path):
    for file, size in (("ant/a.png", (4, 5)), ("ant/b.png", (30, 20)), ("bee/c.png", (6, 6))):
        path = tmp_path / "photos" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size).save(path)
    return tmp_path / "photos"


def test_digits_are_described(capsys):
    data("digits")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "train: 1,100 images of 16 x 16 pixels, 10 classes of 107 to 112 images"
    assert lines[1].startswith("test: 697 images of 16 x 16 pixels")


def test_a_folder_is_described(photos, capsys):
    data(f"folder:{photos}")
    out = capsys.readouterr().out
    assert "train: 3 images of 4 x 5 to 30 x 20 pixels, 2 classes of 1 to 2 images" in out
    assert out.endswith("test: none\n")


def test_files_that_are_no_images_are_named(photos, capsys):
    for name in ("x.png", "y.png"):
        (photos / "bee" / name).write_bytes(b"no image")
    with pytest.raises(ValueError, match=f"files of {photos} must be images, got 2 that are not"):
        data(f"folder:{photos}")
    out = capsys.readouterr().out
    assert f"WRONG: {photos}/bee/x.png, " in out
    assert f"WRONG: {photos}/bee/y.png, " in out


def test_files_that_cannot_be_decoded_are_named_only_if_all_are_decoded(photos, capsys):
    for name in ("ant/cut.png", "bee/cut.jpg"):
        Image.effect_noise((64, 64), 90).save(photos / name)
        content = (photos / name).read_bytes()
        (photos / name).write_bytes(content[: len(content) // 2])
    data(f"folder:{photos}")
    with pytest.raises(ValueError, match="must be images, got 2 that are not"):
        data(f"folder:{photos}", decode=True)
    out = capsys.readouterr().out
    assert f"WRONG: {photos}/ant/cut.png, " in out
    assert f"WRONG: {photos}/bee/cut.jpg, a truncated JPEG" in out


@pytest.mark.parametrize("decode", [False, True])
def test_broken_files_of_both_parts_are_named_before_they_are_refused(photos, capsys, decode):
    for part in ("train", "val"):
        shutil.copytree(photos / "ant", photos / "both" / part / "ant")
        (photos / "both" / part / "ant" / "x.png").write_bytes(b"no image")
    with pytest.raises(ValueError, match=f"files of {photos}/both must be images, got 2 that"):
        data(f"folder:{photos}/both", decode=decode)
    named = [line for line in capsys.readouterr().out.splitlines() if "WRONG" in line]
    assert [part in line for part, line in zip(("train", "val"), named, strict=True)] == [True] * 2


def test_a_jpeg_that_is_damaged_amid_its_image_is_named_when_it_is_decoded(photos, capsys):
    Image.effect_noise((64, 64), 90).save(photos / "bee" / "bad.jpg", quality=98)
    content = (photos / "bee" / "bad.jpg").read_bytes()
    (photos / "bee" / "bad.jpg").write_bytes(content[:900] + b"\xff\x12" + content[902:])
    with pytest.raises(ValueError, match="got 1 that are not"):
        data(f"folder:{photos}", decode=True)
    assert f"WRONG: {photos}/bee/bad.jpg, a damaged JPEG" in capsys.readouterr().out


def test_whole_files_are_described_when_they_are_decoded(photos, capsys):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (50, 40)).save(photos / "bee" / "turned.jpg", exif=exif)
    data(f"folder:{photos}", decode=True)
    assert "train: 4 images of 4 x 5 to 40 x 50 pixels, 2 classes" in capsys.readouterr().out


def test_only_folders_are_decoded():
    with pytest.raises(ValueError, match="decode must be left out but for folders, got digits"):
        data("digits", decode=True)


def test_a_set_that_is_there_is_checked(tiny, tmp_path, capsys):
    (tmp_path / "cifar-100-binary").mkdir()
    for name, content in tiny.files.items():
        (tmp_path / "cifar-100-binary" / name).write_bytes(content)
    data("cifar100", tmp_path)
    assert capsys.readouterr().out.count("ok: ") == 4


def test_from_torchvision_is_passed_on_and_is_for_cifar_alone(tmp_path):
    with pytest.raises(ValueError, match=f"{tmp_path} must hold cifar-10-batches-py"):
        data("cifar10", tmp_path / "home", tmp_path)
    with pytest.raises(ValueError, match="must be left out but for CIFAR, got digits"):
        data("digits", from_torchvision=tmp_path)


def test_an_unknown_set_is_refused():
    with pytest.raises(ValueError, match=r"got 'cifer100'; did you mean 'cifar100'\?"):
        data("cifer100")
