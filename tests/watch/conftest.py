"""Lets the tests import what they share from this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from hand_made import Client, serving


@pytest.fixture
def client(tmp_path):
    """Of a server that watches `tmp_path`."""
    with serving(tmp_path) as server:
        yield Client(server.server_port)
