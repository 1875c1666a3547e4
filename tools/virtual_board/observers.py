"""Real CPU time of the processes that observe the board, to be charged to its cores.

Whoever opened the board and all processes below it observe, except the board itself and whatever runs models: those
that said so on the board's socket, and those that were started with the board's environment.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from virtual_board import clock


@dataclass
class _Seen:
    cpu_ns: int
    """CPU time up to the last look."""
    looks: int = 0
    works: bool = False
    """Runs models: never charged, nor anything below it."""


class Observers:
    """The process tree below one process, looked at now and then."""

    def __init__(self, parent: int, board: int, is_client: Callable[[int], bool], mark: bytes) -> None:
        self._parent = parent
        self._board = board
        self._is_client = is_client
        self._mark = mark
        """Something that the environment of workload processes holds and no other does."""
        self._seen: dict[int, _Seen] = {}

    def spent_ns(self) -> int:
        """CPU time since the last call; that of a process in its last moments is lost."""
        total_ns, alive = 0, {}
        todo = [self._parent]
        while todo:
            pid = todo.pop()
            if pid == self._board:
                continue
            try:
                cpu_ns = clock.process_cpu_ns(pid)
            except OSError:
                continue
            # A process is new until its second look: between fork and exec it still has its parent's environment.
            seen = alive[pid] = self._seen.get(pid) or _Seen(cpu_ns)
            seen.looks += 1
            if pid != self._parent and (seen.looks <= 3 or self._is_client(pid)):
                seen.works = seen.works or self._is_client(pid) or self._was_told(pid)
            if seen.works:
                seen.cpu_ns = cpu_ns
                continue
            if seen.looks > 1:
                total_ns += cpu_ns - seen.cpu_ns
                seen.cpu_ns = cpu_ns
            todo += children(pid)
        self._seen = alive
        return total_ns

    def _was_told(self, pid: int) -> bool:
        try:
            return self._mark in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False


def children(pid: int) -> list[int]:
    """Processes started by any thread of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  (names, ten times a second)
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:  # noqa: PTH123
                found += map(int, file.read().split())
    return found
