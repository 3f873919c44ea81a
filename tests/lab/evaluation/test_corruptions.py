"""Corrupted test images, what is counted of them, and examples for pictures."""

import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data.images import Images
from softaug.lab.evaluation.metrics import Corruption, make_corruptions, make_examples

FILL = (10, 20, 30)
ALL = pytest.mark.parametrize("corruption", make_corruptions(FILL), ids=lambda one: one.name)


def make_images(num=6, edge=20, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(40, 256, (num, 3, edge, edge), generator=generator, dtype=torch.uint8)


def filled_share(images):
    """Share of each image's pixels that have the color of the fill."""
    return (images == torch.tensor(FILL).view(3, 1, 1)).all(1).double().mean((1, 2))


def test_levels_hide_leave_or_blur_their_share_and_the_first_changes_nothing():
    images, (occlusion, shift, noise) = make_images(), make_corruptions(FILL)
    for place, share in enumerate((0.0, 0.2, 0.4, 0.6, 0.8)):
        hidden = filled_share(occlusion.corrupt(images, place, 0, 0))
        gone = filled_share(shift.corrupt(images, place, 0, 0))
        assert hidden.tolist() == pytest.approx([share] * 6, abs=0.05)
        assert gone.tolist() == pytest.approx([share] * 6, abs=0.05)
    gray = torch.full_like(images, 128)
    for place, sd in enumerate((0.0, 0.02, 0.05, 0.1, 0.2)):
        found = noise.corrupt(gray, place, 0, 0).double().std() / 255
        assert float(found) == pytest.approx(sd, rel=0.05)
    for corruption in (occlusion, shift, noise):
        assert corruption.corrupt(images, 0, 0, 0).equal(images)


@ALL
def test_corruptions_are_alike_for_every_network_and_differ_by_draw_chunk_and_image(corruption):
    same = make_images(1).expand(6, -1, -1, -1)
    found = [corruption.corrupt(same, 3, draw, chunk) for draw in (0, 1) for chunk in (0, 1)]
    for place, one in enumerate(found):
        assert not any(one.equal(other) for other in found[:place])
        assert not one[0].equal(one[1])
    torch.rand(5)  # what another network does to torch's generator
    again = next(other for other in make_corruptions(FILL) if other.name == corruption.name)
    assert again.corrupt(same, 3, draw=1, chunk=1).equal(found[3])


@ALL
def test_images_stay_where_they_are(corruption):
    """On "meta" nothing can be read: the draws are sent there, the images stay."""
    found = corruption.corrupt(make_images().to("meta"), 2, draw=0, chunk=0)
    assert (found.device.type, found.shape) == ("meta", (6, 3, 20, 20))


@pytest.mark.gpu
@ALL
def test_a_gpu_corrupts_the_same_pixels(corruption):
    here = corruption.corrupt(make_images(), 2, draw=0, chunk=0)
    there = corruption.corrupt(make_images().cuda(), 2, draw=0, chunk=0).cpu()
    assert (here.int() - there.int()).abs().max() <= 1  # a normal number's last bit


def test_accuracy_and_standard_error_worked_out_by_hand():
    corruption = Corruption("noise", (0.0, 1.0), lambda images, level, generator: images)
    right = torch.tensor([[2, 0], [2, 1], [2, 1], [2, 2]], dtype=torch.uint8)
    found = corruption.summarize(right, draws=2)
    assert found.accuracy == [1.0, 0.5]
    # (0, 0.5, 0.5, 1): variance 0.5 / 3, over four images
    assert found.se == pytest.approx([0.0, (0.5 / 3 / 4) ** 0.5])
    assert (found.levels, found.draws, found.n) == ([0.0, 1.0], 2, 4)


# Examples

SOURCE = Images(make_images(30, edge=10), torch.arange(30) % 5)
OCCLUSION = make_corruptions(FILL)[0]


def decode(text):
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(text))))
    return torch.from_numpy(pixels).permute(2, 0, 1)


def answer_by_brightness(images, num=5):
    """Logits of `num` classes."""
    level = images.float().mean((1, 2, 3)) / 255
    return torch.stack([number * level for number in range(num)], dim=1)


def test_examples_are_test_images_with_their_labels_and_three_likeliest_classes():
    examples = make_examples(SOURCE, answer_by_brightness, OCCLUSION)
    assert len(examples.whole) == len({shown.index for shown in examples.whole}) == 24
    for shown in examples.whole:
        assert decode(shown.png).equal(SOURCE.images[shown.index])
        assert shown.label == int(SOURCE.labels[shown.index])
        probs = answer_by_brightness(SOURCE.images[[shown.index]]).softmax(1)[0]
        assert [number for number, _ in shown.answers] == [4, 3, 2]
        assert shown.answers[0][1] == pytest.approx(float(probs[4]), abs=1e-4)
    assert [level.share for level in examples.occluded] == [0.0, 0.2, 0.4, 0.6, 0.8]
    for image, whole in zip(examples.occluded[0].images, examples.whole[:8], strict=True):
        assert (image.png, image.answers) == (whole.png, whole.answers)
    patch = decode(examples.occluded[4].images[0].png)
    assert filled_share(patch[None])[0] == pytest.approx(0.8, abs=0.05)
    other = make_examples(SOURCE, lambda images: -answer_by_brightness(images), OCCLUSION)
    assert other.images == examples.images
    assert other.occluded[3].images[2].png == examples.occluded[3].images[2].png
    assert other.whole[0].answers != examples.whole[0].answers


def test_few_images_of_two_classes_are_all_shown_with_two_answers():
    few = Images(SOURCE.images[:3], SOURCE.labels[:3] % 2)
    found = make_examples(few, lambda images: answer_by_brightness(images, 2), OCCLUSION)
    assert [len(shown.answers) for shown in found.whole] == [2, 2, 2]
    assert [len(level.images) for level in found.occluded] == [3] * 5
