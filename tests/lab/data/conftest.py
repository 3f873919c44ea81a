"""A CIFAR-100 and a Fashion-MNIST of six random images: releases, files and an archive."""

import hashlib
import io
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from softaug.lab.data.cifar import COARSE_NAMES, COARSE_OF_FINE, RELEASES
from softaug.lab.data.fashion_mnist import RELEASES as FASHION_RELEASES
from softaug.lab.data.fashion_mnist import IdxFile

sys.path.insert(0, str(Path(__file__).parent))


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def pack(files):
    """A .tar.gz of {member name: content}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return out.getvalue()


def records(num, seed):
    rng = np.random.default_rng(seed)
    fine = rng.integers(0, 100, num)
    labels = np.stack([np.array(COARSE_OF_FINE)[fine], fine], 1).astype(np.uint8)
    pixels = rng.integers(0, 256, (num, 3072), dtype=np.uint8)
    return np.concatenate([labels, pixels], 1).tobytes()


@pytest.fixture
def tiny(monkeypatch):
    """`tiny.files` and `tiny.archive` are what `RELEASES["cifar100"]` asks for meanwhile."""
    fine = [f"class_{number}" for number in range(100)]
    files = {
        "train.bin": records(4, seed=0),
        "test.bin": records(2, seed=1),
        "coarse_label_names.txt": "\n".join([*COARSE_NAMES, ""]).encode(),
        "fine_label_names.txt": "\n".join([*fine, "", ""]).encode(),
    }
    packed = {f"cifar-100-binary/{name}": content for name, content in files.items()}
    archive = pack({**packed, "cifar-100-binary/readme.html": b"about"})
    release = replace(
        RELEASES["cifar100"],
        train={"train.bin": sha256(files["train.bin"])},
        test={"test.bin": sha256(files["test.bin"])},
        images_in_file={"train": 4, "test": 2},
        names_sha256={
            "coarse": sha256("\n".join(COARSE_NAMES).encode()),
            "fine": sha256("\n".join(fine).encode()),
        },
        archive_sha256=sha256(archive),
    )
    monkeypatch.setitem(RELEASES, "cifar100", release)
    return SimpleNamespace(files=files, archive=archive, fine=fine, packed=packed, pack=pack)


def pack_idx(array):
    """An array of bytes as an IDX file."""
    edges = b"".join(edge.to_bytes(4, "big") for edge in array.shape)
    return bytes([0, 0, 8, array.ndim]) + edges + array.astype(np.uint8).tobytes()


@pytest.fixture
def fashion(tmp_path, monkeypatch):
    """`fashion.files` is what `FASHION_RELEASES["fashion-mnist"]` asks for meanwhile, plain.

    Its package is not installed: `fashion.package` is where it would be.
    """
    rng, files, described = np.random.default_rng(0), {}, []
    for start, num in (("train", 4), ("t10k", 2)):
        arrays = {
            f"{start}-images-idx3-ubyte": rng.integers(0, 256, (num, 28, 28)),
            f"{start}-labels-idx1-ubyte": np.arange(num) + 9 - num + 1,
        }
        for name, array in arrays.items():
            files[name] = pack_idx(array)
            described.append(IdxFile(name, array.shape, sha256(files[name])))
    package = tmp_path / "usr" / "share"
    release = replace(FASHION_RELEASES["fashion-mnist"], files=tuple(described), packaged=package)
    monkeypatch.setitem(FASHION_RELEASES, "fashion-mnist", release)
    return SimpleNamespace(files=files, package=package, release=release)
