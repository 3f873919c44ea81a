"""Addresses where no Ray cluster answers are refused soon, whatever is there instead."""

import socket
import threading
import time

import pytest
from ray_runs import OPTIONS, grid_run

from softaug.lab.reproduce import ray as ray_address
from softaug.lab.reproduce.ray import (
    CONNECT_SECONDS,
    JOIN_SECONDS,
    check_address,
    check_joins,
    run_on_ray,
)


@pytest.fixture
def silent():
    """The address of something that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_closed_port_is_refused_at_once(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(ValueError, match=f"must answer at {address}, got .*refused.*ray start"):
        list(run_on_ray([grid_run(tmp_path)], OPTIONS, address=address))


def test_a_name_that_is_slow_to_look_up_is_refused_in_time(monkeypatch):
    never = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: never.wait(60) and [])
    monkeypatch.setattr(ray_address, "CONNECT_SECONDS", 0.5)
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"at slow:6379, got no answer within 0.5 s; .*ray start"):
        check_address("slow:6379")
    assert time.monotonic() - began < 10
    never.set()


def test_a_name_that_cannot_be_one_is_refused():
    with pytest.raises(ValueError, match=r"must answer at a\.\.b:6379, got .*label.*; start it"):
        check_address("a..b:6379")


def test_what_is_no_ray_is_refused_in_time(silent, monkeypatch):
    assert CONNECT_SECONDS + JOIN_SECONDS < 15
    monkeypatch.setattr(ray_address, "JOIN_SECONDS", 2)
    check_address(silent)
    began = time.monotonic()
    with pytest.raises(ValueError, match=r"must let us join within 2 s, got .*ray start"):
        check_joins(silent)
    assert time.monotonic() - began < 60  # Ray itself goes on for more than 100 s


def test_what_ray_says_is_told(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "head")  # which is what "auto" stands for then
    with pytest.raises(ValueError, match=r"must let us join, got .*Invalid address format: head"):
        check_joins("auto")


@pytest.mark.parametrize("address", ["head", "head:", ":6379", "head:port", "head:70000", ""])
def test_an_address_has_a_host_and_a_port(address):
    with pytest.raises(ValueError, match="must be HOST:PORT"):
        check_address(address)


def test_ray_clients_are_refused_with_a_reason():
    with pytest.raises(ValueError, match="lost too easily"):
        check_address("ray://head:10001")
