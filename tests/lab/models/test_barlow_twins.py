import json
import math
import subprocess
import sys

import pytest
import torch
from torch import nn

from softaug.lab.models import BarlowTwins, barlow_twins_loss, cross_correlation

NUM, SIZE = 12, 5


def features(num=NUM, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(num, SIZE, generator=generator, dtype=dtype) + 3
    second = first + 0.5 * torch.randn(num, SIZE, generator=generator, dtype=dtype)
    return first, second


def weights(num=NUM):
    return torch.rand(num, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 0.1


def usual_loss(z1, z2, redundancy=0.005):
    """As the paper's pseudo-code has it, with BatchNorm."""
    norm = nn.BatchNorm1d(z1.shape[1], affine=False, dtype=z1.dtype)
    c = norm(z1).T @ norm(z2) / len(z1)
    off = ~torch.eye(len(c), dtype=torch.bool)
    return (c.diagonal() - 1).pow(2).sum() + redundancy * c[off].pow(2).sum()


@pytest.mark.parametrize("given", [None, torch.ones(NUM), torch.full((NUM,), 0.3)], ids=str)
def test_equal_weights_give_the_usual_loss(given):
    z1, z2 = features()
    torch.testing.assert_close(barlow_twins_loss(z1, z2, given), usual_loss(z1, z2))


def test_a_pair_of_weight_0_does_not_exist():
    z1, z2 = features()
    given = torch.ones(NUM)
    given[[2, 7]] = 0
    kept = given > 0
    z1[2], z2[7] = 1e4, -1e4
    found = barlow_twins_loss(z1, z2, given)
    torch.testing.assert_close(found, usual_loss(z1[kept], z2[kept]))


def test_a_pair_of_weight_3_is_there_three_times():
    z1, z2 = features()
    counts = torch.tensor([3, 1, 2] * 4)
    repeated = [z.repeat_interleave(counts, dim=0) for z in (z1, z2)]
    torch.testing.assert_close(barlow_twins_loss(z1, z2, counts.double()), usual_loss(*repeated))


def slow_correlation(z1, z2, given):
    """Each entry by itself."""
    total, out = sum(given), torch.empty(SIZE, SIZE, dtype=torch.float64)

    def centred(column):
        mean = sum(w * x for w, x in zip(given, column, strict=True)) / total
        return [x - mean for x in column]

    columns = [[centred(column) for column in z.T.tolist()] for z in (z1, z2)]
    for i, a in enumerate(columns[0]):
        for j, b in enumerate(columns[1]):
            mean = [
                sum(w * x * y for w, x, y in zip(given, *pair, strict=True)) / total
                for pair in ((a, b), (a, a), (b, b))
            ]
            out[i, j] = mean[0] / math.sqrt((mean[1] + 1e-5) * (mean[2] + 1e-5))
    return out


def test_correlation_is_that_of_a_slow_loop():
    z1, z2 = features()
    found = cross_correlation(z1, z2, weights())
    torch.testing.assert_close(found, slow_correlation(z1, z2, weights().tolist()))


def test_the_loss_is_0_for_equal_views_of_independent_dimensions():
    z = 100 * torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert float(barlow_twins_loss(z, z)) == pytest.approx(0, abs=1e-6)
    assert float(barlow_twins_loss(z, z.flip(1), redundancy=0.1)) == pytest.approx(2.2, abs=1e-3)


def test_gradients_are_right_also_where_a_weight_is_0():
    z1, z2 = (z.requires_grad_() for z in features())
    given = weights()
    given[3] = 0
    assert torch.autograd.gradcheck(lambda a, b: barlow_twins_loss(a, b, given), (z1, z2))
    barlow_twins_loss(z1, z2, given).backward()
    assert z1.grad[3].abs().max() == 0 < z1.grad[4].abs().max()


def test_all_zero_weights_and_constant_features_give_no_nan():
    z1, z2 = (z.requires_grad_() for z in features())
    loss = barlow_twins_loss(z1, z2, torch.zeros(NUM))
    loss.backward()
    assert (loss.item(), float(z1.grad.abs().max())) == (SIZE, 0)
    assert float(barlow_twins_loss(torch.ones(4, SIZE), torch.ones(4, SIZE))) == SIZE


def test_autocast_does_not_touch_the_correlation():
    z1, z2 = features(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = cross_correlation(z1, z2)
    assert torch.equal(found, cross_correlation(z1, z2))


def test_the_network_gives_projections_of_both_views():
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(12, 6))
    model = BarlowTwins(backbone, 6, hidden=8).eval()
    first, second = torch.randn(2, 4, 3, 2, 2).unbind(0)
    z1, z2 = model(first, second)
    assert torch.equal(z2, model.projector(backbone(second)))
    assert z1.shape == (4, 8)
    kinds = [type(part).__name__ for part in model.projector]
    assert kinds == ["Linear", "BatchNorm1d", "ReLU"] * 2 + ["Linear"]


ONE_OF_TWO_PROCESSES = """
import json, sys
import torch, torch.distributed as dist
from softaug.models import barlow_twins_loss

rank, where, given = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
dist.init_process_group("gloo", init_method="file://" + where, rank=rank, world_size=2)
z1, z2, weights = (torch.tensor(part, dtype=torch.float64) for part in given)
mine = slice(0, 4) if rank == 0 else slice(4, None)
weight = torch.eye(3, 5, dtype=torch.float64, requires_grad=True)
loss = barlow_twins_loss(z1[mine] @ weight.T, z2[mine] @ weight.T, weights[mine])
loss.backward()
dist.all_reduce(weight.grad)  # averaged, as DistributedDataParallel does
print(json.dumps([loss.item(), (weight.grad / 2).tolist()]))
dist.destroy_process_group()
"""


def test_two_processes_learn_as_one_does_from_the_joined_batch(tmp_path):
    z1, z2 = features()
    given = json.dumps([part.tolist() for part in (z1, z2, weights())])
    command = [sys.executable, "-c", ONE_OF_TWO_PROCESSES]
    started = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store"), given], stdout=subprocess.PIPE, text=True
        )
        for rank in range(2)
    ]
    found = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    weight = torch.eye(3, 5, dtype=torch.float64, requires_grad=True)
    loss = barlow_twins_loss(z1 @ weight.T, z2 @ weight.T, weights())
    loss.backward()
    for value, gradient in found:
        assert value == pytest.approx(loss.item())
        torch.testing.assert_close(torch.tensor(gradient, dtype=torch.float64), weight.grad)


Z = torch.ones(3, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Z, Z[:2]), r"z2 must have the shape of z1, \[3, 4\]"),
        ((Z[0], Z[0]), r"z1 must be a floating-point tensor \[B, D\]"),
        ((Z, Z.long()), "z2 must be a floating-point tensor"),
        ((Z, Z, torch.ones(3, 1)), r"weights must be a tensor \[B\] .* 3 pairs"),
        ((Z, Z, torch.tensor([1.0, -0.5, 1.0])), "weights must be >= 0, got -0.5"),
        ((Z, Z, torch.tensor([1.0, math.nan, 1.0])), "weights must be >= 0, got nan"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=f"cross_correlation: {message}"):
        cross_correlation(*arguments)
