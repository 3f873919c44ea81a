"""Puzzle Mix and Co-Mixup against exhaustive search, and what they promise of images and labels."""

import itertools

import pytest
import torch

from softaug import DrawKey, SoftLabel, SoftLoss
from softaug.saliency_mixing import (
    CoMixup,
    CoParams,
    PuzzleMix,
    grid_edges,
    labeling_cost,
    minimize_by_swaps,
    move_blocks,
    pool_saliency,
    saliency_maps,
)

KEY = DrawKey(seed=1, epoch=0, index=3)


def random_problem(num, labels, seed):
    draws = torch.Generator().manual_seed(seed)
    unary = torch.rand(num * num, labels, generator=draws, dtype=torch.float64)
    values = torch.linspace(0, 1, labels, dtype=torch.float64)
    edges = grid_edges(num)
    scale = torch.rand(len(edges), 1, 1, generator=draws, dtype=torch.float64)
    return unary, edges, scale * (values[:, None] - values).square()


def least_cost(unary, edges, pairwise):
    every = itertools.product(range(unary.shape[1]), repeat=len(unary))
    return min(labeling_cost(unary, edges, pairwise, torch.tensor(one)) for one in every)


@pytest.mark.parametrize("seed", range(5))
def test_with_two_labels_swaps_find_the_least_cost_of_all_labelings(seed):
    problem = random_problem(3, 2, seed)
    found = minimize_by_swaps(*problem, labels=torch.zeros(9, dtype=torch.int64))
    assert labeling_cost(*problem, found) == pytest.approx(least_cost(*problem))


def test_with_three_labels_swaps_come_near_the_least_cost_and_never_raise_it():
    for seed in range(3):
        problem = random_problem(2, 3, seed)
        start = torch.tensor([0, 2, 1, 2])
        found = labeling_cost(*problem, minimize_by_swaps(*problem, labels=start))
        assert least_cost(*problem) - 1e-9 <= found <= labeling_cost(*problem, start)
        assert found == pytest.approx(least_cost(*problem), abs=0.1)


def two_spots():
    """Two dark images with one bright salient spot each, at different places."""
    images = torch.zeros(2, 3, 8, 8, dtype=torch.uint8)
    images[0, :, :4, :4], images[1, :, 4:, 4:] = 200, 100
    return images, images[:, 0].float()


def find_pairs(mix, images, saliency):
    """Parameters of a draw in which the images are not mixed with themselves."""
    for step in range(20):
        params = mix.draw(images, saliency, key=KEY._replace(index=step))
        if params.partner.tolist() == [1, 0]:
            return params
    raise AssertionError


def test_a_mixed_pair_shows_what_is_salient_of_both():
    images, saliency = two_spots()
    mix = PuzzleMix(blocks=[2], levels=1, beta=0.1, gamma=0.0, eta=0.0, xi=10.0)
    params = find_pairs(mix, images, saliency)
    mixed = mix.apply(images, params)
    assert bool((mixed[0, :, :4, :4] == 200).all())
    assert bool((mixed[0, :, 4:, 4:] == 100).all())
    still = torch.arange(4).expand(2, 2, 4)
    assert torch.equal(params.moves, still)  # moving is dear


def test_transport_brings_what_is_hidden_to_where_it_is_shown():
    saliency = torch.tensor([[4.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    shown = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    assert int(PuzzleMix(xi=0.1)._move(shown, saliency)[3]) == 0
    assert PuzzleMix(xi=10.0)._move(shown, saliency).tolist() == [0, 1, 2, 3]
    far = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]).double()
    draws = torch.Generator().manual_seed(0)
    for _ in range(5):
        shown, saliency = (torch.rand(4, generator=draws).double() for _ in range(2))

        def gain(move, shown=shown, saliency=saliency):
            index = torch.tensor(move)
            return float((shown * saliency[index] - 0.8 * far[torch.arange(4), index]).sum())

        found = PuzzleMix()._move(shown.view(2, 2), saliency.view(2, 2)).tolist()
        assert gain(found) == pytest.approx(max(map(gain, itertools.permutations(range(4)))))


def test_labels_may_be_soft_and_shares_are_those_of_the_mask():
    draws = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (6, 3, 16, 16), dtype=torch.uint8, generator=draws)
    label = SoftLabel(torch.tensor([0, 1, 2, 0, 1, 2]), torch.linspace(0.5, 1, 6))
    maps, mix = torch.rand(6, 16, 16, generator=draws), PuzzleMix()
    mixed, found = mix(images, label, maps, key=KEY)
    params = mix.draw(images, maps, key=KEY)
    torch.testing.assert_close(found.share[:, 0], 1 - params.mask.mean((1, 2)))
    assert torch.equal(found.retained[:, 1], label.retained[params.partner])
    assert (mixed.dtype, mixed.shape) == (images.dtype, images.shape)
    assert SoftLoss()(torch.zeros(6, 3), found).isfinite()
    again, _ = mix(images, label, maps, key=KEY)
    assert torch.equal(mixed, again)


def test_moved_blocks_are_a_permutation_of_the_pixels():
    image = torch.arange(32.0).view(1, 2, 4, 4)
    moves = torch.tensor([[2, 0, 3, 1]])
    moved = move_blocks(image, moves, 2)
    assert torch.equal(moved[0, :, :2, :2], image[0, :, 2:, :2])
    assert torch.equal(move_blocks(moved, moves.argsort(1), 2), image)


def test_saliency_leaves_weights_and_statistics_alone():
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).train()
    before = network[1].running_mean.clone()
    images = torch.randint(0, 256, (2, 3, 8, 8), dtype=torch.uint8)
    maps = saliency_maps(lambda pixels: network(pixels).square().mean((1, 2, 3)), images, network)
    assert maps.shape == (2, 8, 8)
    assert float(maps.min()) >= 0
    assert network.training
    assert network[0].weight.grad is None
    assert torch.equal(network[1].running_mean, before)


def test_bad_settings_and_missing_solvers_are_refused(monkeypatch):
    images, saliency = two_spots()
    with pytest.raises(ValueError, match=r"PuzzleMix: one of blocks \(5,\) must divide both edges"):
        PuzzleMix(blocks=[5])(images, torch.zeros(2, dtype=torch.int64), saliency)
    with pytest.raises(ValueError, match=r"PuzzleMix: saliency must be \[2, 8, 8\]"):
        PuzzleMix()(images, torch.zeros(2, dtype=torch.int64), saliency[:1])
    monkeypatch.setitem(__import__("sys").modules, "maxflow", None)
    with pytest.raises(ValueError, match=r"maxflow must be installed.*softaug\[lab\]"):
        PuzzleMix()(images, torch.zeros(2, dtype=torch.int64), saliency)


def co_cost(mix, saliency, prior, source):
    """Co-Mixup's objective, as its docstring has it."""
    num, size = source.shape[0], source.shape[-1]
    shares = torch.nn.functional.one_hot(source.flatten(1), num).double().mean(1)
    total = 0.0
    for output in range(num):
        for row, column in itertools.product(range(size), repeat=2):
            shown = int(source[output, row, column])
            own = saliency[shown, row, column] + mix.eta * prior[output, shown]
            right = column + 1 < size and shown != int(source[output, row, column + 1])
            below = row + 1 < size and shown != int(source[output, row + 1, column])
            total += (-float(own) + mix.beta * (right + below)) / size**2
    met = shares @ mix._compatibility(saliency) @ shares.T
    return total + mix.gamma * max(num * mix.tau, float(met.sum() - met.diagonal().sum()))


@pytest.mark.parametrize("tau", [0.0, 0.5])
def test_co_mixup_comes_near_the_best_of_all_ways_to_choose(tau):
    mix = CoMixup(10, blocks=(2,), tau=tau, cycles=4)
    draws = torch.Generator().manual_seed(0)
    for _ in range(4):
        saliency = pool_saliency(torch.rand(2, 2, 2, generator=draws) ** 3, 2)
        prior = torch.rand(2, 2, generator=draws).double().softmax(1).log()
        every = itertools.product(range(2), repeat=8)
        ways = [co_cost(mix, saliency, prior, torch.tensor(way).view(2, 2, 2)) for way in every]
        found = co_cost(mix, saliency, prior, mix.choose(saliency, prior))
        first = co_cost(mix, saliency, prior, torch.arange(2).view(2, 1, 1).repeat(1, 2, 2))
        assert min(ways) - 1e-9 <= found <= min(ways) + 0.3 * (max(ways) - min(ways))
        assert found <= first + 1e-9 or tau > 0  # below tau a step may pass it


def test_co_mixup_shows_each_image_s_own_pixels_and_its_label_is_their_mean():
    draws = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (6, 3, 16, 16), dtype=torch.uint8, generator=draws)
    label = SoftLabel(torch.tensor([0, 1, 2, 3, 1, 2]), torch.linspace(0.5, 1, 6))
    maps, mix = torch.rand(6, 16, 16, generator=draws) ** 8, CoMixup(5, part=4)
    params = mix.draw(images, maps, key=KEY)
    outputs, found = mix(images, label, maps, key=KEY)
    assert int((params.share > 0).sum()) > 6
    assert float(params.share[:4, 4:].max()) == 0  # of another part
    for row in range(6):
        source = params.source[row, 2, 1]
        assert torch.equal(outputs[row, :, 8:12, 4:8], images[source, :, 8:12, 4:8])
    target = sum(s[:, None] * label.dense(5)[i] for i, s in enumerate(params.share.T))
    torch.testing.assert_close(found.dense(5), target)
    weights = params.share @ label.confidence(5)
    torch.testing.assert_close(found.confidence(5), weights)
    assert SoftLoss()(torch.zeros(6, 5), found).isfinite()


def test_labels_without_anything_retained_and_foreign_classes():
    share = torch.full((2, 2), 0.5)
    params = CoParams(torch.zeros(2, 2, 2, dtype=torch.int64), share)
    blank = SoftLabel(torch.tensor([0, 1]), torch.zeros(2))
    found = CoMixup(3).report(blank, params)
    torch.testing.assert_close(found.dense(3), torch.full((2, 3), 1 / 3))
    with pytest.raises(ValueError, match=r"CoMixup: labels must be in 0\.\.2, got 3"):
        CoMixup(3).report(torch.tensor([0, 3]), params)
