"""Eq. 11: sigma and k by class (a tensor [C]) and by sample (a function of index and label)."""

import pytest
import torch

from softaug import DrawKey, SoftCrop, SoftErase, SoftResizedCrop

IMAGES, LABELS = torch.zeros(6, 3, 32, 32), torch.tensor([0, 1, 2, 2, 1, 0])
KEY = DrawKey(3, 0, torch.arange(6))
TABLE = torch.tensor([0.1, 0.2, 0.3])


def by_label(index, label):
    return TABLE[label]


def one_by_one(make, values):
    """What transforms with plain numbers give each image by itself."""
    found = []
    for row, value in enumerate(values.tolist()):
        transform = make(value)
        key = KEY._replace(index=torch.tensor([row]))
        found.append(transform(IMAGES[row : row + 1], LABELS[row : row + 1], key=key)[1].retained)
    return torch.cat(found)


@pytest.mark.parametrize("kind", [SoftCrop, SoftResizedCrop])
@pytest.mark.parametrize("sigma", [TABLE, TABLE.tolist(), by_label])
def test_each_sample_has_the_sigma_of_its_class(kind, sigma):
    _, label = kind(sigma=sigma)(IMAGES, LABELS, key=KEY)
    alone = one_by_one(lambda value: kind(sigma=value), TABLE[LABELS])
    torch.testing.assert_close(label.retained, alone)


@pytest.mark.parametrize("k", [1 + TABLE, lambda index, label: 1 + TABLE[label]])
def test_each_sample_has_the_k_of_its_class(k):
    _, label = SoftCrop(k=k)(IMAGES, LABELS, key=KEY)
    torch.testing.assert_close(
        label.retained, one_by_one(lambda v: SoftCrop(k=v), 1 + TABLE[LABELS])
    )


def test_a_function_can_go_by_the_sample_alone_and_is_bounded():
    own = torch.linspace(0.2, 1.0, 6)
    erase = SoftErase(strength=lambda index, label: own[index])
    params = erase.draw(IMAGES, labels=LABELS, key=KEY)
    alone = [
        SoftErase(strength=value).draw(IMAGES[:1], key=KEY._replace(index=torch.tensor([row])))
        for row, value in enumerate(own.tolist())
    ]
    torch.testing.assert_close(params.visible, torch.cat([one.visible for one in alone]))
    tall = SoftErase(strength=lambda index, label: 5 + own[index]).draw(
        IMAGES, labels=LABELS, key=KEY
    )
    full = SoftErase().draw(IMAGES, key=KEY)
    assert torch.equal(tall.visible, full.visible)


@pytest.mark.parametrize(
    ("settings", "labels", "key", "message"),
    [
        ({"sigma": [0.1, 0.2]}, LABELS, KEY, "sigma is for 2 classes, so labels must be in 0..1"),
        ({"sigma": by_label}, LABELS, None, "index and label, so key.index must be given"),
        ({"k": by_label}, LABELS, None, "k is a function of index and label, so key.index must"),
        (
            {"sigma": lambda i, y: -TABLE[y]},
            LABELS,
            KEY,
            r"sigma\(index, label\) must be > 0, got -0.1",
        ),
        (
            {"k": lambda i, y: 2.0},
            LABELS,
            KEY,
            r"k\(index, label\) must be floating point \[B\] for 6",
        ),
        ({"sigma": TABLE}, torch.eye(3)[LABELS], KEY, "labels for one sigma a class must be"),
    ],
)
def test_what_cannot_be_looked_up_is_refused(settings, labels, key, message):
    with pytest.raises(ValueError, match=f"^SoftCrop: .*{message}"):
        SoftCrop(**settings)(IMAGES, labels, key=key)


def test_settings_are_refused_by_class_and_drawing_by_class_needs_labels():
    with pytest.raises(ValueError, match="sigma of class 1 must be > 0"):
        SoftCrop(sigma=[0.1, 0])
    with pytest.raises(ValueError, match="strength must be at most 1"):
        SoftErase(strength=[0.5, 1.5])
    with pytest.raises(ValueError, match="sigma is by class, so labels must be given, got none"):
        SoftCrop(sigma=TABLE).draw(IMAGES, key=KEY)
