"""Each class, or each sample, has a strength of its own."""

import shutil

import pytest
import torch

from softaug import (
    DrawKey,
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
)

SIGMAS = torch.tensor([0.1, 0.35, 0.2, 0.05, 0.4])
MAKE = {
    "crop": SoftCrop,
    "noise": SoftNoise,
    "windows": lambda sigma: SoftResizedCrop(12, sigma),
    "erase": lambda strength: SoftErase(strength=strength),
    "cutout": lambda strength: SoftCutout(strength=strength),
    "affine": lambda strength: SoftAffine(60, (0.3, 0.3), (0.4, 2), 20, strength=strength),
    "policy": lambda strength: SoftPolicy("rand", strength=strength),
}
IMAGES = torch.rand(40, 3, 16, 16, generator=torch.Generator().manual_seed(0))
NUMBERS = torch.randint(5, (40,), generator=torch.Generator().manual_seed(1))


def with_own(make, by, values=SIGMAS):
    transform = make("auto")
    paced = getattr(transform, transform.paceable.name)
    paced.divide(by, len(values))
    paced.set(values)
    return transform


def given(by, rows=slice(None)):
    """Labels and key of samples whose number is a class, or a place in the data."""
    numbers = NUMBERS[rows]
    places = torch.arange(40)[rows] if by == "class" else numbers
    return (numbers if by == "class" else torch.zeros_like(numbers)), DrawKey(3, 1, places)


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("by", ["class", "sample"])
def test_each_has_what_a_transform_of_its_number_gives(name, by):
    labels, key = given(by)
    images, label = with_own(MAKE[name], by)(IMAGES, labels, key=key)
    for number, sigma in enumerate(SIGMAS.double().tolist()):
        alike = MAKE[name](sigma)(IMAGES, labels, key=key)
        own = number == NUMBERS
        torch.testing.assert_close(images[own], alike[0][own])
        torch.testing.assert_close(label.retained[own], alike[1].retained[own])


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("by", ["class", "sample"])
def test_a_batch_in_parts_has_the_same_draws(name, by):
    transform, (labels, key) = with_own(MAKE[name], by), given(by)
    whole = transform.draw(IMAGES, labels=labels, key=key)
    for rows in torch.randperm(40, generator=torch.Generator().manual_seed(2)).split([1, 16, 23]):
        labels, key = given(by, rows)
        part = transform.draw(IMAGES[rows], labels=labels, key=key)
        for one, other in zip(part, whole, strict=True):
            assert torch.equal(one, other[rows])


@pytest.mark.parametrize("by", ["class", "sample"])
def test_one_image_has_its_own_too(by):
    crop, (labels, key) = with_own(SoftCrop, by), given(by)
    expected = crop(IMAGES, labels, key=key)[1].retained
    for row in (0, 7):
        own = key._replace(index=int(key.index[row]))
        _, label = crop(IMAGES[row], SoftLabel(int(labels[row]), 1.0), key=own)
        assert label.retained == pytest.approx(float(expected[row]))


def test_windows_drawn_before_an_image_is_decoded_are_those_of_draw():
    edges = torch.full((40,), 16)
    for by in ("class", "sample"):
        crop, (labels, key) = with_own(MAKE["windows"], by), given(by)
        found = crop.draw_for(edges, edges, key, labels)
        assert torch.equal(found.boxes, crop.draw(IMAGES, labels=labels, key=key).boxes)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
def test_a_compiled_crop_looks_numbers_up_and_is_compiled_once():
    torch.compiler.reset()
    crop, times = with_own(SoftCrop, "class"), []

    def backend(graph, _):
        times.append(1)
        return graph.forward

    compiled, (labels, key) = torch.compile(crop, backend=backend, fullgraph=True), given("class")
    for factor in (1.0, 0.5):
        crop.sigma.set(factor * SIGMAS)
        torch.testing.assert_close(compiled(IMAGES, labels, key=key), crop(IMAGES, labels, key=key))
    assert times == [1]


@pytest.mark.parametrize(
    ("by", "call", "message"),
    [
        ("sample", {"labels": NUMBERS}, "sigma is by sample, so key.index must be given, got none"),
        ("class", {}, r"sigma is by class, so labels must be given, got none; draw\(images, lab"),
        ("class", {"labels": NUMBERS + 1}, r"so labels must be in 0\.\.4, got 5; make the pacer"),
        ("sample", {"key": DrawKey(0, 0, NUMBERS - 1)}, r"key.index must be in 0\.\.4, got -1"),
        ("class", {"labels": NUMBERS[1:]}, "labels must be one for each of the 40 images"),
        ("class", {"labels": NUMBERS.double()}, "labels must be integers"),
    ],
)
def test_numbers_that_cannot_be_looked_up_are_refused(by, call, message):
    with pytest.raises(ValueError, match=f"^SoftCrop: .*{message}"):
        with_own(SoftCrop, by).draw(IMAGES, **call)
