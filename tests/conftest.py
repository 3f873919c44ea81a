"""Shared by all tests: GPU tests skip without a GPU, property tests repeat exactly."""

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("softaug", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("softaug")


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
