import pytest
import torch
from torch import nn

from softaug.lab.models import Standardise, resnet8
from softaug.lab.models.resnet import BasicBlock


@pytest.mark.parametrize(("channels", "size", "width"), [(1, 16, 8), (3, 32, 16), (3, 9, 4)])
def test_logits_for_any_channels_and_size(channels, size, width) -> None:
    model = resnet8(10, channels=channels, width=width)
    assert model(torch.randn(2, channels, size, size)).shape == (2, 10)


def test_parameters_by_hand() -> None:
    def block(inputs: int, outputs: int, projected: bool) -> int:
        convolutions = 9 * inputs * outputs + 9 * outputs * outputs + 4 * outputs
        return convolutions + projected * (inputs * outputs + 2 * outputs)

    stem = 9 * 3 * 16 + 2 * 16
    blocks = block(16, 16, False) + block(16, 32, True) + block(32, 64, True)
    expected = stem + blocks + 64 * 10 + 10
    assert sum(part.numel() for part in resnet8(10).parameters()) == expected


def test_eight_weighted_layers() -> None:
    layers = [m for m in resnet8(10).modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    main = [m for m in layers if isinstance(m, nn.Linear) or m.kernel_size == (3, 3)]
    assert len(main) == 8


def test_a_block_with_silent_convolutions_is_relu_of_its_input() -> None:
    block = BasicBlock(4, 4, stride=1).eval()
    nn.init.zeros_(block.conv2.weight)
    x = torch.randn(2, 4, 5, 5)
    assert torch.equal(block(x), x.relu())


def test_a_block_with_stride_halves_the_image() -> None:
    assert BasicBlock(4, 8, stride=2)(torch.randn(2, 4, 16, 16)).shape == (2, 8, 8, 8)


def test_activations_neither_vanish_nor_explode_at_the_start() -> None:
    torch.manual_seed(0)
    logits = resnet8(10, channels=1, width=8)(torch.randn(64, 1, 16, 16))
    assert 0.05 < float(logits.detach().std()) < 5


def test_every_parameter_gets_a_gradient() -> None:
    model = resnet8(10, channels=1, width=8)
    model(torch.randn(4, 1, 16, 16)).square().sum().backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in model.parameters())


def test_standardised_images_have_mean_0_and_sd_1() -> None:
    images = torch.randint(256, (50, 3, 8, 8), dtype=torch.uint8)
    out = Standardise.of(images)(images)
    assert torch.allclose(out.mean((0, 2, 3)), torch.zeros(3), atol=1e-4)
    assert torch.allclose(out.std((0, 2, 3)), torch.ones(3), atol=1e-4)
