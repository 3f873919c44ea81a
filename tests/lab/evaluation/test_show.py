"""`softaug show`: versions are those of training, and the picture says what they are."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from softaug import DrawKey, confidence, retained
from softaug.lab.data.folder import read_image
from softaug.lab.evaluation.show import (
    MAX_LINES,
    choose_recipe,
    count_classes,
    describe_augment,
    draw_versions,
    show,
    show_transforms,
)
from softaug.lab.recipes import (
    Augment,
    Cutout,
    Mix,
    Noise,
    NormalOffsets,
    NormalWindows,
    Pace,
    UniformOffsets,
    find,
)
from softaug.lab.recipes.augment import WINDOWS_FIRST
from softaug.lab.recipes.config import DataSpec
from softaug.lab.training.augmentation import build_transforms
from softaug.lab.training.batches import apply_transforms

SOFT = find("digits-resnet8-soft").recipe
HARD = find("digits-resnet8-hard").recipe
WINDOWED = replace(
    SOFT,
    data=DataSpec("imagenet"),
    augment=Augment(NormalWindows(sigma=0.5, fill="black"), order=WINDOWS_FIRST),
)
MEAN = (124, 116, 104)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two image files that are not square."""
    root, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for name in ("cat.png", "cost $5 or $6.png"):
        pixels = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / name)
    return sorted(root.iterdir())


@pytest.fixture(scope="module")
def originals(photos):
    return torch.stack([read_image(str(path), 24) for path in photos])


def versions(originals, recipe, draws=3, seed=0, num_classes=10):
    return draw_versions(originals, recipe, 24, draws=draws, seed=seed, num_classes=num_classes)


def with_augment(recipe, **changes):
    return replace(recipe, augment=replace(recipe.augment, **changes))


def numbers(path, word):
    """What an SVG says under its images: their text stands in it as comments."""
    return re.findall(rf"{word} ([\d.]+)", path.read_text())


@pytest.mark.parametrize("policy", ["none", "trivialaugment"])
def test_images_and_labels_are_those_of_training(originals, policy):
    recipe = with_augment(SOFT, policy=policy, cutout=Cutout(8))
    transforms = build_transforms(recipe.augment, MEAN, 24)
    for place, row in enumerate(versions(originals, recipe)):
        for epoch, version in enumerate(row):
            key = DrawKey(0, epoch, torch.tensor([place]))
            image = originals[place][None]
            images, label = apply_transforms(transforms, image, torch.zeros(1).long(), key)
            assert version.image.equal(images[0])
            assert version.retained == float(label.retained)


def test_visible_retained_and_confidence_belong_together(originals):
    image = torch.full((1, 3, 20, 20), 255, dtype=torch.uint8)
    black = with_augment(SOFT, crop=NormalOffsets(sigma=0.3, fill="black"))
    (row,) = draw_versions(image, black, 20, draws=5, seed=0, num_classes=10)
    for version in row:
        assert float((version.image[0] == 255).double().mean()) == pytest.approx(version.visible)
        assert version.retained == pytest.approx(retained(version.visible, 2.0), abs=1e-6)
        assert version.confidence == pytest.approx(confidence(version.retained, 10), abs=1e-6)
    (sure,) = versions(originals[:1], with_augment(HARD, crop=UniformOffsets(10)))
    assert {v.confidence for v in sure} == {1}, "hard labels"
    assert all(v.visible < 1 for v in sure)
    (few,), (many,) = (versions(originals[:1], SOFT, num_classes=n) for n in (2, 1000))
    assert all(a.confidence > b.confidence for a, b in zip(few, many, strict=True))


def test_draws_depend_on_the_seed_and_their_place_alone(originals):
    three, five, other = (
        [[v.visible for v in row] for row in versions(originals, SOFT, draws=draws, seed=seed)]
        for draws, seed in ((3, 0), (5, 0), (3, 1))
    )
    assert three == [row[:3] for row in five]
    assert len({tuple(row) for row in three + other}) == 4
    assert len(set(five[0])) > 3
    late = with_augment(SOFT, schedules=(("crop.sigma", 0.001, 0.04),))
    assert [v.visible for v in versions(originals, late)[0]] == three[0], "as at first"


def test_windows_are_drawn_on_whole_images_of_any_size():
    images = [torch.full((3, *shape), 255, dtype=torch.uint8) for shape in ((30, 90), (64, 20))]
    rows = versions(images, WINDOWED)
    crop = build_transforms(WINDOWED.augment, MEAN, 24)[0]
    for place, row in enumerate(rows):
        height, width = (torch.tensor([edge]) for edge in images[place].shape[1:])
        for epoch, version in enumerate(row):
            params = crop.draw_for(height, width, DrawKey(0, epoch, torch.tensor([place])))
            assert version.visible == float(params.visible)
            assert version.image.shape == (3, 24, 24)


def test_the_picture_has_the_numbers_and_is_the_same_again(photos, originals, tmp_path):
    out = show_transforms(photos, SOFT, tmp_path / "new" / "a.svg", draws=2, size=24)
    drawn = [version for row in versions(originals, SOFT, draws=2) for version in row]
    assert numbers(out, "confidence") == [f"{v.confidence:.2f}" for v in drawn]
    assert numbers(out, "visible") == [f"{100 * v.visible:.0f}" for v in drawn]
    assert numbers(out, "retained") == [f"{v.retained:.2f}" for v in drawn]
    content = out.read_text()
    assert content.count("<image ") == 6
    for text in ("cat.png", "cost $5 or $6.png", "digits-resnet8-soft", "10 classes, seed 0"):
        assert text in content
    again = show_transforms(photos, SOFT, tmp_path / "b.SVG", draws=2, size=24)
    assert again.read_bytes() == out.read_bytes()


def test_the_command_draws_a_png_of_lines_of_eight(photos, tmp_path, capsys):
    sizes = []
    for draws in (8, 9):
        out = tmp_path / f"{draws}.png"
        show("transforms", (photos[0],), recipe=SOFT.name, draws=draws, size=8, out=out)
        recipe, picture = capsys.readouterr().out.splitlines()
        assert (recipe, picture) == (f"Recipe: {SOFT.name}", f"Picture: {out}")
        with Image.open(out) as picture:
            sizes.append(picture.size)
    assert sizes[0][0] == sizes[1][0]
    assert sizes[1][1] - sizes[0][1] == 320, "two inches more"


def test_what_is_done_is_told_with_every_setting():
    augment = Augment(
        NormalOffsets(0.1, k=None),
        policy="randaugment",
        curves="naive",
        noise=Noise(0.1),
        cutout=Cutout(8, k=3.0),
        pace=Pace("confidence-match"),
        flip=False,
    )
    told = describe_augment(replace(SOFT, augment=augment, mix=Mix("cutmix")), 24)
    parts = [
        "SoftPolicy(",
        "SoftCrop(k=inf",
        "SoftNoise(",
        "SoftCutout(",
        "paced by confidence-match",
    ]
    parts += ["cutmix (not drawn)", "SoftLoss(soften='both')"]
    assert [part in told for part in parts] == [True] * len(parts)
    assert "HorizontalFlip" not in told


@pytest.mark.parametrize("part", ["", "train"])
def test_classes_of_a_folder_are_counted(tmp_path, part):
    for name in ("cat", "dog", "owl", ".hidden"):
        (tmp_path / part / name).mkdir(parents=True)
    assert count_classes(DataSpec(f"folder:{tmp_path}")) == 3


WRONG = {
    "no image": ({"images": []}, "at least one image must be given, got none; name image files"),
    "no draw": ({"draws": 0}, "draws must be a whole number >= 1"),
    "small": ({"size": 4}, "size must be a whole number >= 8"),
    "seed": ({"seed": -1}, "seed must be a whole number >= 0"),
    "ending": ({"out": "a.pngg"}, r"must be one of 'png', 'svg', got 'pngg'; did you mean 'png'"),
    "no ending": ({"out": "png"}, r"must be one of 'png', 'svg', got ''"),
    "missing": ({"images": ["none.png"]}, r"none\.png must be an image that can be read"),
    "no image file": ({"images": ["text.png"]}, r"text\.png must be an image that can be read"),
    "cut": ({"images": ["cut.jpg"]}, r"cut\.jpg must be an image that can be read"),
    "many": ({"draws": 8 * MAX_LINES}, "at most 150 lines of versions, got 300; give fewer"),
    "file as folder": ({"out": "text.png/a.png"}, r"a\.png must be a file that can be written"),
    "folder as file": ({"out": "there.png"}, r"there\.png must be a file that can be written"),
}


@pytest.mark.parametrize("recipe", [SOFT, WINDOWED], ids=["offsets", "windows"])
@pytest.mark.parametrize(("changes", "rule"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused(photos, tmp_path, recipe, changes, rule):
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "there.png").mkdir()
    Image.new("RGB", (40, 30)).save(tmp_path / "cut.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "cut.jpg").read_bytes()[:-40])
    given = {"images": photos, "out": "a.png", "draws": 1, "size": 8, **changes}
    images = [tmp_path / path for path in given.pop("images")]
    with pytest.raises(ValueError, match=f"^show: .*{rule}"):
        show_transforms(images, recipe, tmp_path / given.pop("out"), **given)
    assert not (tmp_path / "a.png").exists()


def test_a_photograph_is_shown_by_a_recipe_for_photographs(tmp_path):
    for edge, recipe in ((64, "cifar100-resnet18-soft"), (65, "imagenet-resnet50-soft")):
        Image.new("RGB", (200, edge)).save(tmp_path / "image.png")
        assert choose_recipe([tmp_path / "image.png"]) == recipe
    assert choose_recipe([tmp_path / "missing.png"]) == "cifar100-resnet18-soft"
