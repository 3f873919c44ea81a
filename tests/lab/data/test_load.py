"""Data sets by name, their splits, images in memory, and the sets that need no download."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from sklearn.datasets import load_digits

from softaug.lab.data import fashion_mnist
from softaug.lab.data.datasets import DATASETS, data_root, find_release, import_object, is_files
from softaug.lab.data.digits import split_digits
from softaug.lab.data.folder import open_folder
from softaug.lab.data.images import (
    ImageData,
    Images,
    channel_stats,
    hold_out,
    load,
    sample_per_class,
    split_train_eval,
    stratified_order,
)


def numbered(*counts):
    """So many images of each class; the value of an image is its number."""
    labels = torch.cat([torch.full((num,), label) for label, num in enumerate(counts)])
    return Images(torch.arange(len(labels)).view(-1, 1, 1, 1), labels)


def numbers(source):
    return source.images.flatten().tolist()


def test_the_registry_is_complete_and_imports_no_torch():
    for name, dataset in DATASETS.items():
        assert callable(import_object(dataset.reader))
        can_be_downloaded = name in ("cifar10", "cifar100", "fashion-mnist")
        assert (find_release(name) is not None) == can_be_downloaded
        assert dataset.citation
        assert dataset.license
        assert is_files(name) == (name in ("imagenet", "imagenette", "folder:PATH"))
    code = "import sys, softaug.lab.data.datasets, softaug.lab.models; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"torch", "rich", "tyro", "PIL"} & set(done.stdout.split())


def test_an_unknown_name_and_labels_that_a_set_lacks_are_refused():
    for name in ("cifar", "Digits", "folder:", ""):
        with pytest.raises(ValueError, match=f"name must be one of 'cifar10', .*got '{name}'"):
            load(name)
    for name in ("digits", "folder:x"):
        with pytest.raises(ValueError, match=f"labels of {name} must be \"fine\", got 'coarse'"):
            load(name, labels="coarse")


def test_the_argument_goes_before_the_variable_and_that_before_the_cache(monkeypatch):
    monkeypatch.setenv("SOFTAUG_DATA", "/variable")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert data_root("/argument") == Path("/argument")
    assert data_root() == Path("/variable")
    monkeypatch.setenv("SOFTAUG_DATA", "")
    assert data_root() == Path("/cache/softaug/data")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_root() == Path.home() / ".cache" / "softaug" / "data"
    assert data_root("~/sets") == Path.home() / "sets"


def test_fashion_mini_is_balanced_and_in_the_package(recwarn):
    data = load("fashion-mini")
    for split in (data.train, data.test):
        assert split.images.shape == (2000, 3, 28, 28)
        assert split.images.dtype == torch.uint8
        assert split.labels.bincount().tolist() == [200] * 10
    assert data.class_names[9] == "Ankle boot"
    images = {image.numpy().tobytes() for image in data.train.images}
    assert not images & {image.numpy().tobytes() for image in data.test.images}
    assert len(recwarn) == 0
    folder = fashion_mnist.MINI_FOLDER
    assert "Zalando SE" in (folder / "LICENSE").read_text()
    assert sum(file.stat().st_size for file in folder.iterdir()) < 2_500_000


def test_digits_are_split_in_proportion_the_same_way_every_time():
    splits = split_digits()
    for split, size in zip(splits, (600, 500, 697), strict=True):
        assert split.images.shape == (size, 1, 16, 16)
        assert int(split.images.max()) == 255
        assert bool(((split.labels.bincount() / size - 0.1).abs() < 0.01).all())
    rows = [{image.numpy().tobytes() for image in split.images} for split in splits]
    assert not rows[0] & rows[1] | rows[0] & rows[2] | rows[1] & rows[2]
    data = load("digits")
    assert torch.equal(data.train.images[:600, 2:], splits.train.images)
    assert torch.equal(data.train.labels[600:], splits.validation.labels)
    assert torch.equal(data.test.images[:, :1], splits.test.images)
    corners = torch.cat([split.images for split in splits])[:, 0, 0, 0].double().mean()
    assert corners / 255 == pytest.approx(load_digits().images[:, 0, 0].mean() / 16, abs=2e-3)


def test_a_stratified_order_holds_each_class_in_proportion_anywhere():
    labels = numbered(100, 200).labels
    order = stratified_order(labels, seed=0)
    assert sorted(order.tolist()) == list(range(300))
    for start in (0, 90, 210):
        assert abs(int((labels[order[start : start + 90]] == 0).sum()) - 30) <= 1


def test_more_than_there_are_and_no_test_split_are_refused():
    with pytest.raises(ValueError, match="at most the images of class 0, got 5, of 4"):
        sample_per_class(numbered(4, 9), 5, seed=0)
    with pytest.raises(ValueError, match="num must leave some of the 13 images, got 13"):
        hold_out(numbered(4, 9), 13, seed=0)
    with pytest.raises(ValueError, match="validation must be above 0 where there is no test split"):
        split(ImageData(numbered(5, 5), None, ("even", "odd")))


def split(data, per_class=None, validation=0, seed=0):
    return split_train_eval(data, per_class=per_class, validation=validation, seed=seed)


def test_without_validation_the_test_split_is_evaluated_on():
    data = ImageData(numbered(10, 10), numbered(2, 2), ("even", "odd"))
    assert split(data) == (data.train, data.test)


def test_held_out_images_do_not_change_with_per_class_but_with_the_seed():
    data = ImageData(numbered(50, 50), None, ("even", "odd"))
    whole, held = split(data, validation=20, seed=3)
    few, same = split(data, per_class=5, validation=20, seed=3)
    assert numbers(held) == numbers(same)
    assert held.labels.bincount().tolist() == [10, 10]
    assert set(numbers(few)) < set(numbers(whole))
    assert not set(numbers(whole)) & set(numbers(held))
    assert few.labels.bincount().tolist() == [5, 5]
    assert len(few.images.unique()) == 10
    other = split(data, per_class=5, validation=20, seed=4)
    assert numbers(other[0]) != numbers(few)
    assert numbers(other[1]) != numbers(held)


def test_channel_stats_are_exact_in_memory_and_imagenets_for_files(tmp_path):
    images = torch.randint(256, (50, 3, 7, 5), generator=torch.Generator().manual_seed(0)).byte()
    stats, exact = channel_stats(Images(images, torch.zeros(50).long())), images.double()
    assert stats.mean == pytest.approx(exact.mean((0, 2, 3)).tolist(), rel=1e-14)
    assert stats.sd == pytest.approx(exact.std((0, 2, 3)).tolist(), rel=1e-14)
    constant = torch.full((40, 1, 30, 30), 251, dtype=torch.uint8)
    assert channel_stats(Images(constant, torch.zeros(40).long())) == ([251.0], [0.0])
    with pytest.raises(ValueError, match="there must be two pixels or more"):
        channel_stats(Images(torch.zeros(1, 3, 1, 1).byte(), torch.zeros(1).long()))
    (tmp_path / "ant").mkdir()
    (tmp_path / "ant" / "a.png").write_bytes(b"never opened")
    stats = channel_stats(open_folder(tmp_path, size=4).train)  # ImageNet's
    assert stats.mean == pytest.approx([123.675, 116.28, 103.53])
    assert stats.sd == pytest.approx([58.395, 57.12, 57.375])
