"""The command `softaug predict`: what a trained network says of image files."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import torch
import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from softaug.checks import check_whole, refuse
from softaug.lab.data.decoding import open_image
from softaug.lab.data.folder import ENDINGS, find_images
from softaug.lab.data.windows import format_list, try_read
from softaug.lab.evaluation.network import TrainedNetwork, load_run

WHO = "predict"
CHUNK = 64  # images at a time

Format = Literal["table", "csv", "json"]


class Prediction(NamedTuple):
    """The likeliest classes of an image, each with its confidence."""

    image: str
    classes: list[tuple[str, float]]


def predict(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    images: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="IMAGES...")],
    format: Format | None = None,  # noqa: A002
    top: int = 1,
    device: str = "auto",
    data_dir: Path | None = None,
) -> None:
    """Classify image files with a trained network; confidences are calibrated after `evaluate`.

    Args:
        run: Folder that `softaug train` made.
        images: Files, or folders of them at any depth.
        format: table, csv or json (default: table in a terminal, else csv).
        top: How many classes to name for each image.
        device: auto, cpu, cuda, ...
        data_dir: Where data sets are; needed only for runs of versions before 0.2.
    """
    check_whole(WHO, "top", top, least=1)
    paths = list_files(images)
    net = load_run(run, device=device, data_dir=data_dir)
    readable, reasons = check_readable(paths)
    predictions = classify(net, readable, top)
    chosen = format or ("table" if sys.stdout.isatty() else "csv")
    print_predictions(predictions, chosen, net.temperature)
    if reasons:
        got = f"{len(reasons)} that cannot: {format_list(reasons)}"
        refuse(WHO, "every file must be an image that can be read", got, "the others are above")


def list_files(paths: Sequence[Path]) -> list[str]:
    """List files as they are named, and the images in folders, sorted."""
    files: list[str] = []
    for path in paths:
        if path.is_dir():
            found = sorted(find_images(path))
            if not found:
                refuse(WHO, f"{path} must hold images ({' '.join(ENDINGS)})", "none")
            files += found
        elif path.is_file():
            files.append(str(path))
        else:
            refuse(WHO, "images must be files or folders", f"{path}, which is neither")
    if not files:
        refuse(WHO, "at least one image must be given", "none")
    return files


def check_readable(paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files that are images, and "PATH: reason" for each other one."""
    reasons: list[str] = []
    readable = [path for path in paths if try_read(path, reasons, open_image, path) is not None]
    return readable, reasons


def classify(net: TrainedNetwork, paths: Sequence[str], top: int = 1) -> list[Prediction]:
    """Return the likeliest classes of each file."""
    top = min(top, len(net.class_names))
    found: list[Prediction] = []
    for first in range(0, len(paths), CHUNK):
        part = paths[first : first + CHUNK]
        best: torch.return_types.topk = net.predict(net.read_images(part)).topk(top)
        for path, probs, labels in zip(
            part, best.values.tolist(), best.indices.tolist(), strict=True
        ):
            names = [net.class_names[label] for label in labels]
            found.append(Prediction(path, list(zip(names, probs, strict=True))))
    return found


def print_predictions(
    predictions: Sequence[Prediction], style: Format, temperature: float | None
) -> None:
    """Print what was predicted: JSON, or a row for each image."""
    if style == "json":
        content = [
            {
                "image": one.image,
                "classes": [{"class": name, "confidence": prob} for name, prob in one.classes],
            }
            for one in predictions
        ]
        print(json.dumps({"temperature": temperature, "predictions": content}, indent=1))
    elif style == "csv":
        print(format_csv(predictions), end="")
    else:
        Console().print(make_table(predictions, temperature))


def format_csv(predictions: Sequence[Prediction]) -> str:
    """Format rows of image, class, confidence; a second class and on in columns of their own.

    >>> print(format_csv([Prediction("a.png", [("cat", 0.75), ("dog", 0.25)])]), end="")
    image,class,confidence,class_2,confidence_2
    a.png,cat,0.750000,dog,0.250000
    """
    num = max((len(one.classes) for one in predictions), default=1)
    ranks = ["", *(f"_{rank}" for rank in range(2, num + 1))]
    heads = [f"{word}{rank}" for rank in ranks for word in ("class", "confidence")]
    rows = [
        [one.image, *(cell for name, prob in one.classes for cell in (name, f"{prob:.6f}"))]
        for one in predictions
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["image", *heads], *rows])
    return text.getvalue()


def make_table(predictions: Sequence[Prediction], temperature: float | None) -> Table:
    """Make a table for the terminal, a line for each class that is named."""
    note = (
        "confidence as trained; `softaug evaluate` fits a temperature"
        if temperature is None
        else f"confidence at temperature {temperature:.3f}"
    )
    table = Table(caption=note)
    table.add_column("image", overflow="fold")  # whole: names differ at their ends
    table.add_column("class")
    table.add_column("confidence", justify="right")
    for one in predictions:
        for rank, (name, prob) in enumerate(one.classes):
            # As text: a name may hold what rich takes for markup.
            table.add_row(Text("" if rank else one.image), Text(name), f"{prob:.1%}")
    return table
