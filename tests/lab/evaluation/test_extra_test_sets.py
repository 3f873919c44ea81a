import numpy as np
import pytest
import torch
from PIL import Image

from softaug.lab.data.folder import FolderImages, open_folder
from softaug.lab.data.images import Images
from softaug.lab.evaluation.extra_test_sets import read_test_set, resize_test_set

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


LETTERS = tuple("abcdefghijkl")  # twelve classes: sorted as text, 10 comes before 2


@pytest.mark.parametrize("form", ["{}", "{:03d}"])
def test_folders_called_by_numbers_are_the_run_s_class_numbers(tmp_path, form):
    save_files(tmp_path / "v2", [form.format(number) for number in range(12)])
    _, source = read_test_set(f"v2={tmp_path / 'v2'}", LETTERS, 8)
    images = source.fetch(torch.arange(12))
    assert images[:, 0, 0, 0].tolist() == source.labels.tolist()
    assert sorted(source.labels.tolist()) == list(range(12))
    if form == "{}":  # else the order of the names is that of the numbers
        assert source.labels.tolist() != list(range(12))


def test_some_of_the_numbers_will_do(tmp_path):
    save_files(tmp_path / "v2", ["2", "10"])
    _, source = read_test_set(f"v2={tmp_path / 'v2'}", LETTERS, 8)
    assert source.labels.tolist() == [10, 2]


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (["0", "12"], r"must be numbers in 0\.\.11 \(or the run's names\), got 12"),
        (["7", "007"], "must be different numbers, got 7 twice"),
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
    with pytest.raises(ValueError, match="must be the run's, got '0'"):
        read_test_set(f"v2={save_files(tmp_path / 'v3', ['0', '1'])}", ("3", "5", "7"), 8)


def test_a_folder_is_resized_as_the_run_s_images_are(tmp_path):
    _, source = read_test_set(f"v2={save_files(tmp_path / 'v2', NAMES)}", NAMES, 8, 10)
    assert (source.size, source.resize) == (8, 10)


def some_files(root, size=8, resize=None):
    test = open_folder(save_files(root, NAMES), size, resize).train
    return test.take(torch.tensor([2, 0]))


def test_test_images_are_measured_again_at_other_short_edges(tmp_path):
    test = some_files(tmp_path / "test", resize=9)
    found = resize_test_set(test, [8, 12], taken=())
    assert list(found) == ["resize-8", "resize-12"]
    for source, edge in zip(found.values(), (8, 12), strict=True):
        assert (source.resize, source.size) == (edge, 8)
        assert source.labels.tolist() == [2, 0]
        assert source.path(0) == test.path(0)


def test_of_a_larger_short_edge_less_is_kept(tmp_path):
    """A ramp of 0..255 over 256 pixels: at short edge 16, the central half of it is in 8."""
    (tmp_path / "ramp").mkdir()
    ramp = np.broadcast_to(np.arange(256, dtype=np.uint8)[None, :, None], (256, 256, 3))
    Image.fromarray(ramp.copy()).save(tmp_path / "ramp" / "a.png")
    test = open_folder(tmp_path, 8).train
    whole = test.fetch(torch.tensor([0]))[0, 0, 0].double()
    half = resize_test_set(test, [16], ())["resize-16"].fetch(torch.tensor([0]))[0, 0, 0].double()
    assert whole[1:-1].tolist() == pytest.approx([47.5 + 32 * n for n in range(6)], abs=1)
    assert half.tolist() == pytest.approx([71.5 + 16 * n for n in range(8)], abs=1)


@pytest.mark.parametrize(
    ("edges", "taken", "rule"),
    [
        ([7], (), "resize must be a whole number >= 8, got int 7"),
        ([9, 9], (), "must have different names, got resize-9 twice"),
        ([9], ("resize-9",), "must have different names, got resize-9 twice"),
    ],
)
def test_a_wrong_short_edge_is_refused(tmp_path, edges, taken, rule):
    with pytest.raises(ValueError, match=f"evaluate: .*{rule}"):
        resize_test_set(some_files(tmp_path / "test"), edges, taken)


def test_images_in_memory_are_not_resized():
    source = Images(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.arange(2))
    with pytest.raises(ValueError, match="resize is for images in folders, got 16 for images"):
        resize_test_set(source, [16], ())


@pytest.mark.parametrize("text", ["", "v2", "v2=", "=there", "there.npz"])
def test_a_text_of_another_form_is_refused_with_the_forms(text):
    rule = r"evaluate: extra_test_sets must be NAME=FOLDER, NAME=FILE\.npz"
    with pytest.raises(ValueError, match=rule):
        read_test_set(text, NAMES, 8)


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
        with pytest.raises(ValueError, match=f"extra_test_sets must be .*{path} .*{got}"):
            read(tmp_path / path)


def test_objects_are_not_unpickled(tmp_path):
    path = save_npz(tmp_path / "v2.npz", labels=np.array([{}, 1, 2, 0]))
    with pytest.raises(ValueError, match=r"extra_test_sets must be .*allow_pickle"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more"])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / "v2.npz").write_bytes(content)
    with pytest.raises(ValueError, match="extra_test_sets must be"):
        read(tmp_path / "v2.npz")


def test_two_npz_are_refused(tmp_path):
    path = save_npz(tmp_path / "v2.npz")
    with pytest.raises(ValueError, match="extra_test_sets must be"):
        read(f"{path},{path}")


def test_arrays_of_another_size_are_refused(tmp_path):
    path = save_npz(tmp_path / "v2.npz", images=IMAGES.repeat(2, 1))
    with pytest.raises(ValueError, match="8 x 8"):
        read(path)
