import pytest
import torch
from tiny_runs import STEPS, tiny

from softaug.lab.data.images import Images
from softaug.lab.recipes import Mix, SigmaLaw
from softaug.lab.training.batches import Batches, on_device, stream
from softaug.lab.training.distributed import DistContext
from softaug.lab.training.setup import load_data

CPU = torch.device("cpu")
DATA = load_data(tiny(), None).train


def make(recipe=None, rank=0, count=1):
    return Batches(recipe or tiny(), DATA, [0.0] * 3, DistContext(rank, count, CPU))


def assert_same(found, expected):
    assert torch.equal(found.images, expected.images)
    assert all(map(torch.equal, found.label, expected.label))
    assert torch.equal(found.sample, expected.sample)
    assert found.num_global == expected.num_global


def joined(parts):
    first = parts[0]
    label = type(first.label)(*map(torch.cat, zip(*(part.label for part in parts), strict=True)))
    images, sample = (torch.cat([getattr(p, name) for p in parts]) for name in ("images", "sample"))
    return first._replace(images=images, label=label, sample=sample)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"augment_policy": "randaugment"},
        {"augment_views": 2, "augment_law": SigmaLaw("mixture")},
        {"mix": Mix("mixup"), "augment_views": 2},
        {"mix": Mix("cutmix")},
    ],
    ids=["crop", "policy", "views", "mixup", "cutmix"],
)
@pytest.mark.parametrize("count", [2, 3])
def test_the_shares_of_many_processes_are_the_batch_of_one(changes, count):
    recipe = tiny(augment_flip=True, **changes)
    shares, whole = [make(recipe, rank, count) for rank in range(count)], make(recipe)
    for step in (0, 2, STEPS):  # the first, an uneven one, and one of the next epoch
        parts = [share[step] for share in shares]
        assert_same(joined(parts), whole[step])
        sizes = [len(part.sample) for part in parts]
        assert max(sizes) - min(sizes) <= 1


def test_an_epoch_sees_every_sample_once_and_the_next_in_another_order():
    batches = make()
    epochs = [[batches[e * STEPS + place] for place in range(STEPS)] for e in (0, 1)]
    seen = [torch.cat([batch.sample for batch in epoch]).tolist() for epoch in epochs]
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(50))
    assert seen[0] != seen[1]
    assert [batch.num_global for batch in epochs[0]] == [20, 20, 10]
    assert len(batches) == 2 * STEPS


def test_two_views_of_each_image_are_side_by_side_the_second_far_at_the_same_cost():
    recipe = tiny(augment_views=2, augment_law=SigmaLaw("mixture", mild=0.0), batch=10)
    batches = make(recipe)
    assert len(batches) == len(make(tiny(batch=10)))
    every = [batches[step] for step in range(len(batches))]
    seen = torch.cat([batch.sample for batch in every])
    assert torch.equal(seen[::2], seen[1::2])
    assert seen.sort().values.tolist() == [place for place in range(50) for _ in range(2)]
    kept = torch.cat([batch.label.retained for batch in every])
    assert bool((kept[::2] == 1).all())
    assert float((kept[1::2] < 1).double().mean()) > 0.8


def test_views_have_draws_of_their_own_and_the_first_is_that_without_views():
    recipe = tiny(augment_views=2, batch=50)
    twice, once = make(recipe)[0], make(tiny(batch=50))[0]
    first = twice.label.retained[::2]
    assert not torch.equal(first, twice.label.retained[1::2])
    alone = dict(zip(once.sample.tolist(), once.label.retained.tolist(), strict=True))
    assert first.tolist() == [alone[place] for place in twice.sample[::2].tolist()]


def test_labels_are_those_of_the_samples():
    batch = make()[1]
    assert torch.equal(batch.label.label, DATA.labels[batch.sample])


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_mixed_batches_hold_the_very_images_and_soft_labels_of_the_step(kind):
    plain, mixed = make()[1], make(tiny(mix=Mix(kind)))[1]
    assert torch.equal(mixed.label.labels[:, 0], plain.label.label)
    assert torch.equal(mixed.label.retained[:, 0], plain.label.retained)
    order = [row.sort().values.tolist() for row in mixed.label.retained.T]
    assert order[0] == order[1]  # partners are a permutation
    torch.testing.assert_close(mixed.label.share.sum(1), torch.ones(20))
    assert not torch.equal(mixed.images, plain.images)


@pytest.mark.parametrize("kind", ["mixup", "cutmix"])
def test_a_schedule_turns_mixing_off_for_the_last_epochs(kind):
    off = (("mix.alpha", 0.0, 0.5),)  # of two epochs
    late, mixed, plain = (
        make(tiny(mix=Mix(kind), augment_schedules=off)),
        make(tiny(mix=Mix(kind))),
        make(),
    )
    assert_same(late[0], mixed[0])
    assert_same(late[STEPS], plain[STEPS])


def by_sample(recipe, epoch):
    batches = make(recipe)
    steps = range(epoch * batches.steps_per_epoch, (epoch + 1) * batches.steps_per_epoch)
    whole = joined([batches[step] for step in steps])
    return whole.images[whole.sample.argsort()]


def test_a_samples_draws_do_not_depend_on_the_batch():
    recipe = tiny(augment_policy="randaugment")
    assert torch.equal(by_sample(recipe, 1), by_sample(tiny(augment=recipe.augment, batch=7), 1))


def test_draws_differ_by_epoch_and_seed():
    first = by_sample(tiny(), 0)
    assert not torch.equal(first, by_sample(tiny(), 1))
    assert not torch.equal(first, by_sample(tiny(seed=1), 0))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a small machine
@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_gives_the_steps_from_the_first_on(workers):
    recipe = tiny(augment_policy="trivialaugment")
    found, batches = list(stream(make(recipe), 2, workers)), make(recipe)
    assert len(found) == len(batches) - 2
    for step, batch in enumerate(found, start=2):
        assert_same(batch, batches[step])


def test_a_batch_is_not_made_by_torchs_generator():
    torch.manual_seed(1)
    first, state = make()[0], torch.get_rng_state()
    make(tiny(augment_policy="randaugment"))[0]
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    assert_same(make()[0], first)


@pytest.mark.parametrize(("batch", "size"), [(1, 1), (49, 1), (2, 2)])
def test_a_step_too_small_for_all_processes_is_refused(batch, size):
    rule = f"each of the 3 processes must get an image in every step, got a step of {size} images"
    with pytest.raises(ValueError, match=rule):
        make(tiny(batch=batch), count=3)


def test_a_batch_larger_than_the_data_is_all_of_it():
    assert make(tiny(batch=1000))[1].num_global == 50


def test_only_images_in_memory_move_to_the_device():
    moved = on_device(DATA, torch.device("meta"))
    assert (moved.images.device.type, moved.labels.device.type) == ("meta", "meta")
    files = object()
    assert on_device(files, torch.device("meta")) is files
    assert isinstance(moved, Images)
