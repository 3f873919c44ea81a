"""Measure a trained run with BatchNorm statistics of nearer and farther crops; weights stay.

    python -m studies.self_paced.batch_norm_sigma RUN...

Statistics are plain means over one pass of the run's training images in batches of 64, cropped at
each sigma (fill: the images' mean color; no flips). Prints a Markdown table; "as it is" has the
statistics of the end of training.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Generator, Tensor
from torch.optim.swa_utils import update_bn

from softaug import SoftCrop
from softaug.lab.evaluation.load_run import TrainedRun, load_run
from softaug.metrics import calibration_error, occlude
from studies.collect import as_table

SIGMAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
HEADS = ["run", "statistics at sigma", "error", "ECE", "confidence - accuracy", "40 % hidden"]


def make_rows(folder: Path) -> Iterator[list[str]]:
    """Yield the row of a run as it is, and with statistics of each sigma."""
    run = load_run(folder, None, "cpu")
    yield [folder.name, "as it is", *measure(run)]
    for sigma in SIGMAS:
        set_statistics(run, sigma)
        yield ["", f"{sigma:g}", *measure(run)]


def set_statistics(run: TrainedRun, sigma: float) -> None:
    """Replace BatchNorm statistics by those of training images cropped at `sigma`."""
    draws, train = Generator().manual_seed(0), run.data.train
    crop = SoftCrop(sigma, fill=fill_color(run))
    batches = torch.randperm(len(train.labels), generator=draws).split(64)
    update_bn(
        (crop(train.fetch(one), train.labels[one], generator=draws) for one in batches), run.net
    )


def measure(run: TrainedRun) -> list[str]:
    """Return error, ECE, confidence minus accuracy, and accuracy with 40 % hidden."""
    labels, draws = run.data.measured.labels, Generator().manual_seed(0)
    probs, hidden = [], []
    for chosen in torch.arange(len(labels)).split(500):
        images = run.data.measured.fetch(chosen)
        probs.append(run.predict(images).softmax(1))
        patched = occlude(images, 0.4, generator=draws, fill=fill_color(run))
        hidden.append(run.predict(patched).argmax(1))
    found = torch.cat(probs)
    accuracy = mean(found.argmax(1) == labels)
    above = mean(found.max(1).values) - accuracy
    ece = calibration_error(found, labels, bins=15)
    shares = (1 - accuracy, float(ece), above, mean(torch.cat(hidden) == labels))
    formats = ("{:.2f}", "{:.2f}", "{:+.2f}", "{:.1f}")
    return [how.format(100 * share) for how, share in zip(formats, shares, strict=True)]


def mean(values: Tensor) -> float:
    """Return the mean as a plain number."""
    return float(values.double().mean())


def fill_color(run: TrainedRun) -> tuple[int, ...]:
    """Return the mean color, which fills crops and patches."""
    return tuple(round(level) for level in run.data.mean)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(as_table([HEADS, *(row for name in sys.argv[1:] for row in make_rows(Path(name)))]))
