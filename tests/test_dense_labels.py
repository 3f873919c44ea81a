"""Labels that are probabilities or several classes at once, and labels that others rebuild."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_map

from softaug import MixedLabel, SoftBCELoss, SoftCrop, SoftLabel, SoftLoss
from softaug.softening import confidence, uniform_prior

NUM, CLASSES = 6, 4


@pytest.fixture
def logits():
    return torch.randn(NUM, CLASSES, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def kept():
    return torch.linspace(0, 1, NUM)


def one_hot():
    return F.one_hot(torch.arange(NUM) % CLASSES, CLASSES).float()


@pytest.mark.parametrize("soften", ["none", "target", "weight", "both"])
def test_one_hot_probabilities_equal_class_indices(soften, logits, kept):
    loss = SoftLoss(soften, reduction="none")
    by_index = loss(logits, SoftLabel(torch.arange(NUM) % CLASSES, kept))
    torch.testing.assert_close(loss(logits, SoftLabel(one_hot(), kept)), by_index)


def test_mixed_probabilities_soften_by_the_same_rule(logits, kept):
    probs = 0.3 * one_hot() + 0.7 * one_hot().roll(1, 0)
    target = kept[:, None] * probs + (1 - kept[:, None]) / CLASSES
    divergence = F.kl_div(logits.log_softmax(1), target, reduction="none").sum(1)
    expected = (confidence(kept, CLASSES) * divergence).mean()
    torch.testing.assert_close(SoftLoss()(logits, SoftLabel(probs, kept)), expected)
    assert torch.allclose(uniform_prior(CLASSES, logits), torch.tensor(1 / CLASSES))


def test_a_transform_takes_probabilities_and_leaves_them(kept):
    images, label = SoftCrop()(torch.rand(NUM, 3, 8, 8), one_hot())
    assert images.shape == (NUM, 3, 8, 8)
    assert torch.equal(label.label, one_hot())
    assert label.retained.shape == (NUM,)


def test_whole_images_have_the_binary_cross_entropy(logits):
    truth = (torch.rand(NUM, CLASSES) > 0.5).float()
    expected = F.binary_cross_entropy_with_logits(logits, truth)
    torch.testing.assert_close(SoftBCELoss()(logits, truth), expected)


def test_multi_label_targets_move_to_the_prior_of_each_class(logits, kept):
    truth, prior = one_hot(), torch.tensor([0.1, 0.2, 0.5, 0.9])
    expected = []
    for row, label, share in zip(logits, truth, kept, strict=True):
        target = share * label + (1 - share) * prior
        entropy = F.binary_cross_entropy(target, target)
        expected.append(F.binary_cross_entropy_with_logits(row, target) - entropy)
    loss = SoftBCELoss("target", prior=prior, reduction="none")
    torch.testing.assert_close(loss(logits, SoftLabel(truth, kept)), torch.stack(expected))


@pytest.mark.parametrize("bad", [torch.full((NUM, CLASSES), 1.5), torch.ones(NUM, CLASSES + 1)])
def test_wrong_multi_labels_are_refused(bad, logits):
    with pytest.raises(ValueError, match="SoftBCELoss"):
        SoftBCELoss()(logits, bad)


@pytest.mark.parametrize(
    "label",
    [
        SoftLabel(torch.arange(2), torch.ones(2)),
        MixedLabel(torch.zeros(2, 2, dtype=torch.int64), torch.ones(2, 2), torch.ones(2, 2) / 2),
    ],
    ids=lambda label: type(label).__name__,
)
def test_labels_survive_being_rebuilt(label):
    copies = [
        type(label)(part for part in label),  # as Hugging Face's Trainer does
        copy.deepcopy(label),
        pickle.loads(pickle.dumps(label)),
        tree_map(torch.clone, label),
    ]
    for found in copies:
        assert type(found) is type(label)
        assert all(map(torch.equal, found, label))
