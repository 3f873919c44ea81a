"""Images in folders: listing, reading, ImageNet's layout, names of classes, bad files."""

import io
import os
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.models import ResNet50_Weights

from softaug.lab.data.datasets import DATASETS, IMAGENETTE, name_classes
from softaug.lab.data.folder import check_files, open_folder, read_image
from softaug.lab.data.images import Images, hold_out, load
from softaug.lab.training.setup import hash_source


def save(path, color=(10, 20, 30), size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).save(path)


@pytest.fixture
def tree(tmp_path):
    """Two classes; the red of an image tells which it is."""
    for split in ("train", "val"):
        for number, file in enumerate(("cat/b.png", "cat/a.png", "ant/sub/c.PNG", "ant/d.bmp")):
            save(tmp_path / split / file, (number, 0, 0))
    return tmp_path


def reds(source):
    return source.fetch(torch.arange(len(source.labels)))[:, 0, 0, 0].tolist()


def test_classes_and_images_are_sorted_by_name(tree):
    found = open_folder(tree, size=4)
    assert found.class_names == ("ant", "cat")
    assert found.train.labels.tolist() == [0, 0, 1, 1]
    assert reds(found.train) == [3, 2, 1, 0]  # ant/d.bmp, ant/sub/c.PNG, cat/a.png, cat/b.png
    assert reds(found.test) == [3, 2, 1, 0]


def test_files_are_taken_in_the_order_of_the_index(tree):
    train = open_folder(tree, size=4).train
    part = train.take(torch.tensor([3, 0]))
    assert reds(part) == [0, 3]
    assert part.labels.tolist() == [1, 0]
    rest, held = hold_out(train, 2, seed=0)
    assert sorted(reds(rest) + reds(held)) == [0, 1, 2, 3]


def test_the_test_split_is_val_else_test_else_none(tree):
    alone = open_folder(tree / "train", size=4)
    assert alone.test is None
    assert alone.class_names == ("ant", "cat")
    (tree / "val").rename(tree / "test")
    assert open_folder(tree, size=4).test.root == str(tree / "test")
    os.symlink(tree / "test", tree / "val")
    assert open_folder(tree, size=4).test.root == str(tree / "val")


def test_listing_opens_no_image_and_leaves_out_other_and_hidden_files(tree, monkeypatch):
    save(tree / "train" / "ant" / "Zürich 蟻.png", (77, 0, 0))
    (tree / "train" / "cat" / "notes.txt").write_text("no image")
    (tree / "train" / "cat" / "._a.png").write_bytes(b"of macOS")
    (tree / "train" / ".cache").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(Image, "open", None)
        train = open_folder(tree, size=4).train
    assert len(train.labels) == 5
    assert reds(train)[0] == 77


def test_the_short_edge_is_resized_then_the_center_cropped(tmp_path):
    wide = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8))
    for image, resize, whole, rows, columns in (
        (wide, None, (24, 16), slice(None), slice(4, 20)),
        (wide, 32, (48, 32), slice(8, 24), slice(16, 32)),
        (wide.transpose(Image.Transpose.ROTATE_90), None, (16, 24), slice(4, 20), slice(None)),
    ):
        image.save(tmp_path / "a.png")
        resized = np.array(image.resize(whole, Image.Resampling.BILINEAR))
        expected = torch.from_numpy(resized[rows, columns]).permute(2, 0, 1)
        found = read_image(str(tmp_path / "a.png"), 16, resize)
        assert int((found.int() - expected.int()).abs().max()) <= 1


def test_a_large_jpeg_looks_the_same_though_decoded_small(tmp_path):
    ramp = np.linspace(0, 255, 1600).astype(np.uint8)
    Image.fromarray(np.broadcast_to(ramp[:, None], (1600, 1600))).save(tmp_path / "a.jpg")
    found = read_image(str(tmp_path / "a.jpg"), 100)[0, :, 50].float()
    assert float((found - torch.linspace(1, 254, 100)).abs().max()) < 3


def test_an_unreadable_file_is_named_when_it_is_fetched(tree):
    path = tree / "train" / "ant" / "e.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 40)
    train = open_folder(tree, size=4).train
    with pytest.raises(ValueError, match=rf"{path} must be an image that can be read, got ."):
        train.fetch(torch.tensor([1]))


def test_files_in_memory_are_good_and_all_broken_ones_are_named(tmp_path):
    (tmp_path / "ant").mkdir()
    for number in range(30):
        Image.new("RGB", (9, 9)).save(tmp_path / "ant" / f"{number:02}.jpg")
    source = open_folder(tmp_path, size=8, unreadable="skip").train
    check_files(source)
    check_files(Images(torch.zeros(1, 3, 8, 8).byte(), torch.zeros(1).long()))
    for num, named in ((1, 1), (20, 20), (21, 20)):
        for number in range(num):
            (tmp_path / "ant" / f"{number:02}.jpg").write_bytes(b"")
        with pytest.raises(ValueError, match=f"got {num} that cannot: .*; restore them") as error:
            check_files(source)
        assert str(error.value).count(".jpg: an empty file") == named
        assert ("; ...; restore" in str(error.value)) == (num > named)


def test_a_bad_tree_is_refused_by_name(tree):
    def refused(rule, path=tree):
        with pytest.raises(ValueError, match=rule):
            open_folder(path, size=4)

    refused(rf"{tree}/none must be a folder that can be read, got No such file", tree / "none")
    (tree / "empty").mkdir()
    refused("must hold a folder for each class, got none", tree / "empty")
    (tree / "train" / "bee").mkdir()
    refused(r"train/bee must hold images .* got none")
    (tree / "train" / "bee").rmdir()
    (tree / "val" / "ant").rename(tree / "val" / "bee")
    refused("val must have the same classes as train, got no ant, also bee")
    (tree / "train").rename(tree / "training")
    refused("train must exist, got only val")


def wordnet_numbers(num):
    """Class names in no order, none of them real."""
    return [f"n{number:08d}" for number in random.Random(0).sample(range(10**8), num)]


def make_imagenet(root, names, splits=("train", "val")):
    """An image of each class in each split, as gray as the class's rank."""
    for split in splits:
        for name in names:
            packed = io.BytesIO()
            Image.new("RGB", (12, 9), (sorted(names).index(name) % 251,) * 3).save(packed, "PNG")
            (root / split / name).mkdir(parents=True)
            (root / split / name / "a.png").write_bytes(packed.getvalue())
    return root


def test_imagenet_is_labeled_as_torchvision_labels_it(tmp_path, monkeypatch):
    names = wordnet_numbers(40)
    few = replace(DATASETS["imagenet"], num_classes={"fine": 40})
    monkeypatch.setitem(DATASETS, "imagenet", few)
    make_imagenet(tmp_path / "real", names)
    os.symlink(tmp_path / "real", tmp_path / "imagenet", target_is_directory=True)
    found = load("imagenet", tmp_path, size=8, resize=9, unreadable="skip")
    theirs = ImageFolder(str(tmp_path / "imagenet" / "val"))
    assert list(found.class_names) == theirs.classes == sorted(names)
    assert [found.test.path(n) for n in range(40)] == [path for path, _ in theirs.samples]
    assert found.test.labels.tolist() == theirs.targets
    assert found.train.fetch(torch.tensor([7, 15]))[:, 0, 4, 4].tolist() == [7, 15]
    for source in (found.train, found.test):
        assert (source.size, source.resize, source.unreadable) == (8, 9, "skip")


def test_a_missing_imagenet_says_how_to_get_it(tmp_path):
    for name, rule in (
        ("imagenette", "get .*"),
        ("imagenet", r"register at https://image-net\.org"),
    ):
        with pytest.raises(ValueError, match=f"{name}/train must be a folder, got no.*; .*{rule}"):
            load(name, tmp_path)
    with pytest.raises(ValueError, match=f"`ln -s ROOT {tmp_path / 'imagenet'}`"):
        load("imagenet", tmp_path)


def test_other_classes_than_imagenettes_are_refused(tmp_path):
    ten, others = wordnet_numbers(10), wordnet_numbers(11)[1:]
    strange = ("tench", "n1440764", "n014407645", "m01440764", "N01440764")
    for number, (train, val, rule) in enumerate(
        [
            (ten[:9], ten, "train must hold 10 folders named n and eight digits, got 9"),
            (ten, ten[:9], "val must hold 10 folders .*got 9 folders"),
            (ten, others, "val must have the same classes as train"),
            *(([*ten[:9], name], ten, f"got 10 folders, {name} among") for name in strange),
        ]
    ):
        root = tmp_path / str(number) / "imagenette"
        make_imagenet(root, train, ["train"])
        make_imagenet(root, val, ["val"])
        with pytest.raises(ValueError, match=rule):
            load("imagenette", root.parent)


RANKS = (0, 217, 482, 491, 497, 566, 569, 571, 574, 701)  # of Imagenette's classes in ImageNet


def test_imagenets_classes_are_named_as_torchvision_names_them():
    theirs = ResNet50_Weights.IMAGENET1K_V2.meta["categories"]
    assert list(IMAGENETTE.values()) == [theirs[rank] for rank in RANKS]
    names = []  # a thousand WordNet numbers in order, real where they are Imagenette's
    for rank, number in [*zip(RANKS, IMAGENETTE, strict=True), (1000, "n99999999")]:
        last = int(names[-1][1:]) if names else 0
        names += [f"n{last + step:08d}" for step in range(1, rank - len(names) + 1)]
        names.append(number)
    assert names[:1000] == sorted(names[:1000])
    assert name_classes(names[:1000]) == theirs
    assert name_classes(["0", "apple_pie"]) == ["0", "apple_pie"]
    assert name_classes(names[1:1001]) == [IMAGENETTE.get(name, name) for name in names[1:1001]]


@pytest.mark.parametrize("name", ["train/cat/b.png", "train/cat", "train/cat/more"])
def test_links_are_refused_wherever_they_lead(tree, name):
    path = tree / name
    if path.exists():
        path.rename(tree / "elsewhere")
    path.symlink_to(tree / ("val" if name.endswith("more") else "elsewhere"))
    with pytest.raises(ValueError, match=f"must hold its images itself, got a link, {path.name}"):
        open_folder(tree, size=4)


def test_what_is_no_regular_file_is_refused_at_once(tree):
    os.mkfifo(tree / "train/cat/c.png")
    with pytest.raises(ValueError, match=r"must be regular files, got c.png; remove it"):
        open_folder(tree, size=4)


def retouch(path):
    """Change one byte; the size stays."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


CHANGES = [
    lambda tree: retouch(tree / "train/cat/b.png"),
    lambda tree: (tree / "train/cat/a.png").rename(tree / "train/cat/aa.png"),
    lambda tree: (tree / "val/cat/a.png").unlink(),
]


@pytest.mark.parametrize("change", CHANGES, ids=["content", "name", "vanished"])
def test_files_that_changed_change_what_identifies_them(tree, change):
    data = open_folder(tree, size=4)
    before = [hash_source(data.train), hash_source(data.test)]
    assert before == [hash_source(data.train), hash_source(data.test)]
    change(tree)
    data = open_folder(tree, size=4)
    assert before != [hash_source(data.train), hash_source(data.test)]
