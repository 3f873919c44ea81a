import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree
from torch.utils.data import default_collate

from softaug import MixedLabel, SoftCrop, SoftLabel, SoftLoss
from softaug.label import blend, get_main_label, mix_labels

FIRST = SoftLabel(torch.tensor([2, 0]), torch.tensor([0.5, 1.0]))
SECOND = SoftLabel(torch.tensor([0, 0]), torch.tensor([1.0, 0.0]))
MIXED = mix_labels(FIRST, SECOND, 0.5)


def test_default_collate_makes_a_batch_of_single_labels():
    label = default_collate([SoftLabel(2, 0.5), SoftLabel(0, 1.0)])
    assert isinstance(label, SoftLabel)
    assert (label.label.dtype, label.retained.dtype) == (torch.int64, torch.float64)
    assert [part.tolist() for part in label] == [part.tolist() for part in FIRST]
    logits = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    loss = SoftLoss()(logits, label)
    assert loss.dtype == torch.float32
    assert loss == SoftLoss()(logits, FIRST)


@pytest.mark.parametrize("label", [FIRST, MIXED], ids=lambda label: type(label).__name__)
def test_labels_survive_being_rebuilt_and_moved(label):
    copies = [
        type(label)(part for part in label),  # as Hugging Face's Trainer does
        type(label)(*(part.clone() for part in label)),  # as pin_memory does
        copy.deepcopy(label),
        pickle.loads(pickle.dumps(label)),
        pytree.tree_map(torch.clone, label),
        label.to("cpu"),
    ]
    for found in copies:
        assert type(found) is type(label)
        assert all(map(torch.equal, found, label))
    moved = label.to("meta", non_blocking=True)
    assert type(moved) is type(label)
    assert {part.device.type for part in moved} == {"meta"}
    assert SoftLabel(3, 0.5).to("meta") == SoftLabel(3, 0.5)


@pytest.mark.parametrize("label", [FIRST, MIXED], ids=lambda label: type(label).__name__)
def test_accelerate_moves_slices_and_joins_labels(label):
    operations = pytest.importorskip("accelerate.utils.operations")
    halves = [operations.slice_tensors(label, slice(i, i + 1)) for i in (0, 1)]
    for found in (operations.send_to_device(label, "cpu"), operations.concatenate(halves)):
        assert type(found) is type(label)
        assert all(map(torch.equal, found, label))


def test_pinned_batches_of_a_loader_keep_their_type(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda part: part.clone())  # no GPU
    found = torch.utils.data._utils.pin_memory.pin_memory(FIRST)
    assert type(found) is SoftLabel
    assert all(map(torch.equal, found, FIRST))


def test_confidence_of_a_batch_and_of_one_sample():
    torch.testing.assert_close(FIRST.confidence(4), torch.tensor([0.625, 1.0]))
    assert SoftLabel(3, 0.5).confidence(4) == 0.625


def test_dense_of_one_sample_is_a_row_of_the_batch():
    row = SoftLabel(2, 0.5).dense(4)
    torch.testing.assert_close(row, FIRST.dense(4)[0])
    torch.testing.assert_close(row, torch.tensor([0.125, 0.125, 0.625, 0.125]))


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(3, 30))
def test_dense_sums_to_one_and_holds_the_confidence_at_the_true_class(numbers, num_classes):
    kept, kept_too, share = torch.tensor(numbers)[:, None]
    first, second = SoftLabel(torch.tensor([1]), kept), SoftLabel(torch.tensor([2]), kept_too)
    dense = first.dense(num_classes)
    torch.testing.assert_close(dense[:, 1], first.confidence(num_classes))
    for rows in (dense, mix_labels(first, second, share).dense(num_classes)):
        assert bool((rows >= 0).all())
        torch.testing.assert_close(rows.sum(1), torch.ones(1))


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="number of classes must be at least 2, got 1"):
        FIRST.dense(1)


def test_a_transform_takes_probabilities_and_leaves_them():
    probs = torch.softmax(torch.arange(24.0).view(6, 4).cos(), 1)
    images, label = SoftCrop()(torch.rand(6, 3, 8, 8), probs)
    assert images.shape == (6, 3, 8, 8)
    assert torch.equal(label.label, probs)
    assert label.retained.shape == (6,)
    assert torch.equal(get_main_label(label), probs.argmax(1))


def test_mixing_sets_the_parts_side_by_side_and_plain_labels_are_whole():
    mixed = mix_labels(FIRST, SECOND.label, torch.tensor([0.75, 0.25]))
    assert mixed.labels.tolist() == [[2, 0], [0, 0]]
    assert mixed.retained.tolist() == [[0.5, 1.0], [1.0, 1.0]]
    assert mixed.share.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    swapped = MixedLabel(torch.tensor([[1, 5], [2, 6]]), *mixed[1:])
    assert get_main_label(swapped).tolist() == [1, 6]


def test_dense_of_mixed_labels_equals_values_worked_by_hand():
    first = [0.5 + 0.0625, 0.0625, 0.3125, 0.0625]  # half of (1,0,0,0) and of (1,1,5,1)/8
    second = [0.5 + 0.125, 0.125, 0.125, 0.125]  # half of (1,0,0,0) and of chance
    torch.testing.assert_close(MIXED.dense(4), torch.tensor([first, second]))


def test_blend_is_the_mean_by_the_shares_for_numbers_and_for_rows():
    share = torch.tensor([[0.75, 0.25], [0.0, 1.0]])
    assert blend(torch.tensor([4.0, 4.0]), torch.tensor([0.0, 8.0]), share).tolist() == [3.0, 8.0]
    rows = blend(torch.ones(2, 3), torch.zeros(2, 3), share)
    assert rows.tolist() == [[0.75] * 3, [0.0] * 3]


BAD = [
    ((SoftLabel(3, 0.5), FIRST, 0.5), "labels must be [B], got int 3; pass a batch of"),
    ((FIRST, FIRST.label[:1], 0.5), "labels of 2 images must be [B], got int64 tensor"),
    ((FIRST.label.float(), FIRST, 0.5), "labels must be integers"),
    ((FIRST, SECOND, 1.5), "share must be a number in 0..1, got float 1.5"),
    ((FIRST, SECOND, torch.ones(3)), "share must be a number or [2], got"),
    ((SoftLabel(FIRST.label, 0.5), FIRST, 0.5), "retained must be a batch [B]"),
    ((MIXED, FIRST, 0.5), "images can be mixed once, got labels that are mixed already"),
]


@pytest.mark.parametrize(("parts", "message"), BAD, ids=[message for _, message in BAD])
def test_labels_that_cannot_be_mixed_are_refused(parts, message):
    with pytest.raises(ValueError, match=r"^mix_labels: ") as error:
        mix_labels(*parts)
    assert message in str(error.value)
