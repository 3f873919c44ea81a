"""Make the embedded data set `fashion-mini`: 2,000 training and 2,000 test images of Fashion-MNIST.

    apt-get install dataset-fashion-mnist
    python studies/make_fashion_mini.py

Draws 200 images of each class from the training files and 200 from the test files, by a fixed
seed, and writes them as gzipped IDX files, Fashion-MNIST's own format, into the package (1.8 MB).
Prints the sha256 of each file's content, which `softaug.lab.data.fashion_mnist` compares.
"""

import gzip
import hashlib
from pathlib import Path

import numpy as np

from softaug.lab.data.images import Images, load, sample_per_class

SEED, NUM_PER_CLASS = 20230618, 200
FOLDER = Path(__file__).parent.parent / "softaug" / "lab" / "data" / "fashion_mini"


def write_idx(path: Path, values: np.ndarray) -> None:
    """Write bytes in the IDX format, gzipped; the same values give the same file."""
    header = [0x0800 + values.ndim, *values.shape]
    content = np.array(header, ">u4").tobytes() + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content, compresslevel=9, mtime=0))
    print(
        f"{path.name}: {path.stat().st_size:,} bytes, sha256 {hashlib.sha256(content).hexdigest()}"
    )


def main() -> None:
    """Draw the images and write the four files."""
    data = load("fashion-mnist")
    for prefix, split in (("train", data.train), ("t10k", data.test)):
        assert isinstance(split, Images)
        chosen = sample_per_class(split, NUM_PER_CLASS, SEED)
        write_idx(FOLDER / f"{prefix}-images-idx3-ubyte.gz", chosen.images[:, 0].numpy())
        write_idx(FOLDER / f"{prefix}-labels-idx1-ubyte.gz", chosen.labels.numpy())


if __name__ == "__main__":
    main()
