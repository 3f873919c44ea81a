import io
from types import SimpleNamespace

import torch
from rich.console import Console

from softaug.lab.curves.measure import ImageOptions, find_subject, mean_guesses
from softaug.lab.evaluation.load_run import TrainedRun
from softaug.lab.training.batches import derive_seed
from softaug.metrics import shift_images


def guesses(folders, visible, images=None):
    subject = find_subject(folders, ImageOptions(images=images, device="cpu"))
    return mean_guesses(subject, visible, Console(file=io.StringIO())), subject


def test_rows_are_mean_probabilities_of_each_true_class(runs):
    found, subject = guesses([runs.held], 0.4)
    places = torch.Generator().manual_seed(derive_seed(0))
    cropped = shift_images(subject.source.images, 0.4, generator=places, fill=subject.fill)
    probabilities = subject.runs[0].predict(cropped).double().softmax(1)
    for label in range(10):
        expected = probabilities[subject.source.labels == label].mean(0)
        torch.testing.assert_close(found[label], expected)


def test_probabilities_are_computed_on_the_cpu(runs, monkeypatch):
    logits = torch.zeros(200, 10)
    elsewhere = SimpleNamespace(cpu=lambda: logits)  # as on a GPU: it must be fetched first
    monkeypatch.setattr(TrainedRun, "predict", lambda run, images: elsewhere)
    found, _ = guesses([runs.held], 0.3)
    torch.testing.assert_close(found, torch.full((10, 10), 0.1, dtype=torch.float64))


def test_whole_images_are_mostly_taken_for_what_they_are(runs):
    found, _ = guesses([runs.held], 1.0)
    assert float(found.diagonal().mean()) > 0.5


def test_several_runs_are_averaged(runs):
    once, _ = guesses([runs.held], 0.3)
    twice, _ = guesses([runs.held, runs.held], 0.3)
    torch.testing.assert_close(once, twice)


def test_a_class_without_images_has_an_empty_row(runs):
    found, subject = guesses([runs.held], 0.3, images=5)
    absent = sorted(set(range(10)) - set(subject.source.labels.tolist()))
    assert absent, "five images cannot show ten classes"
    assert found[absent].sum() == 0
