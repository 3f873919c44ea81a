import subprocess
import sys

import pytest
import torch

from softaug.lab.data.digits import digits
from softaug.lab.data.folder import folder
from softaug.lab.data.images import ImageData, Images, channel_stats
from softaug.lab.data.load import load, parts


def numbered(num_each, num_test=4):
    """Two classes; the value of an image is its number."""
    labels = torch.arange(2 * num_each) % 2
    train = Images(torch.arange(2 * num_each).view(-1, 1, 1, 1), labels)
    test = Images(torch.arange(1000, 1000 + num_test).view(-1, 1, 1, 1), labels[:num_test])
    return ImageData(train, test, ("even", "odd"))


def numbers(source):
    return source.images.flatten().tolist()


def test_digits_are_in_colour_and_the_test_part_is_that_of_digits():
    data, grey = load("digits"), digits()
    assert data.train.images.shape == (1100, 3, 16, 16)
    assert torch.equal(data.train.images[:600, 2:], grey.train.images)
    assert torch.equal(data.train.labels[600:], grey.validation.labels)
    assert torch.equal(data.test.images[:, :1], grey.test.images)
    assert data.class_names == tuple("0123456789")


def test_cifar_is_read_from_data_dir(tiny, tmp_path):
    (tmp_path / "cifar-100-binary").mkdir()
    for name, content in tiny.files.items():
        (tmp_path / "cifar-100-binary" / name).write_bytes(content)
    fine, coarse = (load("cifar100", tmp_path, labels) for labels in ("fine", "coarse"))
    assert fine.train.images.shape == (4, 3, 32, 32)
    assert len(fine.class_names) == 100
    assert len(coarse.class_names) == 20


def test_a_folder_is_read_at_the_size_asked_for(tmp_path):
    from PIL import Image

    (tmp_path / "ant").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "ant" / "a.png")
    data = load(f"folder:{tmp_path}", size=5, resize=7, unreadable="skip")
    assert data.train.fetch(torch.tensor([0])).shape == (1, 3, 5, 5)
    assert (data.train.resize, data.train.unreadable) == (7, "skip")


@pytest.mark.parametrize("name", ["cifar", "Digits", "folder:", ""])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(ValueError, match=f"name must be one of 'cifar10', .*got '{name}'"):
        load(name)


@pytest.mark.parametrize("name", ["digits", "fashion-mnist", "folder:x", "imagenet"])
def test_coarse_labels_are_for_cifar100(name):
    with pytest.raises(ValueError, match=f"labels of {name} must be \"fine\", got 'coarse'"):
        load(name, labels="coarse")


def test_without_validation_the_test_part_is_measured_on():
    data = numbered(10)
    train, measured = parts(data, per_class=None, validation=0, seed=0)
    assert train is data.train
    assert measured is data.test


def test_held_out_images_do_not_change_with_per_class():
    data = numbered(50)
    whole, held = parts(data, per_class=None, validation=20, seed=3)
    few, held_too = parts(data, per_class=5, validation=20, seed=3)
    assert numbers(held) == numbers(held_too)
    assert set(numbers(few)) < set(numbers(whole))
    assert not set(numbers(whole)) & set(numbers(held))
    assert few.labels.bincount().tolist() == [5, 5]


def test_the_seed_draws_both():
    one, two = (parts(numbered(50), per_class=5, validation=20, seed=seed) for seed in (0, 1))
    assert set(numbers(one[0])) != set(numbers(two[0]))
    assert set(numbers(one[1])) != set(numbers(two[1]))


def test_a_set_without_a_test_part_needs_validation():
    data = numbered(10)._replace(test=None)
    with pytest.raises(ValueError, match="validation must be above 0 where there is no test part"):
        parts(data, per_class=None, validation=0, seed=0)
    assert len(parts(data, per_class=None, validation=4, seed=0)[1].labels) == 4


def test_channel_stats_are_those_of_float64():
    images = torch.randint(256, (50, 3, 7, 5), generator=torch.Generator().manual_seed(0)).byte()
    found, exact = channel_stats(Images(images, torch.zeros(50).long())), images.double()
    assert found.mean == pytest.approx(exact.mean((0, 2, 3)).tolist(), rel=1e-14)
    assert found.sd == pytest.approx(exact.std((0, 2, 3)).tolist(), rel=1e-14)


def test_channel_stats_of_one_value_are_exact():
    images = torch.full((40, 1, 30, 30), 251, dtype=torch.uint8)
    assert channel_stats(Images(images, torch.zeros(40).long())) == ([251.0], [0.0])


def test_channel_stats_of_files_are_those_of_imagenet(tmp_path):
    (tmp_path / "ant").mkdir()
    (tmp_path / "ant" / "a.png").write_bytes(b"never opened")
    found = channel_stats(folder(tmp_path, size=4).train)
    assert found.mean == pytest.approx([123.675, 116.28, 103.53])
    assert found.sd == pytest.approx([58.395, 57.12, 57.375])


def test_too_few_pixels_for_a_spread_are_refused():
    with pytest.raises(ValueError, match="there must be two pixels or more"):
        channel_stats(Images(torch.zeros(1, 3, 1, 1).byte(), torch.zeros(1).long()))


def test_reading_data_loads_nothing_of_the_command_line():
    code = "import sys, softaug.lab.data.load, softaug.lab.data.images; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert not {"rich", "tyro", "sklearn"} & set(loaded)
