import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree
from torch.utils.data import default_collate

from softaug import SoftLabel, SoftLoss


def batch():
    return SoftLabel(torch.tensor([2, 0]), torch.tensor([1.0, 0.5]))


def test_default_collate_makes_a_batch_of_single_labels():
    label = default_collate([SoftLabel(2, 1.0), SoftLabel(0, 0.5)])
    assert isinstance(label, SoftLabel)
    assert label.label.dtype == torch.int64
    assert label.label.tolist() == [2, 0]
    assert label.retained.tolist() == [1.0, 0.5]


def test_loss_of_a_collated_batch_is_in_the_logits_type():
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    collated = default_collate([SoftLabel(2, 1.0), SoftLabel(0, 0.5)])
    assert collated.retained.dtype == torch.float64
    loss = SoftLoss()(logits, collated)
    assert loss.dtype == torch.float32
    assert loss == SoftLoss()(logits, batch())


def test_rebuilding_from_its_parts_keeps_the_type():
    label = batch()  # this is what pin_memory and pickle do with a NamedTuple
    assert type(label)(*(part.clone() for part in label))._fields == ("label", "retained")
    assert isinstance(pickle.loads(pickle.dumps(SoftLabel(3, 0.5))), SoftLabel)


def test_pytree_maps_both_tensors():
    moved = pytree.tree_map(lambda part: part + 1, batch())
    assert isinstance(moved, SoftLabel)
    assert moved.label.tolist() == [3, 1]
    assert moved.retained.tolist() == [2.0, 1.5]


def test_to_moves_a_batch_and_leaves_numbers_alone():
    moved = batch().to("meta", non_blocking=True)
    assert isinstance(moved, SoftLabel)
    assert (moved.label.device.type, moved.retained.device.type) == ("meta", "meta")
    assert SoftLabel(3, 0.5).to("meta") == SoftLabel(3, 0.5)


def test_confidence_of_a_batch_and_of_one_sample():
    torch.testing.assert_close(batch().confidence(4), torch.tensor([1.0, 0.625]))
    assert SoftLabel(3, 0.5).confidence(4) == 0.625


def test_dense_of_one_sample_is_a_row_of_the_batch():
    row = SoftLabel(0, 0.5).dense(4)
    torch.testing.assert_close(row, batch().dense(4)[1])
    torch.testing.assert_close(row, torch.tensor([0.625, 0.125, 0.125, 0.125]))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5), st.integers(2, 30))
def test_dense_sums_to_one(kept, num_classes):
    labels = torch.arange(len(kept)) % num_classes
    dense = SoftLabel(labels, torch.tensor(kept, dtype=torch.float64)).dense(num_classes)
    assert dense.shape == (len(kept), num_classes)
    assert bool((dense >= 0).all())
    torch.testing.assert_close(dense.sum(1), torch.ones(len(kept)))


def test_dense_holds_the_confidence_at_the_true_class():
    label = batch()
    true = label.dense(7).gather(1, label.label[:, None]).squeeze(1)
    torch.testing.assert_close(true, label.confidence(7))


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="number of classes must be at least 2, got 1"):
        batch().dense(1)
