"""FastNet: whitening filters, what is frozen, how a block begins."""

import torch
import torch.nn.functional as F

from softaug.lab.models import create
from softaug.lab.models.fastnet import FastBlock, compute_whitening


def test_outputs_of_whitening_filters_are_uncorrelated_and_have_mean_square_1():
    generator = torch.Generator().manual_seed(0)
    images = F.avg_pool2d(torch.randn(40, 3, 16, 16, generator=generator), 3, 1)  # smooth
    outputs = F.conv2d(images, compute_whitening(images, eps=0.0)).transpose(0, 1).flatten(1)
    torch.testing.assert_close(
        outputs @ outputs.T / outputs.shape[1], torch.eye(12), atol=1e-4, rtol=0
    )


def test_each_filter_has_its_negative_and_is_not_trained():
    net = create("fastnet", 10)
    net.fit_whitening(torch.rand(8, 3, 16, 16))
    assert torch.equal(net.whiten.weight[:12], -net.whiten.weight[12:])
    net(torch.rand(4, 3, 32, 32)).square().sum().backward()
    frozen = [name for name, part in net.named_parameters() if part.grad is None]
    scales = [f"blocks.{block}.{norm}.weight" for block in range(3) for norm in (2, 5)]
    assert frozen == ["whiten.weight", *scales]


def test_a_block_begins_by_passing_its_inputs_on():
    images = torch.rand(2, 3, 8, 8)
    passed = FastBlock(3, 5)[0](images)
    assert torch.equal(passed[:, :3], images)
