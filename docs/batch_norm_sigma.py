"""Measure a trained run with BatchNorm statistics of nearer and farther crops; weights stay.

    python docs/batch_norm_sigma.py RUN...

Statistics are plain means over one pass of the run's training images in batches of 64, cropped at
each sigma (fill: the images' mean colour; no flips). Prints a table for docs/self-paced.md; "as it
is" has the statistics of the training's end.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import torch
from kept_runs import as_table
from torch import Generator, Tensor
from torch.optim.swa_utils import update_bn

from softaug import SoftCrop
from softaug.lab.evaluation.load_run import TrainedRun, open_run, predict
from softaug.metrics import calibration_error, occlude

SIGMAS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
HEADS = ["run", "statistics at sigma", "error", "ECE", "confidence - accuracy", "40 % hidden"]


def rows(folder: Path) -> Iterator[list[str]]:
    """What the network of a run does as it is, and with statistics of each sigma."""
    run = open_run(folder, None, "cpu")
    yield [folder.name, "as it is", *measured(run)]
    for sigma in SIGMAS:
        set_statistics(run, sigma)
        yield ["", f"{sigma:g}", *measured(run)]


def set_statistics(run: TrainedRun, sigma: float) -> None:
    """Those of the training images cropped at `sigma`, in place of the run's own."""
    draws, train = Generator().manual_seed(0), run.data.train
    crop = SoftCrop(sigma, fill=fill(run))
    batches = torch.randperm(len(train.labels), generator=draws).split(64)
    update_bn(
        (crop(train.fetch(one), train.labels[one], generator=draws) for one in batches), run.net
    )


def measured(run: TrainedRun) -> list[str]:
    """Error, ECE, confidence above accuracy, and accuracy with a patch over 40 %."""
    labels, draws = run.data.measured.labels, Generator().manual_seed(0)
    probs, hidden = [], []
    for chosen in torch.arange(len(labels)).split(500):
        images = run.data.measured.fetch(chosen)
        probs.append(predict(run, images).softmax(1))
        patched = occlude(images, 0.4, generator=draws, fill=fill(run))
        hidden.append(predict(run, patched).argmax(1))
    found = torch.cat(probs)
    accuracy = mean(found.argmax(1) == labels)
    above = mean(found.max(1).values) - accuracy
    ece = calibration_error(found, labels, bins=15)
    shares = (1 - accuracy, float(ece), above, mean(torch.cat(hidden) == labels))
    formats = ("{:.2f}", "{:.2f}", "{:+.2f}", "{:.1f}")
    return [how.format(100 * share) for how, share in zip(formats, shares, strict=True)]


def mean(values: Tensor) -> float:
    """Over all, as a plain number."""
    return float(values.double().mean())


def fill(run: TrainedRun) -> tuple[int, ...]:
    """The grey that crops and patches leave."""
    return tuple(round(level) for level in run.data.mean)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(as_table([HEADS, *(row for name in sys.argv[1:] for row in rows(Path(name)))]))
