"""Whatever has a strength can be paced: one overall, or one for each class or sample."""

import copy
import shutil

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from softaug import (
    DrawKey,
    Pacer,
    SoftAffine,
    SoftCrop,
    SoftCutout,
    SoftErase,
    SoftLabel,
    SoftNoise,
    SoftPolicy,
    SoftResizedCrop,
)
from tests.pacing.own_rule import Line

WITH_SIGMA = {
    "crop": SoftCrop,
    "noise": SoftNoise,
    "windows": lambda sigma: SoftResizedCrop(12, sigma),
}
WITH_STRENGTH = {
    "erase": lambda strength: SoftErase(strength=strength),
    "cutout": lambda strength: SoftCutout(strength=strength),
    "affine": lambda strength: SoftAffine(60, (0.3, 0.3), (0.4, 2), 20, strength=strength),
    "trivial": lambda strength: SoftPolicy("trivial", strength=strength),
    "rand": lambda strength: SoftPolicy("rand", strength=strength),
}
MAKE = WITH_SIGMA | WITH_STRENGTH
SIGMAS = torch.tensor([0.1, 0.35, 0.2, 0.05, 0.4])
IMAGES = torch.rand(40, 3, 16, 16, generator=torch.Generator().manual_seed(0))
NUMBERS = torch.randint(5, (40,), generator=torch.Generator().manual_seed(1))
KEY = DrawKey(3, 1, torch.arange(40))
BY = pytest.mark.parametrize("by", ["class", "sample"])
EACH = pytest.mark.parametrize("name", MAKE)


@EACH
def test_every_transform_with_a_strength_can_be_paced(name):
    transform = MAKE[name]("auto")
    Pacer(transform, 2, first=0.3)
    found, expected = (made(IMAGES, NUMBERS, key=KEY) for made in (transform, MAKE[name](0.3)))
    torch.testing.assert_close(found, expected)
    assert f"{transform.paceable.name}='auto'" in repr(transform)


def after(pacer):
    """The strength after an epoch in which all was right."""
    pacer.watch(9 * torch.eye(5), torch.arange(5))
    pacer.next_epoch()
    return pacer.strength


@pytest.mark.parametrize("name", WITH_STRENGTH)
def test_a_strength_rises_from_a_tenth_to_the_whole_and_leaves_ever_less(name):
    weak, full = (MAKE[name](share)(IMAGES, NUMBERS, key=KEY)[1].retained for share in (0.3, 1.0))
    assert weak.mean() > full.mean() + 0.002
    pacer = Pacer(MAKE[name]("auto"), 40, Line(0), settle=0)
    assert (pacer.strength, pacer.least, pacer.most) == (0.1, 0.1, 1.0)
    assert [after(pacer) for _ in range(20)][-1] == 1.0


def test_a_copy_of_the_transform_is_paced_with_it():
    crop = SoftCrop("auto")
    pacer, copied = Pacer(crop, 1, Line(), first=0.2, factor=1.15, settle=0), copy.deepcopy(crop)
    after(pacer)
    for made in (crop, copied):
        expected = SoftCrop(0.23)(IMAGES, NUMBERS, key=KEY)
        torch.testing.assert_close(made(IMAGES, NUMBERS, key=KEY), expected)


def test_a_refused_pacer_leaves_the_transform_as_it_was():
    erase = SoftErase(strength="auto")
    Pacer(erase, 4)
    before = erase(IMAGES, NUMBERS, key=KEY)
    with pytest.raises(ValueError, match=r"^Pacer: first_k must be > 0"):
        Pacer(erase, 4, by="class", num=4, first_k=-1)
    torch.testing.assert_close(erase(IMAGES, NUMBERS, key=KEY), before)


def with_own(make, by, values=SIGMAS):
    transform = make("auto")
    paced = getattr(transform, transform.paceable.name)
    paced.divide(by, None if by == "all" else len(values))
    paced.set(values)
    return transform


def given(by, rows=slice(None)):
    """Labels and key of samples whose number is a class, or a place in the data."""
    numbers = NUMBERS[rows]
    places = torch.arange(40)[rows] if by == "class" else numbers
    return (numbers if by == "class" else torch.zeros_like(numbers)), DrawKey(3, 1, places)


@EACH
@BY
def test_each_has_what_a_transform_of_its_number_gives_in_any_part_of_a_batch(name, by):
    transform, (labels, key) = with_own(MAKE[name], by), given(by)
    images, label = transform(IMAGES, labels, key=key)
    for number, sigma in enumerate(SIGMAS.double().tolist()):
        alike = MAKE[name](sigma)(IMAGES, labels, key=key)
        own = number == NUMBERS
        torch.testing.assert_close(images[own], alike[0][own])
        torch.testing.assert_close(label.retained[own], alike[1].retained[own])
    whole = transform.draw(IMAGES, labels=labels, key=key)
    for rows in torch.randperm(40, generator=torch.Generator().manual_seed(2)).split([1, 16, 23]):
        labels, key = given(by, rows)
        part = transform.draw(IMAGES[rows], labels=labels, key=key)
        for one, other in zip(part, whole, strict=True):
            assert torch.equal(one, other[rows])


@BY
def test_one_image_and_windows_of_one_that_is_not_decoded_have_their_own_too(by):
    crop, (labels, key) = with_own(SoftCrop, by), given(by)
    expected = crop(IMAGES, labels, key=key)[1].retained
    for row in (0, 7):
        own = key._replace(index=int(key.index[row]))
        _, label = crop(IMAGES[row], SoftLabel(int(labels[row]), 1.0), key=own)
        assert label.retained == pytest.approx(float(expected[row]))
    edges, crop = torch.full((40,), 16), with_own(MAKE["windows"], by)
    found = crop.draw_for(edges, edges, key, labels)
    assert torch.equal(found.boxes, crop.draw(IMAGES, labels=labels, key=key).boxes)


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
@pytest.mark.parametrize(
    "transform",
    [with_own(SoftCrop, "class"), with_own(MAKE["erase"], "all", torch.tensor(0.5))],
    ids=["crop-class", "erase-all"],
)
def test_a_compiled_transform_is_compiled_once_for_all_strengths(transform):
    torch.compiler.reset()
    times, paced = [], getattr(transform, transform.paceable.name)

    def backend(graph, _):
        times.append(1)
        return graph.forward

    compiled, seen = torch.compile(transform, backend=backend, fullgraph=True), []
    for factor in (1.0, 0.5):
        paced.set(factor * paced.read("test", "strength"))
        seen.append(compiled(IMAGES, NUMBERS, key=KEY)[0])
        torch.testing.assert_close(seen[-1], transform(IMAGES, NUMBERS, key=KEY)[0])
    assert times == [1]
    assert not torch.equal(*seen)


class Kept(Dataset):
    def __init__(self, crop):
        self.crop = crop

    def __len__(self):
        return 5

    def __getitem__(self, index):
        image, key = torch.ones(3, 32, 32), DrawKey(0, 0, index)
        return self.crop(image, index, key=key)[1].retained


@pytest.mark.parametrize(("by", "context"), [("all", "fork"), ("class", "spawn")])
def test_workers_that_stay_see_each_new_strength(by, context):
    num = None if by == "all" else 5
    pacer = Pacer(crop := SoftCrop("auto"), 2, Line(0), by=by, num=num, first=0.2, settle=0)
    loader = DataLoader(
        Kept(crop), 5, num_workers=1, persistent_workers=True, multiprocessing_context=context
    )
    seen = []
    for _ in range(2):
        seen.append(next(iter(loader)).tolist())
        sigmas = pacer.strengths.expand(5).tolist()
        alike = [Kept(SoftCrop(sigma))[row] for row, sigma in enumerate(sigmas)]
        assert seen[-1] == pytest.approx(alike)
        pacer.watch(9 * torch.eye(5).roll(1, 0)[[1, 2, 3, 3, 3]], torch.arange(5))
        pacer.next_epoch()
    assert seen[0] != seen[1]


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
