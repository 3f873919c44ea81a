import math
from dataclasses import dataclass

import pytest
import torch

from softaug.lab.training.distributed import DistContext
from softaug.lab.training.trainer import NonFiniteLossError, Totals, Window

ALONE = DistContext(0, 1, torch.device("cpu"))


def found(*losses, wrong=()):
    flags = [float(place in wrong) for place in range(len(losses))]
    return torch.tensor([losses, flags]).T


def test_totals_are_sums_and_means_over_images():
    together = Totals(3.0, 1.0, 4) + Totals(1.0, 1.0, 4)
    assert together == Totals(4.0, 2.0, 8)
    assert (together.mean_loss, together.mean_other) == (0.5, 0.25)
    assert (Totals().mean_loss, Totals().mean_other) == (0.0, 0.0)


def test_a_window_sums_up_and_is_empty_then():
    window = Window(ALONE)
    window.add(0, torch.tensor([4, 5]), found(1.0, 2.0, wrong=[1]))
    window.add(1, torch.tensor([6]), found(4.0, wrong=[0]))
    assert len(window) == 2
    assert window.close(stop=False, seconds=3.0) == (Totals(7.0, 2.0, 3), False, 1.5)
    assert len(window) == 0


def test_many_small_losses_are_summed_in_double_precision():
    window = Window(ALONE)
    losses = torch.full((3, 100_000, 2), 0.1)
    for step in range(3):
        window.add(step, torch.arange(100_000), losses[step])
    assert window.close(stop=False)[0].mean_loss == pytest.approx(float(losses[0, 0, 0]), rel=1e-12)


def test_a_wish_to_stop_is_passed_on():
    window = Window(ALONE)
    window.add(0, torch.tensor([0]), found(1.0))
    assert window.close(stop=True)[1] is True


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_no_number_names_step_and_samples(value):
    window = Window(ALONE)
    window.add(7, torch.tensor([4, 5]), found(1.0, 2.0))
    window.add(8, torch.tensor([30, 31, 32]), found(value, 1.0, value))
    with pytest.raises(NonFiniteLossError) as refused:
        window.close(stop=False)
    assert str(refused.value) == (
        "train: the loss of every sample must be finite, "
        f"got {value} at step 8 for 2 samples: 30, 32"
    )


def test_of_many_samples_twenty_are_named():
    window = Window(ALONE)
    window.add(0, torch.arange(30), found(*[math.nan] * 30))
    with pytest.raises(NonFiniteLossError, match=r"for 30 samples: 0, 1, .*, 19, \.\.\.$"):
        window.close(stop=False)


@dataclass(frozen=True)
class WithAnother(DistContext):
    """A team whose other process has found `other` and has these bad samples."""

    other: torch.Tensor | None = None
    bad: tuple[int, ...] = ()

    def all_reduce(self, values):
        return values + self.other

    def all_gather_object(self, message):
        return [message, list(self.bad)]


def team(*other, bad=()):
    return WithAnother(0, 2, torch.device("cpu"), torch.tensor(other).double(), bad)


def test_processes_are_summed_and_one_wish_stops_all():
    window = Window(team([5.0, 1.0, 2.0], [1.0, 0.0, 0.0]))
    window.add(0, torch.tensor([0, 1]), found(1.0, 2.0, wrong=[0]))
    assert window.close(stop=False)[:2] == (Totals(8.0, 2.0, 4), True)


def test_a_bad_sample_of_another_process_is_named_here_too():
    window = Window(team([math.nan, 1.0, 2.0], [0.0, 0.0, 0.0], bad=(9,)))
    window.add(0, torch.tensor([0, 1]), found(1.0, 2.0))
    with pytest.raises(NonFiniteLossError, match="at step 0 for 1 samples: 9"):
        window.close(stop=False)


def test_sums_do_not_depend_on_where_windows_end():
    losses = [0.1, 1e9, 0.2, 0.3, 1e-9]
    whole, parts, so_far = Window(ALONE), Window(ALONE), Totals()
    for step, loss in enumerate(losses):
        for window in (whole, parts):
            window.add(step, torch.tensor([step]), found(loss, wrong=[]))
        if step % 2:
            so_far, _, _ = parts.close(stop=False, before=so_far)
    assert parts.close(stop=False, before=so_far)[0] == whole.close(stop=False)[0]
