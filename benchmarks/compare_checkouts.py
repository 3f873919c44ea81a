"""Do two checkouts train the same networks to the bit?

    python benchmarks/compare_checkouts.py OLD NEW [--only supervised ssl]

Each case trains for a few epochs in both checkouts, one after the other, on this machine, and
compares the sha256 of the final weights and the numbers of result.json and metrics.jsonl. Run it
before and after a refactoring; hashes depend on the processor, so none are stored.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import safetensors.numpy
from PIL import Image

DIGITS = ["digits-resnet8-soft", "--epochs", "3"]
CASES = {
    "supervised": DIGITS,
    "policy": [*DIGITS, "--augment.policy", "trivialaugment", "--augment.curves", "naive"],
    "mixing": [*DIGITS, "--mix.kind", "cutmix"],
    "manifold": [*DIGITS, "--mix.kind", "manifold-mixup"],
    "paced": [*DIGITS, "--augment.pace.rule", "accuracy-hold", "--augment.pace.by", "class"],
    "online-smoothing": [*DIGITS, "--loss.online-smoothing", "0.3", "--optim.ema", "0.9"],
    "ssl": [
        *["cifar10-simsiam-resnet8-s2-sa1", "--data.name", "digits", "--epochs", "2"],
        *["--batch", "50", "--data.per-class", "20"],
    ],
    "photos": [
        *["imagenette-resnet8-s2-soft", "--data.name", "folder:{photos}", "--epochs", "2"],
        *["--batch", "16", "--workers", "1"],
    ],
    "two-processes": DIGITS,
}


def write_photos(folder: Path) -> None:
    """Write a small folder of JPEGs: two classes of noise, of several sizes."""
    rng = np.random.default_rng(0)
    for split, num in {"train": 24, "val": 6}.items():
        for label in ("a", "b"):
            (folder / split / label).mkdir(parents=True)
            for index in range(num):
                shape = (240 + 7 * index, 300 - 5 * index, 3)
                pixels = rng.integers(0, 256, shape, dtype=np.uint8)
                Image.fromarray(pixels).save(folder / split / label / f"{index}.jpg", quality=90)


def train(root: Path, case: str, out: Path, photos: Path) -> None:
    """Train one case with the code of the checkout `root`."""
    module = ["-m", "softaug"]
    if case == "two-processes":
        module = ["-m", "torch.distributed.run", "--nproc-per-node", "2", *module]
    words = [word.format(photos=photos) for word in CASES[case]]
    command = [sys.executable, *module, "train", *words, "--out", str(out), "--threads", "1"]
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, cwd=out.parent, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{case} in {root} failed:\n{done.stdout}{done.stderr}")


def hash_weights(out: Path) -> str:
    """Hash the last checkpoint's weights, in the order of their names."""
    last = sorted((out / "checkpoints").glob("step-*"))[-1]
    tensors = safetensors.numpy.load_file(last / "model.safetensors")
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()


def read_numbers(out: Path) -> dict[str, float]:
    """Read the numbers that must not change: last metrics and result, without times."""
    last = json.loads((out / "metrics.jsonl").read_text().splitlines()[-1])
    result = json.loads((out / "result.json").read_text())
    kept = {"error", "nll", "ece", "knn_error"}
    return {
        **{f"metrics {name}": value for name, value in last.items() if "loss" in name},
        **{f"result {name}": value for name, value in result.items() if name in kept},
    }


def checkout(name: str) -> Path:
    """Return the folder of a checkout; anything else would run what is installed, twice."""
    folder = Path(name).resolve()
    if not (folder / "softaug" / "__init__.py").is_file():
        raise argparse.ArgumentTypeError(f"{name} must be a checkout's folder (git worktree add)")
    return folder


def main() -> None:
    """Train every case twice and compare; exit 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=checkout)
    parser.add_argument("new", type=checkout)
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES))
    args = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        photos = Path(folder) / "photos"
        write_photos(photos)
        for case in args.only:
            found = []
            for which in ("old", "new"):
                out = Path(folder) / f"{case}-{which}"
                train(getattr(args, which), case, out, photos)
                found.append((hash_weights(out), read_numbers(out)))
            equal = found[0] == found[1]
            different += not equal
            print(f"{case:18} {'equal' if equal else 'DIFFERENT'}  {found[1][0][:16]}", flush=True)
            if not equal:
                print(f"  old {found[0]}\n  new {found[1]}")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
