"""The strength reaches loader workers and compiled code."""

import copy
import shutil

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from softaug import DrawKey, Pacer, SoftCrop, SoftErase, SoftNoise
from softaug.pacing import AccuracyLine

LABELS = torch.arange(2)


class Cropped(Dataset):
    def __init__(self, crop):
        self.crop = crop

    def __len__(self):
        return 8

    def __getitem__(self, index):
        key = DrawKey(0, 0, index)
        return self.crop(torch.ones(3, 32, 32), 0, key=key)[1].retained


def kept(crop):
    return [Cropped(crop)[index] for index in range(8)]


def test_workers_that_stay_see_each_new_strength():
    crop = SoftCrop("auto")
    pacer = Pacer(crop, 2, AccuracyLine(), first=0.2, factor=1.15, settle=0)
    loader = DataLoader(
        Cropped(crop), 8, num_workers=1, persistent_workers=True, multiprocessing_context="spawn"
    )
    for sigma in (0.2, 0.2 * 1.15):
        (found,) = loader
        assert found.tolist() == pytest.approx(kept(SoftCrop(sigma)))
        pacer.watch(torch.eye(2), LABELS)
        pacer.next_epoch()


def test_a_copy_of_the_transform_is_paced_with_it():
    crop = SoftCrop("auto")
    pacer = Pacer(crop, 1, AccuracyLine(), first=0.2, factor=1.15, settle=0)
    copied = copy.deepcopy(crop)
    pacer.watch(torch.eye(2), LABELS)
    pacer.next_epoch()
    assert kept(copied) == kept(crop) == pytest.approx(kept(SoftCrop(0.23)))


AUTO = [SoftCrop("auto"), SoftErase(strength="auto"), SoftNoise("auto")]


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler")
@pytest.mark.parametrize("transform", AUTO, ids=lambda transform: transform.name)
def test_a_compiled_transform_is_compiled_once_for_all_strengths(transform):
    torch.compiler.reset()
    times, strengths = [], []

    def backend(graph, _):
        times.append(1)
        return graph.forward

    pacer = Pacer(transform, 4, AccuracyLine(0), settle=0)
    images, key = torch.ones(2, 3, 32, 32), DrawKey(0, 0, LABELS)
    compiled = torch.compile(transform, backend=backend, fullgraph=True)
    for _ in range(4):
        strengths.append(pacer.strength)
        expected = transform(images, LABELS, key=key)
        torch.testing.assert_close(compiled(images, LABELS, key=key), expected)
        pacer.watch(torch.eye(2), LABELS)
        pacer.next_epoch()
    assert times == [1]
    assert len(set(strengths)) == 4
