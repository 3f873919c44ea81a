import sys

import pytest
import torch

from softaug.lab.data.digits import digits
from softaug.lab.data.images import Images, stratified_order


def rows(part: Images) -> set[bytes]:
    return {image.numpy().tobytes() for image in part.images}


def test_shapes_types_and_sizes() -> None:
    for part, size in zip(digits(), (600, 500, 697), strict=True):
        assert part.images.shape == (size, 1, 16, 16)
        assert part.images.dtype == torch.uint8
        assert part.labels.dtype == torch.int64
        assert int(part.images.max()) == 255
        assert sorted(set(part.labels.tolist())) == list(range(10))


def test_parts_have_no_image_in_common() -> None:
    train, validation, test = (rows(part) for part in digits())
    assert not train & validation
    assert not train & test
    assert not validation & test


def test_the_split_is_the_same_every_time() -> None:
    first, second = digits(), digits()
    for one, two in zip(first, second, strict=True):
        assert torch.equal(one.images, two.images)
    assert first.test.labels[:10].tolist() == second.test.labels[:10].tolist()


def test_fewer_training_images_are_the_first_of_the_same_ones() -> None:
    small, full = digits(100), digits()
    assert torch.equal(small.train.images, full.train.images[:100])
    assert torch.equal(small.test.images, full.test.images)


@pytest.mark.parametrize("num_train", [50, 300, 600])
def test_classes_are_in_proportion(num_train) -> None:
    share = torch.bincount(digits(num_train).train.labels) / num_train
    assert bool(((share - 0.1).abs() <= 1.5 / num_train + 0.005).all())


def test_any_stretch_of_a_stratified_order_is_in_proportion() -> None:
    labels = torch.tensor([0] * 30 + [1] * 10)
    order = stratified_order(labels, seed=0)
    assert sorted(order.tolist()) == list(range(40))
    for start in range(0, 40, 8):
        assert abs(int(labels[order[start : start + 8]].sum()) - 2) <= 1


def test_upscaling_keeps_the_mean_and_the_corners() -> None:
    from sklearn.datasets import load_digits

    small = load_digits().images[:, 0, 0]
    large = torch.cat([part.images for part in digits()])[:, 0, 0, 0]
    assert float(large.double().mean()) == pytest.approx(small.mean() * 255 / 16, abs=0.5)


@pytest.mark.parametrize("num_train", [9, 601])
def test_bad_size_is_refused(num_train) -> None:
    with pytest.raises(
        ValueError, match=rf"digits: num_train must be in 10\.\.600, got {num_train}"
    ):
        digits(num_train)


def test_missing_scikit_learn_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'softaug\[lab\]'"):
        digits()
