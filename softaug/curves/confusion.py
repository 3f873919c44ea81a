"""Which classes heavily cropped images of each class are taken for."""

import torch
from rich.console import Console
from torch import Generator, Tensor

from softaug.curves.measure import stretches
from softaug.curves.subject import Subject
from softaug.evaluation.run import predict
from softaug.metrics import shifted
from softaug.progress import progress
from softaug.training.seeding import mix


def mean_guesses(subject: Subject, visible: float, console: Console) -> Tensor:
    """Mean probabilities [C, C] that the runs give to cropped images of each true class.

    Probabilities, not answers: with 50 images of a class they vary less. A class without
    images has a row of 0.
    """
    num_classes, num, done = len(subject.class_names), len(subject.source.labels), 0
    total = torch.zeros(num_classes, num_classes, dtype=torch.float64)
    with progress(console, num, "images") as show:
        for images, labels in stretches(subject):
            places = Generator().manual_seed(mix(done))
            cropped = shifted(images, visible, generator=places, fill=subject.fill)
            for run in subject.runs:
                total.index_add_(0, labels, predict(run, cropped).cpu().double().softmax(1))
            done += len(images)
            show(done, f"{done} of {num} images")
    count = torch.bincount(subject.source.labels, minlength=num_classes) * len(subject.runs)
    return total / count.clamp_min(1)[:, None]
