import pytest
import torch

from softaug.lab.evaluation.corruptions import Ordeal, harmed, ordeals, summary

FILL = (10, 20, 30)
LEVELS = {
    "occlusion": (0.0, 0.2, 0.4, 0.6, 0.8),
    "shift": (1.0, 0.8, 0.6, 0.4, 0.2),
    "noise": (0.0, 0.02, 0.05, 0.1, 0.2),
}
ALL = pytest.mark.parametrize("ordeal", ordeals(FILL), ids=lambda ordeal: ordeal.name)


def images(num=6, edge=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(40, 256, (num, 3, edge, edge), generator=generator, dtype=torch.uint8)


def filled(damaged):
    """Share of each image's pixels that have the colour of the fill."""
    return (damaged == torch.tensor(FILL).view(3, 1, 1)).all(1).double().mean((1, 2))


def test_the_levels():
    assert {ordeal.name: ordeal.levels for ordeal in ordeals(FILL)} == LEVELS


@ALL
def test_the_first_level_does_nothing(ordeal):
    assert harmed(ordeal, 0, draw=0, chunk=0, images=images()).equal(images())


@ALL
def test_every_further_level_does_more(ordeal):
    steps = [harmed(ordeal, place, 0, 0, images()) for place in range(5)]
    changed = [(step.int() - images().int()).abs().double().mean() for step in steps]
    assert changed == sorted(changed)
    assert len(set(changed)) == 5


@pytest.mark.parametrize("place", range(1, 5))
def test_occlusion_hides_and_shift_leaves_the_share_of_its_level(place):
    occlusion, shift, _ = ordeals(FILL)
    hidden = filled(harmed(occlusion, place, 0, 0, images()))
    gone = filled(harmed(shift, place, 0, 0, images()))
    assert hidden.tolist() == pytest.approx([occlusion.levels[place]] * 6, abs=0.05)
    assert gone.tolist() == pytest.approx([1 - shift.levels[place]] * 6, abs=0.05)


@ALL
def test_the_damage_is_the_same_for_every_network(ordeal):
    first = harmed(ordeal, 3, draw=1, chunk=2, images=images())
    torch.rand(5)  # what another network does to torch's generator
    again = next(other for other in ordeals(FILL) if other.name == ordeal.name)
    assert harmed(again, 3, draw=1, chunk=2, images=images()).equal(first)


@ALL
def test_draws_and_chunks_are_damaged_each_in_its_own_way(ordeal):
    same = images(1).expand(6, -1, -1, -1)
    found = [harmed(ordeal, 3, draw, chunk, same) for draw in (0, 1) for chunk in (0, 1)]
    for place, one in enumerate(found):
        assert not any(one.equal(other) for other in found[:place])
        assert not one[0].equal(one[1]), "each image its own"


@ALL
def test_harm_is_done_where_the_images_are(ordeal):
    """On "meta" nothing can be read: the draws are sent there, the images stay."""
    damaged = harmed(ordeal, 2, draw=0, chunk=0, images=images().to("meta"))
    assert (damaged.device.type, damaged.shape) == ("meta", (6, 3, 20, 20))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@ALL
def test_a_gpu_harms_the_same_pixels(ordeal):
    here = harmed(ordeal, 2, draw=0, chunk=0, images=images())
    there = harmed(ordeal, 2, draw=0, chunk=0, images=images().cuda()).cpu()
    assert (here.int() - there.int()).abs().max() <= 1  # a normal number's last bit


def test_accuracy_and_standard_error_worked_out_by_hand():
    ordeal = Ordeal("any", (0.0, 1.0), lambda images, level, draws: images)
    right = torch.tensor([[2, 0], [2, 1], [2, 1], [2, 2]], dtype=torch.uint8)
    found = summary(ordeal, right, draws=2)
    assert found["accuracy"] == [1.0, 0.5]
    # (0, 0.5, 0.5, 1): variance 0.5 / 3, over four images
    assert found["se"] == pytest.approx([0.0, (0.5 / 3 / 4) ** 0.5])
    assert (found["levels"], found["draws"], found["n"]) == ([0.0, 1.0], 2, 4)
