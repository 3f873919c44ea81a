from dataclasses import replace

import torch
from tiny_runs import tiny

from softaug.lab.training.batches import epoch_order
from softaug.lab.training.setup import build_net, derive_seed, load_data


def test_the_seeds_are_these_for_ever():
    assert derive_seed(0) == 7210762507766007076
    assert epoch_order(8, seed=0, epoch=0).tolist() == [2, 3, 7, 5, 6, 1, 4, 0]


def test_seeds_differ_and_fit_in_63_bits():
    seeds = [
        derive_seed(*numbers) for numbers in [(0,), (1,), (0, 0), (0, 1), (1, 0), (12, 3), (1, 23)]
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_orders_hold_every_sample_and_differ_by_epoch_and_seed():
    orders = [epoch_order(50, seed, epoch).tolist() for seed in (0, 1) for epoch in (0, 1)]
    assert all(sorted(order) == list(range(50)) for order in orders)
    assert len(set(map(tuple, orders))) == 4


def test_torchs_generator_is_left_alone():
    before = torch.get_rng_state()
    epoch_order(50, 0, 0)
    assert torch.equal(torch.get_rng_state(), before)


def test_whitening_filters_are_those_of_the_training_images_for_any_seed():
    recipe, other = tiny(model="fastnet"), tiny(model="fastnet", data_seed=1)
    data = load_data(recipe, None)
    first, second = (build_net(replace(recipe, seed=seed), data).net for seed in (0, 1))
    assert torch.equal(first.whiten.weight, second.whiten.weight)
    assert not torch.equal(first.linear.weight, second.linear.weight)
    third = build_net(other, load_data(other, None)).net
    assert not torch.equal(third.whiten.weight, first.whiten.weight)
