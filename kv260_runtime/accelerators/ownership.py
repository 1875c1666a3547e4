"""A runner belongs to one thread at a time; whoever else uses it is told so instead of corrupting memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kv260_runtime.errors import ExitCode, KvbenchError


class WrongThread(KvbenchError, RuntimeError):
    """A runner was used by a thread that does not own it; a fault of the program."""

    exit_code = ExitCode.SOFTWARE


class RunnerClosed(KvbenchError, RuntimeError):
    """A runner was used after `close`; a fault of the program."""

    exit_code = ExitCode.SOFTWARE


class Owned:
    """What all runners share: their owner, and that they are open.

    The vendor keeps a runner's buffers in a map by runner and job, so two threads in one runner overwrite each other's
    (board.md section 5.2).
    """

    def __init__(self) -> None:
        self._owner = threading.current_thread()
        self._is_used = False
        self._is_closed = False

    def adopt(self) -> None:
        """Make the calling thread the owner. Raises WrongThread while another one uses the runner."""
        if self._is_used and self._owner is not threading.current_thread():
            raise WrongThread(f"thread {self._owner.name!r} is using this runner: open one for each thread")
        self._owner = threading.current_thread()

    @contextmanager
    def _use(self) -> Iterator[None]:
        """Around everything that touches the vendor's runner."""
        current = threading.current_thread()
        if self._owner is not current:
            raise WrongThread(
                f"this runner belongs to thread {self._owner.name!r}, not {current.name!r}: open one for each thread"
            )
        if self._is_closed:
            raise RunnerClosed("this runner is closed")
        self._is_used = True
        try:
            yield
        finally:
            self._is_used = False
