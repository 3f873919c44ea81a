"""IDX files, gzipped and plain, and Fashion-MNIST in them."""

import gzip
import shutil

import numpy as np
import pytest
import torch

from softaug.lab.data.check import data
from softaug.lab.data.datasets import name_classes
from softaug.lab.data.fashion_mnist import FASHION_MNIST, read_idx
from softaug.lab.data.images import channel_stats, load

PLAIN = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, *range(6)])  # 2 x 3 values
SHAPE = (2, 3)


def opened(path, content):
    path.write_bytes(content)
    return read_idx(path, SHAPE)


def test_what_is_wrong_with_an_idx_file_is_named(tmp_path):
    swapped = PLAIN[:4] + PLAIN[8:12] + PLAIN[4:8] + PLAIN[12:]
    for content, error in (
        (PLAIN, ""),
        (b"", "0 bytes, should be 18"),
        (PLAIN[:11], "11 bytes, should be 18"),
        (PLAIN[:-1], "17 bytes, should be 18"),
        (PLAIN + b"?", "more than 18 bytes"),
        (PLAIN[:2] + b"\x0d" + PLAIN[3:], "magic number 3330, should be 2050"),
        (PLAIN[:3] + b"\x01" + PLAIN[4:], "magic number 2049, should be 2050"),
        (b"<html>not found</html>", f"magic number {0x3C68746D}, should be 2050"),
        (swapped, "dimensions [3, 2], should be [2, 3]"),
        (PLAIN[:4] + b"\xff" * 4 + PLAIN[8:], "dimensions [4294967295, 3], should be [2, 3]"),
    ):
        for pack in (bytes, gzip.compress):  # told apart by content, not by name
            assert opened(tmp_path / "a", pack(content))[1] == error


def test_a_gzip_file_that_is_cut_or_damaged_is_named(tmp_path):
    packed = gzip.compress(PLAIN)
    for content in (
        packed[:5],  # cut in the header, the values, the checksum
        packed[:-12],
        packed[:-1],
        packed[:2] + b"\x07" + packed[3:],  # another method
        packed[:10] + b"\xff" * 20,  # no deflate block
        packed[:-8] + bytes(4) + packed[-4:],  # another checksum
    ):
        unpacked, error = opened(tmp_path / "a", content)
        assert error.startswith("a broken gzip file (")
        assert unpacked == b""


def test_no_more_is_unpacked_than_is_wanted(tmp_path):
    content, error = opened(tmp_path / "bomb", gzip.compress(PLAIN + bytes(50_000_000)))
    assert len(content) == len(PLAIN) + 1
    assert error == "more than 18 bytes"


def put(files, folder, pack=False):
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / (f"{name}.gz" if pack else name)
        path.write_bytes(gzip.compress(content) if pack else content)


@pytest.fixture
def root(fashion, tmp_path):
    """A data folder with the small set, plain."""
    put(fashion.files, tmp_path / "root" / "fashion-mnist")
    return tmp_path / "root"


def test_images_are_gray_in_three_channels_and_in_their_order(fashion, root, tmp_path, recwarn):
    put(fashion.files, tmp_path / "packed" / "fashion-mnist", pack=True)
    pixels = np.frombuffer(fashion.files["train-images-idx3-ubyte"][16:], np.uint8)
    gray = torch.tensor(pixels).view(4, 1, 28, 28)
    for place in (root, tmp_path / "packed"):
        found = load("fashion-mnist", place)
        assert found.train.images.dtype == torch.uint8
        assert torch.equal(found.train.images, gray.expand(4, 3, 28, 28))
        assert found.train.labels.tolist() == [6, 7, 8, 9]
        assert found.test.labels.tolist() == [8, 9]
        found.train.images[0] = found.train.labels[0] = 0  # may be written to
    assert len(recwarn) == 0
    assert name_classes(found.class_names) == list(found.class_names)


def test_bad_files_are_refused_by_name_with_how_to_get_them(fashion, root):
    path = root / "fashion-mnist" / "train-labels-idx1-ubyte"
    for content, got in (
        (fashion.files["t10k-labels-idx1-ubyte"], r"dimensions \[2\], should be \[4\]"),
        (fashion.files[path.name][:-1] + bytes([10]), r"label 10 is outside 0\.\.9"),
        (None, "no such file"),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        command = f"`softaug data fashion-mnist --data-dir {root}` gets it"
        package = "as does `apt-get install dataset-fashion-mnist` on Debian"
        rule = rf"{path}(\.gz)? must hold 4 labels, got {got}; {command}, {package}; .*SOFTAUG_DATA"
        with pytest.raises(ValueError, match=rule):
            load("fashion-mnist", root)


def test_a_whole_package_is_used_only_where_the_data_folder_has_none(fashion, root, capsys):
    put(fashion.files, fashion.package, pack=True)
    assert fashion.release.locate(root) == root / "fashion-mnist"
    shutil.rmtree(root / "fashion-mnist")
    assert load("fashion-mnist", root).test.labels.tolist() == [8, 9]
    data("fashion-mnist", root)
    assert f"fashion-mnist is in {fashion.package}" in capsys.readouterr().out
    assert list(root.iterdir()) == []
    next(fashion.package.iterdir()).unlink()
    assert fashion.release.locate(root) == root / "fashion-mnist"


@pytest.mark.skipif(
    not FASHION_MNIST.locate().is_dir(),
    reason="no real Fashion-MNIST: neither the data folder nor Debian's package has it",
)
def test_real_files_are_the_official_ones(recwarn):
    whole = load("fashion-mnist")
    assert whole.train.images.shape == (60_000, 3, 28, 28)
    assert whole.train.labels.bincount().tolist() == [6000] * 10
    assert whole.test.labels.bincount().tolist() == [1000] * 10
    mean, sd = channel_stats(whole.train)
    assert [round(value / 255, 4) for value in (*mean, *sd)] == [0.2860] * 3 + [0.3530] * 3
    assert len(recwarn) == 0
