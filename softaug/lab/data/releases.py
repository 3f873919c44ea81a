"""The official releases of CIFAR and Fashion-MNIST: files, layout, checksums, address."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PIXELS = 3 * 32 * 32


class Package(NamedTuple):
    """A package of Debian's that holds the official files."""

    name: str
    folder: Path  # where it puts them


@dataclass(frozen=True)
class Release:
    """Where CIFAR's files lie, how they are laid out, and their sha256."""

    folder: str
    train: dict[str, str]  # file name -> sha256
    test: dict[str, str]
    label_bytes: dict[str, int]  # kind of label -> its byte in a record
    names: dict[str, str]  # kind of label -> file of its class names
    num_classes: dict[str, int]
    images_in_file: dict[str, int]
    names_sha256: dict[str, str]  # kind of label -> that of its names, joined by line ends
    url: str
    archive_sha256: str
    package: Package | None = None

    @property
    def archive(self) -> str:
        """File name of the official archive."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def record(self) -> int:
        """Bytes for one image: its labels, then red, green and blue, row by row."""
        return len(self.label_bytes) + PIXELS


class IdxFile(NamedTuple):
    """A file of MNIST's format; its sha256 is that of the content, however it is packed."""

    name: str  # .gz is added for the gzipped one
    shape: tuple[int, ...]
    sha256: str

    @property
    def holds_labels(self) -> bool:
        return len(self.shape) == 1

    def path(self, folder: Path) -> Path:
        """Where it is: the plain file, else the gzipped one, which need not be there."""
        plain = folder / self.name
        return plain if plain.is_file() else folder / f"{self.name}.gz"


@dataclass(frozen=True)
class IdxRelease:
    """Where files of MNIST's format lie, what they hold, and their sha256."""

    folder: str
    train: tuple[IdxFile, IdxFile]  # images, labels
    test: tuple[IdxFile, IdxFile]
    class_names: tuple[str, ...]
    url: str  # of the folder that holds the gzipped files
    package: Package | None = None

    @property
    def files(self) -> tuple[IdxFile, ...]:
        return (*self.train, *self.test)

    @property
    def num_classes(self) -> dict[str, int]:
        return {"fine": len(self.class_names)}


AnyRelease = Release | IdxRelease

RELEASES = {
    "cifar10": Release(
        folder="cifar-10-batches-bin",
        train={
            "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        },
        test={"test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
        label_bytes={"fine": 0},
        names={"fine": "batches.meta.txt"},
        num_classes={"fine": 10},
        images_in_file={"train": 10_000, "test": 10_000},
        names_sha256={"fine": "bb3914949cecedee6d1257f7f5fdb8f43fa3b2c8095fd1763161caf1b873fe59"},
        url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        archive_sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    ),
    "cifar100": Release(
        folder="cifar-100-binary",
        train={"train.bin": "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"},
        test={"test.bin": "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"},
        label_bytes={"coarse": 0, "fine": 1},
        names={"coarse": "coarse_label_names.txt", "fine": "fine_label_names.txt"},
        num_classes={"coarse": 20, "fine": 100},
        images_in_file={"train": 50_000, "test": 10_000},
        names_sha256={
            "coarse": "9b48b836d98e8782057bb6a4da0d4030fe828e2b156b81fa835fda91b5276930",
            "fine": "fbe8ad23bbaf24969898a386833b49c3aaf6ad1119d43f7b41cdea1b3416d578",
        },
        url="https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        archive_sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    ),
}

IDX_RELEASES = {
    "fashion-mnist": IdxRelease(
        folder="fashion-mnist",
        train=(
            IdxFile(
                "train-images-idx3-ubyte",
                (60_000, 28, 28),
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            ),
            IdxFile(
                "train-labels-idx1-ubyte",
                (60_000,),
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            ),
        ),
        test=(
            IdxFile(
                "t10k-images-idx3-ubyte",
                (10_000, 28, 28),
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            ),
            IdxFile(
                "t10k-labels-idx1-ubyte",
                (10_000,),
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ),
        class_names=(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
        url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        package=Package("dataset-fashion-mnist", Path("/usr/share/datasets/fashion-mnist")),
    ),
}

FETCHED = (*RELEASES, *IDX_RELEASES)  # the names of all that `softaug data` can get


def release_of(name: str) -> AnyRelease:
    """The release of a set in `FETCHED`."""
    return RELEASES[name] if name in RELEASES else IDX_RELEASES[name]


def data_folder(data_dir: Path | str | None = None) -> Path:
    """`data_dir`; else what `SOFTAUG_DATA` names; else softaug/data in the user's cache.

    >>> print(data_folder("/data"))
    /data
    """
    chosen = data_dir or os.environ.get("SOFTAUG_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "softaug" / "data"


def release_folder(release: AnyRelease, data_dir: Path | str | None = None) -> Path:
    """Where the files of a release are, or would be got to.

    That is in `data_folder`; if they are not there, where a package of the system has them.
    """
    own = data_folder(data_dir) / release.folder
    if own.exists() or not isinstance(release, IdxRelease) or release.package is None:
        return own
    packaged = release.package.folder
    whole = all(file.path(packaged).is_file() for file in release.files)
    return packaged if whole else own


def how_to_get(name: str, release: AnyRelease, data_dir: Path | str | None) -> str:
    """What to do about files that are missing or bad."""
    option = f" --data-dir {data_folder(data_dir)}" if data_dir else ""
    package = f", as does {apt_get(release)}" if release.package else ""
    return (
        f"`softaug data {name}{option}` gets it{package}; if you have it, name the folder that "
        f"holds {release.folder} by data_dir or SOFTAUG_DATA"
    )


def apt_get(release: AnyRelease) -> str:
    """The command that installs the release's package; empty where there is none."""
    return f"`apt-get install {release.package.name}` on Debian" if release.package else ""
