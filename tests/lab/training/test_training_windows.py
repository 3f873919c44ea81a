"""Training on photographs: windows are drawn before decoding, whoever decodes them."""

from dataclasses import replace
from multiprocessing import active_children

import numpy as np
import pytest
import torch
from photos import write_photos
from PIL import Image
from tiny_runs import before_step, rows, run, weights

from softaug import DrawKey
from softaug.lab.recipes import Augment, Cutout, Mix, Noise, NormalWindows, find
from softaug.lab.recipes.augment import WINDOWS_FIRST
from softaug.lab.training.augmentation import Strength, build_transforms
from softaug.lab.training.batches import Batches, apply_transforms
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.setup import load_data

CPU = torch.device("cpu")


def small(root, arm="soft", **data):
    """24 photographs in steps of 10, 10 and 4."""
    recipe = find(f"imagenette-resnet8-s2-{arm}").recipe
    data = replace(recipe.data, name=f"folder:{root}", size=40, **data)
    return replace(recipe, data=data, epochs=2, batch=10)


def batches(recipe, rank=0, count=1):
    data = load_data(recipe, None)
    return Batches(recipe, data.train, data.mean, DistContext(rank, count, CPU))


def cut_whole(found, file, sample, epoch):
    """The window of one file by the transforms themselves, the whole of it decoded."""
    image = torch.from_numpy(np.array(Image.open(file))).permute(2, 0, 1)
    key = DrawKey(found.recipe.seed, epoch, torch.tensor([sample]))
    label = torch.tensor([sample // 8])
    images, label = apply_transforms(found.transforms(epoch), image[None], label, key)
    return images[0], float(label.retained)


@pytest.mark.parametrize("arm", ["soft", "baseline"])
def test_a_batch_is_what_the_transforms_make_of_whole_images(tmp_path, arm):
    files = write_photos(tmp_path)
    found = batches(small(tmp_path, arm))
    for step in (0, 4):
        batch = found[step]
        for place, sample in enumerate(batch.sample.tolist()):
            image, kept = cut_whole(found, files[sample], sample, epoch=step // 3)
            assert torch.equal(batch.images[place], image)
            assert float(batch.label.retained[place]) == pytest.approx(kept)
            assert int(batch.label.label[place]) == sample // 8


def test_windows_are_drawn_at_the_strength_of_each_file(tmp_path):
    files = write_photos(tmp_path)
    found = batches(small(tmp_path))
    own = torch.tensor([1e-3, 0.4], dtype=torch.float64).repeat(12)
    found.strength = Strength(epoch=0, sigma=0.2, k=2.0, per_sample_sigma=own)
    batch = found[0]
    for place, sample in enumerate(batch.sample.tolist()):
        image, kept = cut_whole(found, files[sample], sample, epoch=0)
        assert torch.equal(batch.images[place], image)
        assert float(batch.label.retained[place]) == pytest.approx(kept)
        assert (kept > 0.999) is (sample % 2 == 0)


def test_a_transforms_gives_the_same_however_a_batch_lies_in_memory():
    augment = Augment(
        NormalWindows(),
        policy="randaugment",
        curves="naive",
        noise=Noise(sigma=0.5),
        cutout=Cutout(length=8),
        order=WINDOWS_FIRST,
    )
    transforms = build_transforms(augment, [100.0, 110.0, 120.0], 40)[1:]
    assert len(transforms) == 4
    images = torch.randint(256, (6, 3, 40, 40), generator=torch.Generator().manual_seed(0)).byte()
    key = DrawKey(0, 0, torch.arange(6))
    expected, _ = apply_transforms(transforms, images, torch.arange(6), key)
    beside = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(apply_transforms(transforms, beside, torch.arange(6), key)[0], expected)


def test_processes_read_their_own_part_and_each_sample_once_an_epoch(tmp_path):
    write_photos(tmp_path)
    recipe = small(tmp_path)
    parts, seen = [batches(recipe, rank, 2) for rank in (0, 1)], []
    for step in range(3):
        whole, shares = batches(recipe)[step], [part[step] for part in parts]
        assert torch.equal(torch.cat([share.images for share in shares]), whole.images)
        seen += [sample for share in shares for sample in share.sample.tolist()]
    assert sorted(seen) == list(range(24))


def test_workers_change_nothing(tmp_path):
    write_photos(tmp_path / "photos")
    for workers in (0, 2):
        run(small(tmp_path / "photos"), tmp_path / str(workers), workers=workers)
    assert weights(tmp_path / "0") == weights(tmp_path / "2")


@pytest.fixture
def broken(tmp_path):
    """Photographs of which one ends in the middle."""
    file = write_photos(tmp_path / "photos")[5]
    file.write_bytes(file.read_bytes()[:-200])
    return file


def test_a_broken_file_ends_the_run_by_name(tmp_path, broken):
    with pytest.raises(ValueError, match=str(broken)):
        run(small(tmp_path / "photos"), tmp_path / "run", workers=0)


def test_workers_end_when_one_of_them_refuses_a_file(tmp_path, broken):
    with pytest.raises(ValueError, match=str(broken)) as held:  # and with it, the traceback
        run(small(tmp_path / "photos"), tmp_path / "run", workers=1)
    left = active_children()
    for worker in left:
        worker.kill()  # else a failure here would never end
    assert (left, held.type) == ([], ValueError)


@pytest.mark.parametrize("unreadable", ["refuse", "skip"])
def test_broken_files_that_are_measured_are_refused_before_a_run_begins(tmp_path, unreadable):
    files = write_photos(tmp_path / "photos")
    bad = files[-3:-1]
    for file in bad:
        file.write_bytes(b"")
    rule = rf"photos/val, .* got 2 that cannot: {bad[0]}: an empty file; {bad[1]}: .*; restore"
    with pytest.raises(ValueError, match=rule):
        run(small(tmp_path / "photos", unreadable=unreadable), tmp_path / "run", workers=0)
    assert not (tmp_path / "run").exists()


def test_a_run_whose_share_of_a_step_is_all_broken_ends_with_a_remedy(tmp_path):
    for file in write_photos(tmp_path / "photos")[:24]:
        file.write_bytes(b"")
    with pytest.raises(
        ValueError, match=r"some of 10 files must be .*; `softaug data .* --decode`"
    ):
        run(small(tmp_path / "photos", unreadable="skip"), tmp_path / "run", workers=0)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_broken_file_is_named_once_counted_and_left_out(tmp_path, broken, workers):
    recipe = small(tmp_path / "photos", unreadable="skip")
    result, said = run(recipe, tmp_path / "run", workers=workers)
    assert said.count(str(broken)) == 1
    assert [row["num_skipped"] for row in rows(tmp_path / "run")] == [1, 1]
    assert len(result["skipped"]) == 1
    assert result["skipped"][0].startswith(str(broken))


def test_what_was_skipped_is_known_after_a_crash(tmp_path, broken, monkeypatch):
    recipe = small(tmp_path / "photos", unreadable="skip")
    with monkeypatch.context() as patch:
        before_step(patch, 4, crash)  # in the second epoch
        with pytest.raises(RuntimeError, match="crash"):
            run(recipe, tmp_path / "run", workers=0)
    result, said = run(recipe, tmp_path / "run", workers=0)
    assert "going on from step 3" in said
    assert len(result["skipped"]) == 1
    assert str(broken) not in said


def crash():
    raise RuntimeError("crash")


def test_the_loss_of_a_broken_file_counts_as_nothing(tmp_path, broken):
    """A step's mean is over the images it should have had: their number is known everywhere."""
    found = batches(small(tmp_path / "photos", unreadable="skip"))
    steps = [found[step] for step in range(3)]
    assert [batch.num_global for batch in steps] == [10, 10, 4]
    assert sum(len(batch.images) for batch in steps) == 23
    assert 5 not in torch.cat([batch.sample for batch in steps])
    assert sum(len(batch.unreadable) for batch in steps) == 1


def test_skipping_is_for_windows_that_are_not_mixed(tmp_path):
    recipe = small(tmp_path, unreadable="skip")
    with pytest.raises(ValueError, match='"skip" is for windows that are not mixed, got mixup'):
        replace(recipe, mix=Mix("mixup"))
    offsets = find("cifar100-resnet18-soft").recipe.augment
    with pytest.raises(ValueError, match=r'"skip" is for windows, got augment\.crop NormalOffsets'):
        replace(recipe, augment=offsets)
