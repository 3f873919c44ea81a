import base64
import io

import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data.images import Images
from softaug.lab.evaluation.corruptions import ordeals
from softaug.lab.evaluation.examples import as_png, examples


def decode(text):
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(text))))
    return torch.from_numpy(pixels).permute(2, 0, 1)


def some_images(num, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (num, 3, 10, 10)
    return torch.randint(40, 256, shape, generator=generator, dtype=torch.uint8)


SOURCE = Images(some_images(30), torch.arange(30) % 5)


def means(images):
    """A network of five classes that answers by brightness."""
    level = images.float().mean((1, 2, 3)) / 255
    return torch.stack([number * level for number in range(5)], dim=1)


@pytest.fixture(scope="module")
def found():
    return examples(SOURCE, means, ordeals((1, 2, 3))[0])


def test_a_png_holds_the_very_pixels():
    image = some_images(1)[0]
    assert decode(as_png(image)).equal(image)


def test_examples_are_test_images_with_their_labels(found):
    assert len(found["whole"]) == len({shown["index"] for shown in found["whole"]}) == 24
    for shown in found["whole"]:
        assert decode(shown["png"]).equal(SOURCE.images[shown["index"]])
        assert shown["label"] == int(SOURCE.labels[shown["index"]])


def test_answers_are_the_three_likeliest_classes_the_likeliest_first(found):
    for shown in found["whole"]:
        probs = means(SOURCE.images[[shown["index"]]]).softmax(1)[0]
        assert [number for number, _ in shown["answers"]] == [4, 3, 2]
        assert shown["answers"][0][1] == pytest.approx(float(probs[4]), abs=1e-4)


def test_two_classes_have_two_answers():
    few = Images(SOURCE.images[:3], SOURCE.labels[:3] % 2)
    found = examples(few, lambda images: means(images)[:, :2], ordeals((0, 0, 0))[0])
    assert [len(shown["answers"]) for shown in found["whole"]] == [2, 2, 2]
    assert [len(level["images"]) for level in found["occluded"]] == [3] * 5


def test_the_first_eight_are_shown_under_every_patch(found):
    assert [level["share"] for level in found["occluded"]] == [0.0, 0.2, 0.4, 0.6, 0.8]
    whole = [{k: shown[k] for k in ("png", "answers")} for shown in found["whole"][:8]]
    assert found["occluded"][0]["images"] == whole
    patch = decode(found["occluded"][4]["images"][0]["png"])
    covered = (patch == torch.tensor([1, 2, 3]).view(3, 1, 1)).all(0).double().mean()
    assert covered == pytest.approx(0.8, abs=0.05)


def test_another_network_is_shown_the_same_images(found):
    other = examples(SOURCE, lambda images: -means(images), ordeals((1, 2, 3))[0])
    for ours, theirs in zip(found["whole"], other["whole"], strict=True):
        assert (ours["index"], ours["png"]) == (theirs["index"], theirs["png"])
        assert ours["answers"] != theirs["answers"]
    assert other["occluded"][3]["images"][2]["png"] == found["occluded"][3]["images"][2]["png"]
