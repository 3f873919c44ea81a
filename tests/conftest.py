"""Shared by all tests: GPU tests skip without a GPU, property tests repeat exactly.

One thread a process, also in those that tests start: with two, torch 2.15 was seen to abort
("double free") in the backward pass of tests' tiny networks on a processor with AVX-512.
"""

import os
import signal

os.environ["OMP_NUM_THREADS"] = "1"  # torch reads it when it is imported

import hypothesis
import pytest
import torch

# A suite that a shell starts with & inherits that Ctrl-C is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
hypothesis.settings.register_profile("softaug", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("softaug")


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
