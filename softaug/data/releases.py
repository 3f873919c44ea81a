"""The official binary releases of CIFAR: files, layout, checksums, address."""

from dataclasses import dataclass

PIXELS = 3 * 32 * 32


@dataclass(frozen=True)
class Release:
    """Where a data set's files lie, how they are laid out, and their sha256."""

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

    @property
    def archive(self) -> str:
        """File name of the official archive."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def record(self) -> int:
        """Bytes for one image: its labels, then red, green and blue, row by row."""
        return len(self.label_bytes) + PIXELS


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
