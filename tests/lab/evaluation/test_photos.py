"""A window recipe on photographs of many sizes, from training to report and comparison."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import safetensors.torch
from PIL import Image

from softaug.lab.evaluation.compare import compare_runs
from softaug.lab.evaluation.load_run import load_run
from softaug.lab.recipes import find

CLASSES = ("ant", "bee", "cat")
RNG = np.random.default_rng(0)


def save_photos(root, names, num):
    """`num` noisy JPEGs of each class, each of its own size; a class has a colour."""
    for place, name in enumerate(names):
        (root / name).mkdir(parents=True)
        for number in range(num):
            pixels = RNG.integers(0, 128, (30 + number, 44 - number, 3), dtype=np.uint8)
            pixels[..., place % 3] += 127
            Image.fromarray(pixels).save(root / name / f"{number}.JPEG")


@pytest.fixture(scope="module")
def photos(tmp_path_factory, runs, evaluated):
    """A soft and a hard run on the same photographs, both evaluated."""
    import tiny_runs

    root = tmp_path_factory.mktemp("photos")
    for part, num in (("train", 6), ("val", 4)):
        save_photos(root / "set" / part, CLASSES, num)
    save_photos(root / "v2", ["0", "1", "2"], 2)
    found = {}
    for arm in ("baseline", "soft"):
        recipe = find(f"imagenette-resnet8-s2-{arm}").recipe
        data = replace(recipe.data, name=f"folder:{root / 'set'}", size=16)
        recipe = replace(recipe, data=data, epochs=1, batch=6, name=arm)
        tiny_runs.run(recipe, root / arm, threads=1, device="cpu", workers=0)
        also = (f"v2={root / 'v2'}",)
        found[arm] = evaluated([root / arm], root / arm, extra_test_sets=also, resize=(16, 20))
    return SimpleNamespace(root=root, **found)


def test_other_short_edges_and_numbered_classes_are_extra_sets(photos):
    sizes = {name: one.n for name, one in photos.soft.test_sets.items()}
    assert sizes == {"test": 12, "v2": 6, "resize-16": 12, "resize-20": 12}
    kept = safetensors.torch.load_file(photos.root / "soft" / "predictions.safetensors")
    assert kept["resize-16_logits"].equal(kept["test_logits"])
    assert not kept["resize-20_logits"].equal(kept["test_logits"])
    assert kept["resize-20_labels"].equal(kept["test_labels"])
    command = f"softaug evaluate {photos.root}/soft --draws 1 --corruptions"
    assert photos.soft.command == f"{command} --extra-test-sets v2={photos.root}/v2 --resize 16 20"
    folders = [photos.root / "baseline", photos.root / "soft"]
    found = compare_runs(folders, photos.root / "compared")
    assert {"error", "v2/error", "resize-20/error"} <= found.pairs[0].by_image.keys()


def test_images_are_told_apart_by_size_and_short_edge(photos):
    run = load_run(photos.root / "soft", None, "cpu")
    assert run.image_set.endswith("/set (fine, size 16)")
    at20 = replace(run.recipe, data=replace(run.recipe.data, resize=20, validation=3))
    told = run._replace(recipe=at20).image_set
    assert told.endswith("(fine, size 16 of short edge 20, 3 held out by seed 0)")


def test_second_folders_are_resized_as_the_run_measures(photos, tmp_path, evaluated):
    import tiny_runs

    recipe = load_run(photos.root / "soft", None, "cpu").recipe
    recipe = replace(recipe, data=replace(recipe.data, resize=20), name="at-20")
    tiny_runs.run(recipe, tmp_path / "run", threads=1, device="cpu", workers=0)
    also = (f"again={photos.root / 'set'}",)
    evaluated([tmp_path / "run"], tmp_path / "run", extra_test_sets=also, resize=(16,))
    kept = safetensors.torch.load_file(tmp_path / "run" / "predictions.safetensors")
    assert kept["again_logits"].equal(kept["test_logits"])
    assert not kept["resize-16_logits"].equal(kept["test_logits"])
