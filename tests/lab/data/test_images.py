import pytest
import torch

from softaug.lab.data.images import Images, hold_out, per_class, stratified_order


def numbered(counts):
    labels = torch.cat([torch.full((num,), label) for label, num in enumerate(counts)])
    images = torch.arange(len(labels)).view(-1, 1, 1, 1)
    return Images(images, labels)


def test_a_stratified_order_holds_each_class_in_proportion_anywhere():
    labels = numbered([100, 200]).labels
    order = stratified_order(labels, seed=0)
    assert sorted(order.tolist()) == list(range(300))
    for start in (0, 90, 210):
        assert abs(int((labels[order[start : start + 90]] == 0).sum()) - 30) <= 1


def test_images_are_fetched_and_taken_in_the_order_of_the_index():
    data, index = numbered([2, 3]), torch.tensor([4, 0])
    assert data.fetch(index).flatten().tolist() == [4, 0]
    part = data.take(index)
    assert part.labels.tolist() == [1, 0]
    assert part.fetch(torch.tensor([0])).item() == 4


def test_held_out_images_are_apart_and_the_same_for_the_same_seed():
    data = numbered([50, 50])
    rest, held = hold_out(data, 20, seed=1)
    assert held.labels.bincount().tolist() == [10, 10]
    assert not set(rest.images.flatten().tolist()) & set(held.images.flatten().tolist())
    assert torch.equal(held.images, hold_out(data, 20, seed=1)[1].images)
    assert not torch.equal(held.images, hold_out(data, 20, seed=2)[1].images)


def test_per_class_takes_the_same_number_of_each():
    part = per_class(numbered([7, 30, 11]), 5, seed=0)
    assert part.labels.bincount().tolist() == [5, 5, 5]
    assert len(part.images.unique()) == 15


def test_more_than_there_are_is_refused():
    with pytest.raises(ValueError, match="at most the images of class 0, got 5, of 4"):
        per_class(numbered([4, 9]), 5, seed=0)
    with pytest.raises(ValueError, match="num must leave some of the 13 images, got 13"):
        hold_out(numbered([4, 9]), 13, seed=0)
