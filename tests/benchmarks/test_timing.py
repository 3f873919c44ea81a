import pytest
import torch

from benchmarks.timing import Spread, Timing, interleave, spread


def test_ratio_compares_within_each_round():
    timing = Timing({"a": [2.0, 20.0, 4.0], "b": [1.0, 10.0, 1.0]})
    assert timing.ratio("a", "b") == Spread(median=2.0, low=2.0, high=3.0)
    assert timing.median("a") == 4.0


def test_spread_of_one_round_is_that_value():
    assert spread([1.5]) == Spread(1.5, 1.5, 1.5)


def test_variants_take_turns_in_every_round():
    calls = []
    variants = {name: lambda name=name: calls.append(name) for name in "ab"}
    timing = interleave(variants, rounds=3, sample_seconds=0)
    assert "".join(calls)[-6:] == "ababab"
    assert [len(seconds) for seconds in timing.seconds.values()] == [3, 3]


def test_timing_uses_one_thread_and_gives_the_others_back():
    before, seen = torch.get_num_threads(), []
    interleave({"a": lambda: seen.append(torch.get_num_threads())}, rounds=1, sample_seconds=0)
    assert set(seen) == {1}
    assert torch.get_num_threads() == before


def test_thread_count_comes_back_after_an_error():
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError):
        interleave({"a": lambda: 1 / 0}, rounds=1)
    assert torch.get_num_threads() == before
