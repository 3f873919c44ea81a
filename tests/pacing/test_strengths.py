"""Whatever has a strength can be paced."""

import pytest
import torch

from softaug import (
    DrawKey,
    Pacer,
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
)
from softaug.pacing import AccuracyLine

WITH_SIGMA = [SoftCrop, SoftNoise, lambda s: SoftResizedCrop(8, s)]
WITH_STRENGTH = [
    lambda s: SoftErase(strength=s),
    lambda s: SoftCutout(strength=s),
    lambda s: SoftAffine(60, (0.4, 0.3), (1.0, 1.5), 30, strength=s),
    lambda s: SoftPolicy("trivial", strength=s),
    lambda s: SoftPolicy("rand", strength=s),
]


@pytest.mark.parametrize("make", [*WITH_SIGMA, *WITH_STRENGTH])
def test_every_transform_with_a_strength_can_be_paced(make):
    transform, images = make("auto"), torch.rand(4, 3, 16, 16)
    Pacer(transform, 2, first=0.3)
    labels = torch.zeros(4).long()
    torch.manual_seed(1)
    found = transform(images, labels)
    torch.manual_seed(1)
    torch.testing.assert_close(found, make(0.3)(images, labels))
    assert f"{transform.paceable.name}='auto'" in repr(transform)


@pytest.mark.parametrize("make", WITH_STRENGTH)
def test_a_share_of_the_strength_leaves_more(make):
    images, labels = torch.rand(64, 3, 32, 32), torch.zeros(64).long()
    key = DrawKey(0, 0, torch.arange(64))
    weak, full = (make(share)(images, labels, key=key)[1].retained for share in (0.3, 1.0))
    assert weak.mean() > full.mean() + 0.002


def after(pacer):
    """The strength after an epoch in which all was right."""
    pacer.watch(9 * torch.eye(4), torch.arange(4))
    pacer.next_epoch()
    return pacer.strength


@pytest.mark.parametrize("make", WITH_STRENGTH)
def test_such_a_strength_begins_at_a_tenth_and_may_rise_to_the_whole(make):
    pacer = Pacer(make("auto"), 40, AccuracyLine(0), settle=0)
    assert (pacer.strength, pacer.least, pacer.most) == (0.1, 0.1, 1.0)
    assert [after(pacer) for _ in range(20)][-1] == 1.0


def test_more_than_the_whole_is_refused():
    with pytest.raises(ValueError, match="most must be at most 1 for strength of SoftErase, got 2"):
        Pacer(SoftErase(strength="auto"), 4, most=2)


def test_a_refused_pacer_leaves_the_transform_as_it_was():
    erase, images, labels = SoftErase(strength="auto"), torch.rand(4, 3, 16, 16), torch.arange(4)
    Pacer(erase, 4)
    before = erase(images, labels, key=DrawKey(0, 0, labels))
    with pytest.raises(ValueError, match=r"^Pacer: first_k must be > 0"):
        Pacer(erase, 4, by="class", num=4, first_k=-1)
    torch.testing.assert_close(erase(images, labels, key=DrawKey(0, 0, labels)), before)


def test_the_state_of_another_transforms_pacer_is_refused():
    state = Pacer(SoftErase(strength="auto"), 4).state_dict()
    with pytest.raises(ValueError, match=r"sets=strength of SoftCutout\), got .*of SoftErase\)"):
        Pacer(SoftCutout(strength="auto"), 4).load_state_dict(state)
