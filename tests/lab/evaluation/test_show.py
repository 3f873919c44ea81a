import io
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from softaug import DrawKey, SoftCrop, SoftErase, confidence, retained
from softaug.lab.data.folder import read_image
from softaug.lab.evaluation.show import (
    MOST_LINES,
    augmented,
    centred,
    count_classes,
    draw_versions,
    show,
    show_transforms,
)
from softaug.lab.recipes import NormalOffsets, NormalWindows, UniformOffsets, find
from softaug.lab.recipes.augment import WINDOWS_FIRST, Augment
from softaug.lab.recipes.config import DataSpec
from softaug.lab.training.augmentation import build_transforms
from softaug.lab.training.batches import apply_transforms

SOFT = find("cifar100-resnet18-soft").recipe
HARD = find("cifar100-resnet18-hard").recipe
MEAN = (120.0, 110.0, 100.0)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two image files that are not square."""
    root, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for name in ("cat.png", "cost $5 or $6.png"):
        pixels = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / name)
    return sorted(root.iterdir())


def versions(photos, recipe, draws=3, size=24, seed=0, num_classes=10):
    originals = torch.stack([read_image(str(path), size) for path in photos])
    return draw_versions(originals, recipe, size, draws=draws, seed=seed, num_classes=num_classes)


def with_augment(recipe, **changes):
    return replace(recipe, augment=replace(recipe.augment, **changes))


def numbers(content, word):
    """What an SVG says under its images: their text stands in it as comments."""
    return re.findall(rf"<!-- {word} ([\d.]+)", content)


@pytest.mark.parametrize("policy", ["none", "trivialaugment"])
def test_images_and_labels_are_those_of_training(photos, policy):
    transforms = build_transforms(with_augment(SOFT, policy=policy).augment, MEAN, 32)
    originals = torch.stack([read_image(str(path), 24) for path in photos])
    key = DrawKey(seed=3, epoch=1, index=torch.arange(2))
    images, label = apply_transforms(transforms, originals, torch.zeros(2, dtype=torch.long), key)
    found, _, kept = augmented(transforms, originals, key)
    assert found.equal(images)
    assert kept.equal(label.retained)


def test_visible_retained_and_confidence_belong_together(photos):
    for version in (version for row in versions(photos, SOFT, draws=6) for version in row):
        assert 0 < version.visible < 1
        assert version.retained == pytest.approx(retained(version.visible, 2.0), abs=1e-6)
        assert version.confidence == pytest.approx(confidence(version.retained, 10), abs=1e-6)


def test_visible_shares_of_several_transforms_multiply():
    parts = SoftCrop(sigma=0.3, k=2), SoftErase(k=1)
    images, key = torch.zeros(4, 3, 16, 16), DrawKey(0, 0, torch.arange(4))
    _, visible, kept = augmented(parts, images, key)
    crop, erase = (part.draw(images, key=key).visible for part in parts)
    assert torch.allclose(visible, crop * erase)
    assert torch.allclose(kept.double(), retained(crop, 2) * retained(erase, 1))


def test_visible_is_the_share_of_the_image_that_is_left():
    image = torch.full((1, 3, 20, 20), 255, dtype=torch.uint8)
    black = with_augment(SOFT, crop=NormalOffsets(sigma=0.3, fill="black"))
    (row,) = draw_versions(image, black, 20, draws=5, seed=0, num_classes=10)
    for version in row:
        assert float((version.image[0] == 255).double().mean()) == pytest.approx(version.visible)


def test_hard_labels_stay_sure(photos):
    shifted = with_augment(HARD, crop=UniformOffsets(10))
    for version in (version for row in versions(photos, shifted) for version in row):
        assert version.visible < 1
        assert version.confidence == 1


def test_more_classes_make_the_same_draw_less_sure(photos):
    few, many = (versions(photos, SOFT, num_classes=num) for num in (2, 1000))
    for one, other in zip(few[0], many[0], strict=True):
        assert one.image.equal(other.image)
        assert one.confidence > other.confidence


def test_draws_depend_on_the_seed_and_their_place_alone(photos):
    three, five = versions(photos, SOFT, draws=3), versions(photos, SOFT, draws=5)
    other = versions(photos, SOFT, seed=1)
    for place in (0, 1):
        assert [v.visible for v in three[place]] == [v.visible for v in five[place][:3]]
        assert [v.visible for v in three[place]] != [v.visible for v in other[place]]
    assert [v.visible for v in three[0]] != [v.visible for v in three[1]]
    assert len({v.visible for v in five[0]}) == 5


def test_what_a_schedule_does_at_the_end_is_not_shown(photos):
    decayed = with_augment(SOFT, schedules=(("crop.sigma", 0.001, 0.04),))
    plain = with_augment(SOFT, schedules=())
    one, other = (versions(photos, recipe)[0][0] for recipe in (decayed, plain))
    assert one.visible == other.visible < 1


def test_a_png_of_the_whole_grid(photos, tmp_path):
    out = show_transforms(photos, SOFT, tmp_path / "new" / "a.png", draws=3, size=24)
    with Image.open(out) as picture:
        assert picture.format == "PNG"
        small = picture.size
    more = show_transforms(photos, SOFT, tmp_path / "b.PNG", draws=11, size=24)
    with Image.open(more) as picture:
        assert picture.size[0] > small[0], "eight versions in a line"
        assert picture.size[1] > 1.5 * small[1], "the others in the next"


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_command_draws_the_same_picture(photos, tmp_path, ending):
    one, two, other = (
        show_transforms(photos, SOFT, tmp_path / f"{name}.{ending}", draws=2, size=16, seed=seed)
        for name, seed in (("one", 0), ("two", 0), ("other", 1))
    )
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()


def test_an_svg_has_the_numbers_under_the_images(photos, tmp_path):
    out = show_transforms(photos, SOFT, tmp_path / "a.svg", draws=2, size=24, num_classes=10)
    content = out.read_text()
    drawn = [version for row in versions(photos, SOFT, draws=2) for version in row]
    assert numbers(content, "confidence") == [f"{v.confidence:.2f}" for v in drawn]
    assert numbers(content, "visible") == [f"{100 * v.visible:.0f}" for v in drawn]
    assert numbers(content, "retained") == [f"{v.retained:.2f}" for v in drawn]
    assert content.count("<image ") == 6
    for text in ("cat.png", "cost $5 or $6.png", "cifar100-resnet18-soft", "10 classes, seed 0"):
        assert text in content


def test_the_command_says_where_the_picture_is(photos, tmp_path, capsys):
    out = tmp_path / "a.png"
    show("transforms", tuple(photos[:1]), recipe="digits-resnet8-soft", draws=1, size=16, out=out)
    assert capsys.readouterr().out.strip() == str(out)
    assert Image.open(io.BytesIO(out.read_bytes())).format == "PNG"


CLASSES = {
    "cifar10": (DataSpec("cifar10"), 10),
    "cifar100": (DataSpec("cifar100"), 100),
    "coarse": (DataSpec("cifar100", "coarse"), 20),
    "fashion-mnist": (DataSpec("fashion-mnist"), 10),
    "digits": (DataSpec("digits"), 10),
}


@pytest.mark.parametrize(("data", "num"), CLASSES.values(), ids=CLASSES)
def test_classes_are_those_of_the_data(data, num):
    assert count_classes(data) == num


@pytest.mark.parametrize("part", ["", "train"])
def test_classes_of_a_folder_are_counted(tmp_path, part):
    for name in ("cat", "dog", "owl", ".hidden"):
        (tmp_path / part / name).mkdir(parents=True)
    assert count_classes(DataSpec(f"folder:{tmp_path}")) == 3


def test_classes_of_a_folder_that_is_not_there_must_be_given(tmp_path):
    rule = "show: .*nowhere must be a folder, got no such folder; or give --classes"
    with pytest.raises(ValueError, match=rule):
        count_classes(DataSpec(f"folder:{tmp_path / 'nowhere'}"))


@pytest.mark.parametrize(("given", "told"), [(None, "10 classes"), (7, "7 classes")])
def test_the_command_takes_the_classes_of_the_recipe_or_those_given(photos, tmp_path, given, told):
    out = tmp_path / "a.svg"
    recipe = "digits-resnet8-soft"
    show("transforms", tuple(photos), recipe=recipe, draws=1, size=16, classes=given, out=out)
    assert told in out.read_text()


WRONG = {
    "no image": ({"images": []}, "at least one image must be given, got none; name image files"),
    "no draw": ({"draws": 0}, "draws must be a whole number >= 1"),
    "small": ({"size": 4}, "size must be a whole number >= 8"),
    "one class": ({"num_classes": 1}, "classes must be a whole number >= 2"),
    "seed": ({"seed": -1}, "seed must be a whole number >= 0"),
    "ending": ({"out": "a.pngg"}, r"must be one of 'png', 'svg', got 'pngg'; did you mean 'png'"),
    "no ending": ({"out": "png"}, r"must be one of 'png', 'svg', got ''"),
    "missing": ({"images": ["none.png"]}, r"none\.png must be an image file, got no such file"),
    "folder": ({"images": ["."]}, "must be an image file, got a folder"),
    "no image file": ({"images": ["text.png"]}, r"text\.png must be an image that can be read"),
    "many": ({"draws": 8 * MOST_LINES}, "at most 150 lines of versions, got 2 images of 150"),
    "file as folder": ({"out": "text.png/a.png"}, r"a\.png must be a file that can be written"),
    "folder as file": ({"out": "there.png"}, r"there\.png must be a file that can be written"),
}


@pytest.mark.parametrize(("changes", "rule"), WRONG.values(), ids=WRONG)
def test_bad_input_is_refused(photos, tmp_path, changes, rule):
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "there.png").mkdir()
    given = {"images": photos, "out": "a.png", "draws": 1, "size": 16, **changes}
    images = [tmp_path / path for path in given.pop("images")]
    out = tmp_path / given.pop("out")
    with pytest.raises(ValueError, match=f"^show: .*{rule}"):
        show_transforms(images, SOFT, out, **given)
    assert not (tmp_path / "a.png").exists()


WINDOWED = replace(
    SOFT,
    data=DataSpec("imagenet"),
    augment=Augment(NormalWindows(sigma=0.5, fill="black"), order=WINDOWS_FIRST),
)


def test_windows_are_drawn_on_whole_images_as_in_training(photos, tmp_path):
    out = show_transforms(photos, WINDOWED, tmp_path / "a.svg", draws=4, size=24, num_classes=10)
    crop = build_transforms(WINDOWED.augment, MEAN, 24)[0]
    size = torch.tensor([30]), torch.tensor([40])
    keys = [DrawKey(0, epoch, torch.tensor([row])) for row in (0, 1) for epoch in range(4)]
    shares = [crop.draw_for(*size, key).visible.item() for key in keys]
    assert numbers(out.read_text(), "visible") == [f"{100 * share:.0f}" for share in shares]


def test_versions_of_images_of_different_sizes_are_squares_of_the_size():
    images = [torch.full((3, *shape), 255, dtype=torch.uint8) for shape in ((30, 90), (64, 20))]
    rows = draw_versions(images, WINDOWED, 24, draws=3, seed=0, num_classes=10)
    (alone,) = draw_versions(images[:1], WINDOWED, 24, draws=3, seed=0, num_classes=10)
    assert {v.image.shape for row in rows for v in row} == {(3, 24, 24)}
    assert [v.visible for v in rows[0]] == [v.visible for v in alone]
    assert all(v.image.equal(w.image) for v, w in zip(rows[0], alone, strict=True))


def test_an_original_keeps_its_shape_in_the_picture():
    assert centred(20, 20) == (0, 1, 0, 1)
    assert centred(30, 40) == (0, 1, 0.125, 0.875)
    assert centred(40, 10) == (0.375, 0.625, 0, 1)


@pytest.mark.parametrize("recipe", [SOFT, WINDOWED], ids=["offsets", "windows"])
def test_a_broken_file_is_refused_by_name_whatever_the_crop(tmp_path, recipe):
    whole = tmp_path / "whole.jpg"
    Image.new("RGB", (40, 30)).save(whole)
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"^show: .*broken\.jpg must be an image that can be read"):
        show_transforms([broken], recipe, tmp_path / "a.png", draws=1, size=16)


def test_a_crop_that_leaves_nothing_is_refused_with_the_edge(photos, tmp_path):
    far = with_augment(HARD, crop=UniformOffsets(16))
    with pytest.raises(ValueError, match="max_shift must be below the image's edge 16, got 16"):
        show_transforms(photos, far, tmp_path / "a.png", draws=1, size=16)
