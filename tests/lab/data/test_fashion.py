import gzip
import shutil
import warnings

import numpy as np
import pytest
import torch

from softaug.lab.data.fashion_mnist import fashion_mnist
from softaug.lab.data.folder import class_words
from softaug.lab.data.images import channel_stats
from softaug.lab.data.load import data, load
from softaug.lab.data.releases import IDX_RELEASES, release_folder

REAL = IDX_RELEASES["fashion-mnist"]
needs_data = pytest.mark.skipif(
    not release_folder(REAL).is_dir(),
    reason="no real Fashion-MNIST: neither the data folder nor Debian's package has it",
)


def put(files, folder, pack=False):
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / (f"{name}.gz" if pack else name)
        path.write_bytes(gzip.compress(content) if pack else content)


@pytest.fixture
def home(fashion, tmp_path):
    """A data folder with the small set, plain."""
    put(fashion.files, tmp_path / "home" / "fashion-mnist")
    return tmp_path / "home"


def test_images_are_grey_in_three_channels_and_in_their_order(fashion, home, recwarn):
    found = load("fashion-mnist", home)
    pixels = np.frombuffer(fashion.files["train-images-idx3-ubyte"][16:], np.uint8)
    grey = torch.tensor(pixels).view(4, 1, 28, 28)
    assert found.train.images.dtype == torch.uint8
    assert torch.equal(found.train.images, grey.expand(4, 3, 28, 28))
    assert found.train.labels.tolist() == [6, 7, 8, 9]
    assert found.test.labels.tolist() == [8, 9]
    assert len(recwarn) == 0


def test_gzipped_and_plain_files_give_the_same(fashion, home, tmp_path):
    put(fashion.files, tmp_path / "packed" / "fashion-mnist", pack=True)
    plain, packed = fashion_mnist(home), fashion_mnist(tmp_path / "packed")
    for one, two in zip((*plain.train, *plain.test), (*packed.train, *packed.test), strict=True):
        assert torch.equal(one, two)


def test_images_may_be_written_to(home):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train = fashion_mnist(home).train
    train.images[0] = 0
    train.labels[0] = 0
    assert fashion_mnist(home).train.labels[0] == 6


def test_classes_have_the_names_that_their_makers_gave(home):
    names = fashion_mnist(home).class_names
    assert (len(names), names[0], names[9]) == (10, "T-shirt/top", "Ankle boot")
    assert class_words(names) == list(names)


def test_an_unknown_checksum_is_a_warning(home):
    path = home / "fashion-mnist" / "t10k-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.warns(UserWarning, match=f"{path} differs from the official release") as told:
        fashion_mnist(home)
    assert len(told) == 1


def test_a_file_of_another_size_is_refused_by_name(fashion, home):
    path = home / "fashion-mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(fashion.files["t10k-labels-idx1-ubyte"])
    rule = f"fashion_mnist: {path} must be an IDX file of 4 bytes, got dimensions 2, should be 4"
    with pytest.raises(ValueError, match=f"{rule}; `softaug data fashion-mnist --data-dir {home}`"):
        fashion_mnist(home)


@pytest.mark.filterwarnings("ignore:fashion_mnist")
def test_a_label_out_of_range_is_refused(home):
    path = home / "fashion-mnist" / "train-labels-idx1-ubyte"
    path.write_bytes(path.read_bytes()[:-1] + bytes([10]))
    with pytest.raises(ValueError, match=rf"labels of {path} must be in 0\.\.9, got 10; `softaug"):
        fashion_mnist(home)


def test_missing_files_say_how_to_get_them(fashion, tmp_path):
    path = tmp_path / "fashion-mnist" / "train-images-idx3-ubyte.gz"
    command = f"`softaug data fashion-mnist --data-dir {tmp_path}` gets it"
    package = "as does `apt-get install dataset-fashion-mnist` on Debian"
    rule = f"{path} must be there, got no such file; {command}, {package}; .*SOFTAUG_DATA"
    with pytest.raises(ValueError, match=rule):
        fashion_mnist(tmp_path)


def test_one_missing_file_is_named(home):
    (home / "fashion-mnist" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(ValueError, match=r"t10k-labels-idx1-ubyte\.gz must be there"):
        fashion_mnist(home)


def test_the_package_is_used_only_where_the_data_folder_has_none(fashion, home, capsys):
    put(fashion.files, fashion.package, pack=True)
    assert release_folder(fashion.release, home) == home / "fashion-mnist"
    shutil.rmtree(home / "fashion-mnist")
    assert fashion_mnist(home).test.labels.tolist() == [8, 9]
    data("fashion-mnist", home)
    assert f"fashion-mnist is in {fashion.package}" in capsys.readouterr().out
    assert list(home.iterdir()) == []


def test_a_package_that_lacks_a_file_is_not_used(fashion, tmp_path):
    put(fashion.files, fashion.package, pack=True)
    next(fashion.package.iterdir()).unlink()
    assert release_folder(fashion.release, tmp_path) == tmp_path / "fashion-mnist"


def test_the_command_checks_what_is_there(home, capsys):
    data("fashion-mnist", home)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ok: train-images-idx3-ubyte, 4 images, sha256 official"
    assert lines[3] == "ok: t10k-labels-idx1-ubyte, 2 labels, sha256 official"
    assert lines[4] == f"fashion-mnist is in {home}/fashion-mnist"


def test_the_command_tells_all_that_is_wrong(fashion, home, capsys):
    folder = home / "fashion-mnist"
    (folder / "train-images-idx3-ubyte").write_bytes(b"short")
    (folder / "t10k-images-idx3-ubyte").unlink()
    labels = folder / "t10k-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1] + bytes([200]))
    with pytest.raises(ValueError, match=f"{folder} must hold the official files, got 3 wrong"):
        data("fashion-mnist", home)
    out = capsys.readouterr().out
    assert "WRONG: train-images-idx3-ubyte, 5 bytes, should be 3,152" in out
    assert "WRONG: t10k-images-idx3-ubyte.gz, missing" in out
    assert "sha256 is not the official one, label 200 is outside 0..9" in out


def test_what_is_for_others_is_refused(tmp_path):
    with pytest.raises(ValueError, match="left out but for CIFAR, got fashion-mnist"):
        data("fashion-mnist", tmp_path, from_torchvision=tmp_path)
    with pytest.raises(ValueError, match="left out but for folders, got fashion-mnist"):
        data("fashion-mnist", tmp_path, decode=True)


@needs_data
def test_real_files_are_the_official_ones(recwarn):
    found = load("fashion-mnist")
    assert found.train.images.shape == (60_000, 3, 28, 28)
    assert found.train.labels.bincount().tolist() == [6000] * 10
    assert found.test.images.shape == (10_000, 3, 28, 28)
    assert found.test.labels.bincount().tolist() == [1000] * 10
    mean, sd = channel_stats(found.train)
    assert [round(value / 255, 4) for value in (*mean, *sd)] == [0.2860] * 3 + [0.3530] * 3
    assert len(recwarn) == 0
