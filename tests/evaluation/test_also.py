import numpy as np
import pytest
import torch
from PIL import Image

from softaug.data.folder import FolderImages
from softaug.evaluation.also import read_also

NAMES = ("cat", "dog", "frog")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)  # [N, H, W, 3]
LABELS = np.array([2, 0, 1, 2])


def read(path, name="v2"):
    return read_also(f"{name}={path}", NAMES, 8)


def save_npz(path, images=IMAGES, labels=LABELS, **more):
    np.savez(path, images=images, labels=labels, **more)
    return path


def save_files(root, names):
    """An image of each class; its red is the class's place."""
    for place, name in enumerate(names):
        (root / name).mkdir(parents=True)
        Image.new("RGB", (16, 12), (place, 0, 0)).save(root / name / "one.png")
    return root


def check_arrays(source):
    assert source.images.equal(torch.from_numpy(IMAGES).permute(0, 3, 1, 2))
    assert source.images.is_contiguous()
    assert source.labels.tolist() == LABELS.tolist()
    assert source.labels.dtype == torch.int64


def test_an_npz(tmp_path):
    name, source = read(save_npz(tmp_path / "v2.npz"))
    assert name == "v2"
    check_arrays(source)


@pytest.mark.parametrize("kind", ["uint8", "int32"])
def test_two_npy_channels_first(tmp_path, kind):
    np.save(tmp_path / "x.npy", IMAGES.transpose(0, 3, 1, 2))
    np.save(tmp_path / "y.npy", LABELS.astype(kind))
    check_arrays(read(f"{tmp_path / 'x.npy'},{tmp_path / 'y.npy'}")[1])


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


@pytest.mark.parametrize("text", ["", "v2", "v2=", "=there", "there.npz"])
def test_a_text_of_another_form_is_refused_with_the_forms(text):
    with pytest.raises(ValueError, match=r"evaluate: also must be NAME=FOLDER, NAME=FILE\.npz"):
        read_also(text, NAMES, 8)


@pytest.mark.parametrize("name", ["test", "validation"])
def test_the_name_of_the_test_set_is_taken(tmp_path, name):
    with pytest.raises(ValueError, match=f"must not be '{name}', got '{name}="):
        read(save_npz(tmp_path / "v2.npz"), name=name)


WRONG = {
    "float images": ({"images": IMAGES / 255}, r"must be uint8 \[N, H, W, 3\], got float64"),
    "grey images": ({"images": IMAGES[..., 0]}, r"got uint8 \[4, 8, 8\]"),
    "four channels": ({"images": IMAGES.repeat(2, 3)}, r"got uint8 \[4, 8, 8, 6\]"),
    "no images": ({"images": IMAGES[:0], "labels": LABELS[:0]}, r"got uint8 \[0, 3, 8, 8\]"),
    "too few labels": ({"labels": LABELS[:3]}, r"must be 4 whole numbers, got int64 \[3\]"),
    "probabilities": ({"labels": np.eye(4)}, r"must be 4 whole numbers, got float64 \[4, 4\]"),
    "float labels": ({"labels": LABELS / 1}, r"must be 4 whole numbers, got float64 \[4\]"),
    "too high": ({"labels": LABELS + 1}, r"must be in 0\.\.2, got 1\.\.3"),
    "negative": ({"labels": LABELS - 1}, r"must be in 0\.\.2, got -1\.\.1"),
}


@pytest.mark.parametrize(("arrays", "rule"), WRONG.values(), ids=WRONG)
def test_wrong_arrays_are_refused_by_file(tmp_path, arrays, rule):
    path = save_npz(tmp_path / "v2.npz", **arrays)
    with pytest.raises(ValueError, match=f"evaluate: .*v2.npz.*{rule}"):
        read(path)


def test_a_missing_file_or_array_is_refused(tmp_path):
    np.savez(tmp_path / "v2.npz", images=IMAGES)
    for path, got in (("v2.npz", "labels"), ("v3.npz", "No such file")):
        with pytest.raises(ValueError, match=f"also must be .*{path} .*{got}"):
            read(tmp_path / path)


def test_objects_are_not_unpickled(tmp_path):
    path = save_npz(tmp_path / "v2.npz", labels=np.array([{}, 1, 2, 0]))
    with pytest.raises(ValueError, match=r"also must be .*allow_pickle"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "v2.npz").write_bytes(content)
    with pytest.raises(ValueError, match="also must be"):
        read(tmp_path / "v2.npz")


def test_two_npz_are_refused(tmp_path):
    path = save_npz(tmp_path / "v2.npz")
    with pytest.raises(ValueError, match="also must be"):
        read(f"{path},{path}")


def test_arrays_of_another_size_are_refused(tmp_path):
    path = save_npz(tmp_path / "v2.npz", images=IMAGES.repeat(2, 1))
    with pytest.raises(ValueError, match="8 x 8"):
        read(path)
