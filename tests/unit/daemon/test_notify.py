"""What systemd is told, by a socket that stands for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemetry.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        yield listening


def test_lines_reach_the_manager(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).send(READY=1, STATUS="recording cu")
    assert manager.recv(100) == b"READY=1\nSTATUS=recording cu"


def test_an_abstract_address_is_understood() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0kvbench-test-{os.getpid()}")
        Notifier({"NOTIFY_SOCKET": f"@kvbench-test-{os.getpid()}"}).send(WATCHDOG=1)
        assert manager.recv(100) == b"WATCHDOG=1"


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/notify"}])
def test_without_a_manager_nothing_happens(environment: dict[str, str]) -> None:
    Notifier(environment).send(READY=1)


@pytest.mark.parametrize(
    ("rest", "watchdog_ns"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30_000_000_000),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30_000_000_000),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_fed_only_if_it_watches_this_process(rest: dict[str, str], watchdog_ns: int | None) -> None:
    assert Notifier({"NOTIFY_SOCKET": "/nowhere/notify", **rest}).watchdog_ns == watchdog_ns
