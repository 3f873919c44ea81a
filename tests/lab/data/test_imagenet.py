import io
import os
import random
import shutil

import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder

from softaug.lab.data.check import data
from softaug.lab.data.datasets import is_files
from softaug.lab.data.load import load
from softaug.lab.evaluation.show import count_classes
from softaug.lab.recipes import DataSpec


def wnids(num):
    """Class names in no order, none of them real."""
    numbers = random.Random(0).sample(range(10**8), num)
    return [f"n{number:08d}" for number in numbers]


def png(grey):
    packed = io.BytesIO()
    Image.new("RGB", (12, 9), (grey,) * 3).save(packed, "PNG")
    return packed.getvalue()


def make(root, names, parts=("train", "val")):
    """An image of each class in each part, as grey as the class's place in sorted order."""
    for part in parts:
        for name in names:
            (root / part / name).mkdir(parents=True)
            (root / part / name / "a.png").write_bytes(png(sorted(names).index(name) % 251))
    return root


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A data folder with a set of a thousand classes in it."""
    home = tmp_path_factory.mktemp("thousand")
    make(home / "imagenet", wnids(1000))
    return home


def test_labels_are_those_of_torchvision(thousand):
    found = load("imagenet", thousand, size=8)
    theirs = ImageFolder(str(thousand / "imagenet" / "val"))
    assert list(found.class_names) == theirs.classes == sorted(wnids(1000))
    assert [found.test.path(n) for n in range(1000)] == [path for path, _ in theirs.samples]
    assert found.test.labels.tolist() == theirs.targets
    some = torch.tensor([7, 150])
    assert found.train.fetch(some)[:, 0, 4, 4].tolist() == [7, 150]


def test_size_resize_and_unreadable_are_passed_on(thousand):
    found = load("imagenet", thousand, size=8, resize=9, unreadable="skip")
    for source in (found.train, found.test):
        assert (source.size, source.resize, source.unreadable) == (8, 9, "skip")


def test_a_link_will_do(thousand, tmp_path):
    os.symlink(thousand / "imagenet", tmp_path / "imagenet", target_is_directory=True)
    assert len(load("imagenet", tmp_path).class_names) == 1000


def test_the_command_describes_what_is_there(tmp_path, capsys):
    make(tmp_path / "imagenette", wnids(10))
    data("imagenette", tmp_path)
    line = "10 images of 12 x 9 pixels, 10 classes of 1 images"
    told = capsys.readouterr().out.splitlines()
    assert f"train: {line}" in told
    assert f"test: {line}" in told


@pytest.mark.parametrize("part", ["train", "val"])
def test_a_missing_part_is_refused_with_how_to_get_the_set(tmp_path, part):
    make(tmp_path / "imagenette", wnids(10))
    shutil.rmtree(tmp_path / "imagenette" / part)
    rule = f"imagenette/{part} must be a folder, got no such folder; get .*ln -s .*/imagenette`"
    with pytest.raises(ValueError, match=rule):
        load("imagenette", tmp_path)


def test_a_part_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    make(tmp_path / "imagenette", wnids(10))
    scandir = os.scandir

    def closed(path):  # as for anyone but root, if the folder's mode says so
        if str(path).endswith("val"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    rule = "imagenette/val must be a folder that can be read, got Permission denied"
    with pytest.raises(ValueError, match=rule):
        load("imagenette", tmp_path)


def test_imagenet_is_not_fetched_but_said_where_to_register(tmp_path):
    with pytest.raises(ValueError, match=r"register at https://image-net\.org") as refused:
        data("imagenet", tmp_path)
    assert f"`ln -s ROOT {tmp_path / 'imagenet'}`" in str(refused.value)


def test_nine_classes_are_refused(tmp_path):
    make(tmp_path / "imagenette", wnids(9))
    with pytest.raises(ValueError, match="must hold 10 folders named n and eight digits, got 9"):
        load("imagenette", tmp_path)


@pytest.mark.parametrize("name", ["tench", "n1440764", "n014407645", "m01440764", "N01440764"])
def test_a_class_of_another_kind_of_name_is_refused_by_name(tmp_path, name):
    make(tmp_path / "imagenette", [*wnids(9), name])
    with pytest.raises(ValueError, match=f"got 10 folders, {name} among them"):
        load("imagenette", tmp_path)


def test_validation_images_that_are_not_sorted_by_class_are_refused(tmp_path):
    root = make(tmp_path / "imagenette", wnids(10), parts=("train",))
    (root / "val").mkdir()
    (root / "val" / "ILSVRC2012_val_00000001.png").write_bytes(png(1))
    with pytest.raises(ValueError, match=r"val must hold 10 folders .*got 0 folders"):
        load("imagenette", tmp_path)


def test_other_classes_in_val_than_in_train_are_refused(tmp_path):
    names = wnids(11)
    make(tmp_path / "imagenette", names[:10], parts=("train",))
    make(tmp_path / "imagenette", names[1:], parts=("val",))
    with pytest.raises(ValueError, match="val must have the same classes as train"):
        load("imagenette", tmp_path)


def test_what_asks_for_data_by_name_knows_them():
    assert [count_classes(DataSpec(name)) for name in ("imagenet", "imagenette")] == [1000, 10]
    assert [is_files(name) for name in ("imagenet", "imagenette", "folder:x")] == [True] * 3
    assert [is_files(name) for name in ("cifar10", "digits")] == [False] * 2
