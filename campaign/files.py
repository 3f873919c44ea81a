"""Hostile input files: CIFAR, idx, JPEG, PNG, WebP, recipes, results, curves and weights.

A valid file with bytes changed, cut, repeated or inserted is read by the code that users' files go
through. It must be read as something of the right shape, or refused with its name, and soon.
"""

import gzip
import io
import json
import random
import signal
import warnings
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from factories import make_evaluation, make_result
from PIL import Image
from safetensors.torch import save as save_tensors
from tiny_runs import tiny, tiny_pairs

from campaign.attempts import Outcome, Part
from softaug.lab import schema
from softaug.lab.data.cifar import COARSE_OF_FINE, RELEASES, _parse_records
from softaug.lab.data.download import read_checked
from softaug.lab.data.fashion_mnist import parse_idx, read_idx
from softaug.lab.data.folder import read_image
from softaug.lab.recipes.serialize import as_dict, read_recipe
from softaug.lab.training.finetune import read_weights
from softaug.lab.training.logging import scan_metrics
from softaug.transforms.curves import NAIVE, read_curves, write_curves

BATCH = 100  # files in an attempt
MOST_SECONDS = 20  # for one file
SHAPE = (6, 5, 4)  # of the idx file
Reader = Callable[[Path], None]


def write_seeds(folder: Path) -> dict[str, list[bytes]]:
    """Make some valid files of each kind."""
    draw = np.random.default_rng(0)
    seeds: dict[str, list[bytes]] = {name: [] for name in ("jpeg", "png", "webp")}
    for number, mode in enumerate(("RGB", "L", "RGB", "RGBA", "P", "CMYK")):
        pixels = draw.integers(0, 256, (33 + number, 47, 3), dtype=np.uint8)
        image = Image.fromarray(pixels).convert(mode)
        for kind, modes in (("jpeg", "RGB L CMYK"), ("png", "RGB L RGBA P"), ("webp", "RGB RGBA")):
            if mode in modes.split():
                out = io.BytesIO()
                image.save(out, kind, **({"progressive": True} if number == 2 else {}))
                seeds[kind].append(out.getvalue())
    fine = draw.integers(0, 100, 4)
    labels = np.stack([np.array(COARSE_OF_FINE)[fine], fine], 1).astype(np.uint8)
    planes = draw.integers(0, 256, (4, 3072), dtype=np.uint8)
    seeds["cifar"] = [np.concatenate([labels, planes], 1).tobytes()]
    idx = bytes([0, 0, 8, 3, *b"".join(edge.to_bytes(4, "big") for edge in SHAPE)]) + bytes(120)
    seeds["idx"] = [idx, gzip.compress(idx)]
    recipes = [tiny(), tiny_pairs(), tiny(optim_ema=0.9, epochs=7)]
    seeds["recipe"] = [json.dumps(as_dict(one), indent=2).encode() for one in recipes]
    records = [make_result(), make_evaluation()]
    seeds["result"] = [json.dumps(one.model_dump()).encode() for one in records]
    rows = [{"step": n, "epoch": n, "train_loss": 0.5} for n in range(1, 4)]
    seeds["metrics"] = ["".join(json.dumps(row) + "\n" for row in rows).encode()]
    write_curves(folder / "curves.json", NAIVE, {})
    seeds["curves"] = [(folder / "curves.json").read_bytes()]
    state = {"net.weight": torch.randn(3, 4), "net.bias": torch.zeros(3)}
    torch.save(state, folder / "a.pth")
    seeds["weights"] = [save_tensors(state)]
    seeds["weights (pickle)"] = [(folder / "a.pth").read_bytes()]
    return seeds


def read_cifar_records(path: Path) -> None:
    """Read four records of CIFAR-100 as its files are read."""
    release = RELEASES["cifar100"]
    content = read_checked([release._check_records(path, 4, "")], "")[path.name]
    images = _parse_records(content, release, "fine")
    assert images.images.shape == (4, 3, 32, 32)
    assert images.labels.max() < 100


def read_idx_file(path: Path) -> None:
    """Read an idx file of a known shape."""
    content, error = read_idx(path, SHAPE)
    if not error:
        assert parse_idx(content, SHAPE).shape == SHAPE


def read_picture(path: Path) -> None:
    """Decode an image file."""
    image = read_image(str(path), 24)
    assert image.shape == (3, 24, 24)
    assert image.dtype == torch.uint8


def read_any_result(path: Path) -> None:
    """Read a file as a result, and as an evaluation; it cannot be both."""
    answers = 0
    for model in (schema.Result, schema.Evaluation):
        try:
            schema.read(path, model)  # type: ignore[type-var]
            answers += 1
        except ValueError as refused:
            if str(path) not in str(refused):
                raise
    assert answers < 2


def read_weights_file(path: Path) -> None:
    """Read a state dict, in either format."""
    tensors = read_weights(str(path))
    assert all(isinstance(value, torch.Tensor) for value in tensors.values())


def read_log(path: Path) -> None:
    """Read rows; every line is read or counted as bad, but for a last one."""
    rows, bad = scan_metrics(path)
    lines = path.read_bytes().split(b"\n")
    assert len(lines) - 2 <= len(rows) + len(bad) <= len(lines)


READERS: dict[str, tuple[str, Reader]] = {
    "jpeg": (".jpg", read_picture),
    "png": (".png", read_picture),
    "webp": (".webp", read_picture),
    "cifar": (".bin", read_cifar_records),
    "idx": ("", read_idx_file),
    "recipe": (".json", lambda path: void(read_recipe(path, "train"))),
    "result": (".json", read_any_result),
    "metrics": (".jsonl", read_log),
    "curves": (".json", lambda path: void(read_curves(path))),
    "weights": (".safetensors", read_weights_file),
    "weights (pickle)": (".pth", read_weights_file),
}
JSON = ("recipe", "result", "metrics", "curves")
VALUES: list[Any] = [
    *(None, True, -1, 0, 1e308, 10**30, "", "x" * 1000, [], {}, [[]], {"a": {}}, "\ud7ff", 0.5),
    *(float("nan"), float("inf"), -(10**30), 2**63, "nan", [1] * 1000),
]


def void(value: object) -> None:
    """Take a value that needs no look."""
    assert value is not None


def prepare(folder: Path) -> SimpleNamespace:
    """Make the valid files."""
    return SimpleNamespace(seeds=write_seeds(folder))


def attempt(bench: SimpleNamespace, draw: random.Random, folder: Path) -> Outcome:
    """Read a hundred changed files of one kind."""
    kind = draw.choice(list(READERS))
    ending, reader = READERS[kind]
    path = folder / f"hostile{ending}"
    signal.signal(signal.SIGALRM, late)
    for number in range(BATCH):
        content = draw.choice(bench.seeds[kind])
        structured = kind in JSON and draw.random() < 0.6
        content = change_values(content, draw) if structured else change_bytes(content, draw)
        path.write_bytes(content)
        signal.alarm(MOST_SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader(path)
        except ValueError as refused:
            if "hostile" not in str(refused):
                return Outcome(number + 1, f"{kind}: no name: {refused}", (kind,))
        except Exception as error:
            problem = f"{kind}: {type(error).__name__}: {error}; {content[:200]!r}"
            return Outcome(number + 1, problem, (kind,))
        finally:
            signal.alarm(0)
    return Outcome(BATCH, "", (kind,))


def late(*_: Any) -> None:
    """Say that a file took too long."""
    raise TimeoutError(f"no end in {MOST_SECONDS} s")


def change_bytes(content: bytes, draw: random.Random) -> bytes:
    """Change some bytes, or cut, repeat, insert or remove some."""
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        if not changed:
            break
        at, length = draw.randrange(len(changed)), draw.randint(1, 64)
        how = draw.randrange(7)
        if how == 0:
            changed[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            changed[at] = draw.choice((0, 255, 127, 128, draw.randrange(256)))
        elif how == 2:
            del changed[at:]
        elif how == 3:
            del changed[at : at + length]
        elif how == 4:
            changed[at:at] = draw.randbytes(length)
        elif how == 5:
            changed[at:at] = changed[at : at + length] * draw.randint(1, 20)
        else:
            changed[at : at + 4] = draw.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff"))
    return bytes(changed)


def change_values(content: bytes, draw: random.Random) -> bytes:
    """Replace, remove, rename or nest values of a JSON file."""
    if draw.random() < 0.02:
        return b"[" * draw.randint(1, 200_000)
    try:
        table = json.loads(content)
    except ValueError:  # lines
        lines = content.splitlines()
        number = draw.randrange(len(lines))
        lines[number] = change_values(lines[number], draw).replace(b"\n", b"")
        return b"\n".join(lines) + b"\n"
    for _ in range(draw.randint(1, 3)):
        part, key = pick(table, draw)
        if key is None:
            return json.dumps(deepcopy(draw.choice(VALUES))).encode()
        how = draw.randrange(4)
        if how == 0 and isinstance(part, dict):
            del part[key]
        elif how == 1 and isinstance(part, dict):
            part[f"{key}x"] = part.pop(key)
        else:
            part[key] = deepcopy(draw.choice(VALUES))
    return json.dumps(table).encode()


def pick(table: Any, draw: random.Random) -> tuple[Any, Any]:
    """Pick a place in nested tables and lists at random; key None where there is none."""
    part, key = table, None
    while isinstance(part, dict | list) and part:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key, parent = draw.choice(keys), part
        if draw.random() < 0.3 or not isinstance(part[key], dict | list):
            return parent, key
        part = part[key]
    return (table, None) if key is None else (parent, key)


PART = Part("files", "hostile files", 50_000, 0.14, prepare, attempt)
