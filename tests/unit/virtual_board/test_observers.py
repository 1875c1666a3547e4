"""CPU time of observers is collected from real processes; that of workloads is not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from virtual_board import clock
from virtual_board.observers import Observers, children

SPIN_SECONDS = 0.2
SPIN = f"""
import sys, time
print("up", flush=True)
sys.stdin.readline()
end = time.process_time() + {SPIN_SECONDS}
while time.process_time() < end: pass
print("done", flush=True)
sys.stdin.readline()
"""


class Spinner:
    """A child that uses a known CPU time when told."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SPIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._read()

    def spin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self._read()

    def close(self) -> None:
        self.process.communicate()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.readline()


@contextmanager
def spinner(environment: dict[str, str]) -> Iterator[Spinner]:
    child = Spinner(environment)
    yield child
    child.close()


def charged_seconds(environment: dict[str, str], is_client: bool = False) -> float:
    """What is collected from this process and a spinning child, less this process's own time."""
    with spinner(environment) as child:
        pid = child.process.pid
        observers = Observers(os.getpid(), -1, lambda other: is_client and other == pid, b"BOARD=/mine")
        for _ in range(4):
            observers.spent_ns()
        own_ns = clock.process_cpu_ns(os.getpid())
        child.spin()
        total_ns = observers.spent_ns()
        return (total_ns - (clock.process_cpu_ns(os.getpid()) - own_ns)) * 1e-9


def test_a_process_below_the_opener_is_charged_what_it_used() -> None:
    assert charged_seconds({}) == pytest.approx(SPIN_SECONDS, abs=0.03)


def test_a_process_started_with_the_boards_environment_runs_models_and_is_not_charged() -> None:
    assert charged_seconds({"BOARD": "/mine"}) == pytest.approx(0, abs=0.03)


def test_a_client_of_the_socket_is_not_charged() -> None:
    assert charged_seconds({}, is_client=True) == pytest.approx(0, abs=0.03)


def test_the_environment_of_another_board_is_no_workload_here() -> None:
    assert charged_seconds({"BOARD": "/other"}) == pytest.approx(SPIN_SECONDS, abs=0.03)


def test_children_of_a_process_are_found() -> None:
    with spinner({}) as child:
        assert child.process.pid in children(os.getpid())
