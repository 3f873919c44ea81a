"""Every suite, tiny: its rows, its bounds, and peers that may be missing."""

import pytest
import torch

from benchmarks import crop as crop_peers
from benchmarks.crop import KEYED, OURS, crop_bounds, crop_suite, scaling_suite
from benchmarks.evaluation import evaluation_suite
from benchmarks.input import NEEDED, PILLOW, input_suite
from benchmarks.loss import dense_divergence, loss_suite, loss_variants, memory_suite, peak_bytes
from benchmarks.pairs import pairs_suite
from benchmarks.timing import CONVERT, MISSING, Timing, normalise
from benchmarks.transforms import noise_erase_suite, policy_suite, two_views_suite
from softaug import SoftLoss
from softaug.label import SoftLabel

TINY = {
    "crop": lambda: crop_suite(2, batch=4),
    "scaling": lambda: scaling_suite(2, batches=(2, 4, 8), edges=(8, 16), sigmas=(0.1, 1.0)),
    "loss": lambda: loss_suite(2, shapes=[(4, 5)]),
    "memory": lambda: memory_suite(1, shape=(8, 50)),
    "noise-erase": lambda: noise_erase_suite(2, batch=4),
    "policy": lambda: policy_suite(2, batch=4),
    "input": lambda: input_suite(2, num=2),
    "two-views": lambda: two_views_suite(2, batch=4),
    "pairs": lambda: pairs_suite(2, num=8, batch=4),
    "evaluation": lambda: evaluation_suite(1, num_test=200, chunk=4),
}


@pytest.mark.parametrize("suite", TINY)
def test_every_suite_gives_a_base_of_1_and_positive_costs(suite):
    for table in TINY[suite]():
        measured = [row for row in table.rows if row.ratio is not None]
        assert len(measured) >= 2
        assert all(row.amount > 0 and row.ratio.median > 0 for row in measured)
        bases = [row for row in measured if row.name == table.per]
        assert all(row.ratio.median == 1 for row in bases)


def test_a_peer_that_is_not_installed_is_a_row_not_an_error(monkeypatch):
    monkeypatch.setattr("benchmarks.timing.find_spec", lambda name: None)
    (table,) = crop_suite(1, batch=2)
    rows = {row.name: row.note for row in table.rows if row.ratio is None}
    assert rows == dict.fromkeys(("torchvision", "kornia", "albumentations"), MISSING)
    assert KEYED in [row.name for row in table.rows]


def test_windows_of_files_are_torchvisions_whatever_is_installed(monkeypatch):
    monkeypatch.delenv("SOFTAUG_PHOTOS", raising=False)
    monkeypatch.setattr("benchmarks.input.is_installed", lambda: False)
    (table,) = input_suite(1, num=3)
    assert "made JPEGs" in table.title
    monkeypatch.setenv("SOFTAUG_PHOTOS", "/nowhere")
    with pytest.raises(ValueError, match="must name a folder of JPEGs, got /nowhere"):
        input_suite(1, num=3)
    assert PILLOW in [row.name for row in table.rows if row.ratio is not None]
    assert [row.note for row in table.rows if row.ratio is None] == [NEEDED, NEEDED]
    assert [(bound.passed, bound.limit) for bound in table.bounds] == [(True, 1.5)]


PEERS = {**crop_peers.PEERS, "plain": crop_peers.plain_loops}


@pytest.mark.parametrize("peer", PEERS)
def test_peers_crop_each_sample_to_the_same_size_with_fill_0(peer):
    if peer in ("kornia", "albumentations"):
        pytest.importorskip(peer)
    images = torch.full((64, 3, 32, 32), 255, dtype=torch.uint8)
    blank, whole = (normalise(torch.full((1, 3, 1, 1), v).byte()) for v in (0, 255))
    for name, call in PEERS[peer](images).items():
        out = call()
        assert out.shape == images.shape, name
        assert out.dtype == torch.float32
        is_blank, is_whole = (out - blank).abs() < 1e-3, (out - whole).abs() < 1e-3
        assert bool((is_blank | is_whole).all()), name
        assert is_whole.float().mean(dim=(1, 2, 3)).unique().numel() > 8, name  # own offsets


def test_the_dense_loss_of_the_comparison_is_our_loss():
    torch.manual_seed(0)
    logits, soft = torch.randn(5, 7), SoftLabel(torch.tensor([0, 1, 2, 3, 6]), torch.rand(5))
    torch.testing.assert_close(dense_divergence(logits, soft), SoftLoss()(logits, soft))


def test_peak_memory_counts_what_is_held_at_once():
    def two_at_once():
        first = torch.ones(1000)
        second = first + 1
        del first
        return second * 2

    assert 8000 <= peak_bytes(two_at_once) < 8100  # scalars are a few bytes each
    assert len({peak_bytes(loss_variants(16, 30)["SoftLoss"]) for _ in range(3)}) == 1


def test_crop_is_held_against_the_fastest_documented_peer():
    slow, fast, hand = "x, as documented", "y, as documented", "z, by hand"
    ours = {CONVERT: [1.0] * 3, OURS: [4.0] * 3, KEYED: [6.0] * 3}
    timing = Timing({**ours, slow: [90.0] * 3, fast: [44.0] * 3, hand: [20.0] * 3})
    documented, most = crop_bounds(timing, [slow, fast, hand])
    assert (documented.rule, documented.value) == (f"{fast} / SoftCrop", 11.0)
    assert documented.passed
    assert (most.value, most.limit, most.passed) == (6.0, 8, True)
    assert [bound.limit for bound in crop_bounds(timing, [])] == [8]
