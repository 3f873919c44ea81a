import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import _pytree as pytree

from softaug import MixedLabel, SoftLabel
from softaug.label import blend, mix_labels

FIRST = SoftLabel(torch.tensor([2, 0]), torch.tensor([0.5, 1.0]))
SECOND = SoftLabel(torch.tensor([0, 0]), torch.tensor([1.0, 0.0]))


def test_mixing_sets_the_parts_side_by_side():
    mixed = mix_labels(FIRST, SECOND, torch.tensor([0.75, 0.5]))
    assert mixed.labels.tolist() == [[2, 0], [0, 0]]
    assert mixed.retained.tolist() == [[0.5, 1.0], [1.0, 0.0]]
    assert mixed.share.tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_plain_labels_count_as_whole_images():
    mixed = mix_labels(FIRST.label, SECOND.label, 0.25)
    assert mixed.retained.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert mixed.share.tolist() == [[0.25, 0.75], [0.25, 0.75]]


def test_dense_equals_values_worked_by_hand():
    dense = mix_labels(FIRST, SECOND, 0.5).dense(4)
    first = [0.5 + 0.0625, 0.0625, 0.3125, 0.0625]  # half of (1,0,0,0) and of (1,1,5,1)/8
    second = [0.5 + 0.125, 0.125, 0.125, 0.125]  # half of (1,0,0,0) and of chance
    torch.testing.assert_close(dense, torch.tensor([first, second]))


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.integers(3, 9))
def test_dense_sums_to_one(numbers, num_classes):
    kept, kept_too, share = torch.tensor(numbers)[:, None]
    first, second = SoftLabel(torch.tensor([1]), kept), SoftLabel(torch.tensor([2]), kept_too)
    dense = mix_labels(first, second, share).dense(num_classes)
    torch.testing.assert_close(dense.sum(1), torch.ones(1))


def test_blend_is_the_mean_by_the_shares_for_numbers_and_for_rows():
    share = torch.tensor([[0.75, 0.25], [0.0, 1.0]])
    assert blend(torch.tensor([4.0, 4.0]), torch.tensor([0.0, 8.0]), share).tolist() == [3.0, 8.0]
    rows = blend(torch.ones(2, 3), torch.zeros(2, 3), share)
    assert rows.tolist() == [[0.75] * 3, [0.0] * 3]


def test_to_and_pytree_and_pickle_keep_the_type():
    mixed = mix_labels(FIRST, SECOND, 0.5)
    moved = mixed.to("meta", non_blocking=True)
    assert isinstance(moved, MixedLabel)
    assert [part.device.type for part in moved] == ["meta"] * 3
    assert isinstance(pytree.tree_map(lambda part: part[:1], mixed), MixedLabel)
    assert torch.equal(pickle.loads(pickle.dumps(mixed)).share, mixed.share)


BAD = [
    (lambda: mix_labels(SoftLabel(3, 0.5), FIRST, 0.5), "labels must be a batch [B], got int 3"),
    (lambda: mix_labels(FIRST, FIRST.label[:1], 0.5), "of equally many samples, got 2 and 1"),
    (lambda: mix_labels(FIRST.label.float(), FIRST, 0.5), "labels must be integers"),
    (lambda: mix_labels(FIRST, SECOND, 1.5), "share must be a number in 0..1, got float 1.5"),
    (lambda: mix_labels(FIRST, SECOND, torch.ones(3)), "share must be a number or [2], got"),
    (lambda: mix_labels(SoftLabel(FIRST.label, 0.5), FIRST, 0.5), "retained must be a batch [B]"),
    (
        lambda: mix_labels(mix_labels(FIRST, SECOND, 0.5), FIRST, 0.5),
        "what is mixed already cannot be mixed again",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=r"^mix_labels: ") as error:
        call()
    assert message in str(error.value)
