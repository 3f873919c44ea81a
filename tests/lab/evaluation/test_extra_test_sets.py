import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data.folder import FolderImages, open_folder
from softaug.lab.data.images import load
from softaug.lab.evaluation.extra_test_sets import (
    read_human_labels,
    read_ood_sets,
    read_test_set,
    resize_test_set,
)

NAMES = ("cat", "dog", "frog")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)  # [N, H, W, 3]
LABELS = np.array([2, 0, 1, 2])


def read(path, name="v2"):
    return read_test_set(f"{name}={path}", NAMES, 8)


def save_npz(path, images=IMAGES, labels=LABELS, **more):
    np.savez(path, images=images, labels=labels, **more)
    return path


def save_files(root, names):
    """An image of each class; its red is the class's place."""
    for place, name in enumerate(names):
        (root / name).mkdir(parents=True)
        Image.new("RGB", (16, 12), (place, 0, 0)).save(root / name / "one.png")
    return root


@pytest.mark.parametrize("kind", ["npz", "uint8", "int32"])
def test_arrays_are_an_npz_or_two_npy_also_channels_first(tmp_path, kind):
    if kind == "npz":
        path = save_npz(tmp_path / "v2.npz")
    else:
        np.save(tmp_path / "x.npy", IMAGES.transpose(0, 3, 1, 2))
        np.save(tmp_path / "y.npy", LABELS.astype(kind))
        path = f"{tmp_path / 'x.npy'},{tmp_path / 'y.npy'}"
    name, source = read(path)
    assert name == "v2"
    assert source.images.equal(torch.from_numpy(IMAGES).permute(0, 3, 1, 2))
    assert source.images.is_contiguous()
    assert source.labels.tolist() == LABELS.tolist()
    assert source.labels.dtype == torch.int64


def test_a_folder_has_the_numbers_of_the_run(tmp_path):
    _, source = read(save_files(tmp_path / "v2", ["cat", "frog"]))
    assert isinstance(source, FolderImages)
    assert source.labels.tolist() == [0, 2]
    images = source.fetch(torch.tensor([1, 0]))
    assert images.shape == (2, 3, 8, 8)
    assert images[:, 0, 0, 0].tolist() == [1, 0]


def test_of_a_folder_with_two_parts_the_test_part_is_taken(tmp_path):
    for part in ("train", "val"):
        save_files(tmp_path / "v2" / part, NAMES)
    _, source = read(tmp_path / "v2")
    assert source.root == str(tmp_path / "v2" / "val")


def test_a_class_that_the_run_does_not_know_is_refused_with_the_nearest(tmp_path):
    save_files(tmp_path / "v2", ["cat", "dogs"])
    with pytest.raises(ValueError, match=r"must be the run's, got 'dogs'; did you mean 'dog'\?"):
        read(tmp_path / "v2")


LETTERS = tuple("abcdefghijkl")  # twelve classes: sorted as text, 10 comes before 2


@pytest.mark.parametrize("names", [[str(n) for n in range(12)], ["000", "007"], ["2", "10"]])
def test_folders_called_by_numbers_are_the_run_s_class_numbers(tmp_path, names):
    save_files(tmp_path / "v2", names)
    _, source = read_test_set(f"v2={tmp_path / 'v2'}", LETTERS, 8)
    images = source.fetch(torch.arange(len(names)))
    found = [int(names[place]) for place in images[:, 0, 0, 0].tolist()]
    assert source.labels.tolist() == found


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["0", "12"], r"must be different numbers in 0\.\.11 or the run's names, got 0, 12"),
        (["7", "007"], "must be different numbers in .*, got 007, 7"),
        (["0", "1", "a1"], "must be the run's, got '0'"),
        (["-1", "0"], "must be the run's, got '-1'"),
        (["\u00b2"], "must be the run's, got"),
    ],
)
def test_other_numbers_are_refused(tmp_path, names, rule):
    save_files(tmp_path / "v2", names)
    with pytest.raises(ValueError, match=rule):
        read_test_set(f"v2={tmp_path / 'v2'}", LETTERS, 8)


def test_where_the_run_s_classes_are_called_by_numbers_names_win(tmp_path):
    save_files(tmp_path / "v2", ["5", "3"])
    _, source = read_test_set(f"v2={tmp_path / 'v2'}", ("3", "5", "7"), 8)
    assert source.labels.tolist() == [0, 1]  # 3 and 5 as names, not as places


def test_test_images_are_measured_again_at_other_short_edges(tmp_path):
    """A ramp of 0..255 over 256 pixels: at short edge 16, the central half of it is in 8."""
    (tmp_path / "ramp").mkdir()
    ramp = np.broadcast_to(np.arange(256, dtype=np.uint8)[None, :, None], (256, 256, 3))
    Image.fromarray(ramp.copy()).save(tmp_path / "ramp" / "a.png")
    test, found = open_folder(tmp_path, 8).train, {}
    resize_test_set(test, [8, 16], found)
    assert list(found) == ["resize-8", "resize-16"]
    whole, half = (one.fetch(torch.tensor([0]))[0, 0, 0].tolist() for one in found.values())
    assert whole[1:-1] == pytest.approx([47.5 + 32 * n for n in range(6)], abs=1)
    assert half == pytest.approx([71.5 + 16 * n for n in range(8)], abs=1)
    for edges, rule in (([7], "resize must be a whole number >= 8"), ([9, 8], "resize-8 twice")):
        with pytest.raises(ValueError, match=f"evaluate: .*{rule}"):
            resize_test_set(test, edges, dict(found))


@pytest.mark.parametrize("text", ["", "v2", "v2=", "=there", "there.npz", "test=a.npz"])
def test_a_text_of_another_form_is_refused_with_the_forms(text):
    rule = r"extra_test_sets must be NAME=FOLDER, NAME=FILE\.npz|must not be 'test', got 'test=a"
    with pytest.raises(ValueError, match=f"evaluate: .*({rule})"):
        read_test_set(text, NAMES, 8)


WRONG = {
    "float images": ({"images": IMAGES / 255}, r"must be uint8 \[N, H, W, 3\], got float64"),
    "grey images": ({"images": IMAGES[..., 0]}, r"got uint8 \[4, 8, 8\]"),
    "four channels": ({"images": IMAGES.repeat(2, 3)}, r"got uint8 \[4, 8, 8, 6\]"),
    "no images": ({"images": IMAGES[:0], "labels": LABELS[:0]}, r"got uint8 \[0, 3, 8, 8\]"),
    "too few labels": ({"labels": LABELS[:3]}, r"must be 4 whole numbers, got int64 \[3\]"),
    "probabilities": ({"labels": np.eye(4)}, r"must be 4 whole numbers, got float64 \[4, 4\]"),
    "float labels": ({"labels": LABELS / 1}, r"must be 4 whole numbers, got float64 \[4\]"),
    "too high": ({"labels": LABELS + 1}, r"must be in 0\.\.2, got 1\.\.3"),
    "other size": ({"images": IMAGES.repeat(2, 1)}, "must be 8 x 8 pixels as the run's, got 16"),
    "negative": ({"labels": LABELS - 1}, r"must be in 0\.\.2, got -1\.\.1"),
}


@pytest.mark.parametrize(("arrays", "rule"), WRONG.values(), ids=WRONG)
def test_wrong_arrays_are_refused_by_file(tmp_path, arrays, rule):
    path = save_npz(tmp_path / "v2.npz", **arrays)
    with pytest.raises(ValueError, match=f"evaluate: .*v2.npz.*{rule}"):
        read(path)


UNREADABLE = {
    "no labels": (lambda path: np.savez(path, images=IMAGES), "labels"),
    "no file": (lambda path: None, "No such file"),
    "objects": (lambda path: save_npz(path, labels=np.array([{}, 1, 2, 0])), "allow_pickle"),
    "empty": (lambda path: path.write_bytes(b""), ""),
    "cut": (lambda path: path.write_bytes(b"PK\x03\x04 and no more"), ""),
}


@pytest.mark.parametrize(("make", "got"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, make, got):
    make(tmp_path / "v2.npz")
    with pytest.raises(ValueError, match=f"extra_test_sets must be .*v2.npz .*{got}"):
        read(tmp_path / "v2.npz")


def test_sets_of_other_classes_have_the_size_of_the_run_s_images(tmp_path):
    save_files(tmp_path / "mine", NAMES)
    names = ["digits", f"folder:{tmp_path / 'mine'}"]
    sets = read_ood_sets(names, "fashion-mini", 32, None)
    assert list(sets) == ["digits", "mine"]
    for source in sets.values():
        assert source.fetch(torch.tensor([0, 1])).shape == (2, 3, 32, 32)
    original = load("digits").test.images
    small = read_ood_sets(["digits"], "cifar10", original.shape[-1], None)["digits"]
    assert small.images.equal(original)


@pytest.mark.parametrize("names", [["fashion-mnist"], ["fashion-mini"], ["digits", "digits"]])
def test_sets_of_the_run_s_own_classes_and_repeated_ones_are_refused(names):
    rule = "ood must be data sets of other classes than fashion-mini|must have different names"
    with pytest.raises(ValueError, match=f"evaluate: .*({rule})"):
        read_ood_sets(names, "fashion-mini", 28, None)


def test_human_labels_are_probabilities_of_each_class(tmp_path):
    path, probs = tmp_path / "human.npy", np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    np.save(path, probs.astype(np.float32))
    assert read_human_labels(path, (2, 3)).tolist() == probs.tolist()
    for wrong in (probs[:1], probs.astype(int), probs - 0.1, 2 * probs):
        np.save(path, wrong)
        with pytest.raises(ValueError, match=r"human_labels must be probabilities \[2, 3\]"):
            read_human_labels(path, (2, 3))
    path.write_bytes(b"no numbers")
    with pytest.raises(ValueError, match=r"human_labels must be an \.npy file"):
        read_human_labels(path, (2, 3))
