import os

import pytest
import torch

from softaug.lab.data.cifar import cifar
from softaug.lab.data.releases import RELEASES

needs_data = pytest.mark.skipif(
    "SOFTAUG_DATA" not in os.environ, reason="SOFTAUG_DATA names no folder with real CIFAR"
)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Two-image files in CIFAR-100's layout: coarse byte, fine byte, pixels."""
    from dataclasses import replace

    release = replace(RELEASES["cifar100"], images_in_file={"train": 2, "test": 2})
    monkeypatch.setitem(RELEASES, "cifar100", release)
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for split in ("train", "test"):
        records = [bytes([19, 99, *([7] * 1024), *([8] * 1024), *range(256)] + [9] * 768)] * 2
        (folder / f"{split}.bin").write_bytes(b"".join(records))
    for kind, num in (("coarse", 20), ("fine", 100)):
        (folder / f"{kind}_label_names.txt").write_text("\n".join(f"c{i}" for i in range(num)))
    return tmp_path


@pytest.mark.filterwarnings("ignore:cifar")
def test_a_record_is_labels_then_planes_row_by_row(small):
    data = cifar("cifar100", small)
    assert data.train.labels.tolist() == [99, 99]
    assert data.train.images.shape == (2, 3, 32, 32)
    assert data.train.images[0, :, 5, 5].tolist() == [7, 8, 5 * 32 + 5]
    assert cifar("cifar100", small, labels="coarse").test.labels.tolist() == [19, 19]


def test_an_unknown_checksum_is_a_warning(small):
    with pytest.warns(UserWarning, match="differs from the official release"):
        cifar("cifar100", small)


def test_a_short_file_is_refused_by_name(small):
    path = small / "cifar-100-binary" / "test.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"test\.bin must hold 6148 bytes, got 6147"):
        cifar("cifar100", small)


@pytest.mark.filterwarnings("ignore:cifar")
def test_a_label_out_of_range_is_refused(small):
    path = small / "cifar-100-binary" / "train.bin"
    path.write_bytes(path.read_bytes().replace(bytes([19, 99]), bytes([19, 100])))
    with pytest.raises(ValueError, match=r"fine labels of .* must be in 0\.\.99, got 100"):
        cifar("cifar100", small)


def test_missing_files_say_how_to_get_them(tmp_path):
    command = rf"`softaug data cifar10 --data-dir {tmp_path}` gets it"
    with pytest.raises(ValueError, match=rf"data_batch_1\.bin must be there.*{command}.*SOFTAUG"):
        cifar("cifar10", tmp_path)


def test_without_a_folder_the_cache_is_looked_in(monkeypatch, tmp_path):
    monkeypatch.delenv("SOFTAUG_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "softaug" / "data" / "cifar-10-batches-bin" / "data_batch_1.bin"
    with pytest.raises(ValueError, match=rf"{path} must be there.*`softaug data cifar10` gets it"):
        cifar("cifar10")


@needs_data
@pytest.mark.parametrize(
    ("name", "means"),
    [("cifar10", (0.4914, 0.4822, 0.4465)), ("cifar100", (0.5071, 0.4865, 0.4409))],
)
def test_real_files_are_the_official_ones(name, means, recwarn):
    if not (os.path.isdir(os.path.join(os.environ["SOFTAUG_DATA"], RELEASES[name].folder))):
        pytest.skip(f"no {name} in SOFTAUG_DATA")
    data = cifar(name)
    assert len(data.train.labels) == 50_000
    assert len(data.test.labels) == 10_000
    assert data.train.labels.bincount().unique().tolist() == [50_000 // len(data.class_names)]
    found = (data.train.images.double().mean((0, 2, 3)) / 255).tolist()
    assert [round(mean, 4) for mean in found] == list(means)
    assert len(recwarn) == 0
    assert torch.equal(data.train.labels, cifar(name).train.labels)
