import pytest
import torch
from torch import Tensor, nn

from softaug.lab.data.images import Images
from softaug.lab.training.demo import evaluate, occluded_accuracy, predict


class Brightness(nn.Module):
    """Says class 1 if any pixel is lit, else class 0; `sharpness` is its confidence."""

    def __init__(self, sharpness: float) -> None:
        super().__init__()
        self.sharpness = sharpness

    def forward(self, images: Tensor) -> Tensor:
        lit = (images > 0).flatten(1).any(1).float()
        return self.sharpness * torch.stack([1 - lit, lit], 1)


def two_kinds() -> Images:
    """Dark images, and images whose top left pixel is lit."""
    images = torch.zeros(40, 1, 10, 10, dtype=torch.uint8)
    images[20:, 0, 0, 0] = 255
    return Images(images, torch.arange(40) // 20)


def test_a_perfect_model() -> None:
    found = evaluate(Brightness(50.0), two_kinds(), occlusion_draws=3, occlusion_fill=0)
    assert found["error"] == 0
    assert found["ece"] == pytest.approx(0, abs=1e-6)
    assert found["gap"] == pytest.approx(0, abs=1e-6)
    assert found["occlusion"]["0"] == 1
    assert found["occlusion"]["0"] > found["occlusion"]["80"] >= 0.5


def test_a_timid_model_has_a_gap_below_zero() -> None:
    found = evaluate(Brightness(1.0), two_kinds(), occlusion_draws=1, occlusion_fill=0)
    assert found["error"] == 0
    assert found["gap"] == pytest.approx(1 / (1 + torch.e**-1) - 1)
    assert found["ece"] == pytest.approx(-found["gap"])


def test_occlusion_is_the_same_every_time_and_averages_its_draws() -> None:
    model, data = Brightness(1.0), two_kinds()
    one = occluded_accuracy(model, data, 0.8, 1, fill=0)
    assert one == occluded_accuracy(model, data, 0.8, 1, fill=0)
    assert occluded_accuracy(model, data, 0.8, 8, fill=0) != one


def test_predictions_do_not_depend_on_the_batch_and_leave_evaluation_mode_on() -> None:
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(100), nn.Linear(100, 2))
    images = torch.rand(7, 1, 10, 10)
    torch.testing.assert_close(predict(model, images, batch=3), predict(model, images))
    assert not model.training
