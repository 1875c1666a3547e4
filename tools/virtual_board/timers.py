"""Callbacks at absolute instants."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

Callback = Callable[[int], None]
"""Called with the instant it was due, which may have passed."""


class Timers:
    """A heap of callbacks; equal instants keep their order of entry."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callback]] = []
        self._order = count()

    def at(self, due_ns: int, callback: Callback) -> None:
        """Call back once at or after `due_ns`."""
        heapq.heappush(self._heap, (due_ns, next(self._order), callback))

    def next_due_ns(self) -> int | None:
        """When the earliest callback is due."""
        return self._heap[0][0] if self._heap else None

    def run_due(self, now_ns: int) -> None:
        """Call everything due by `now_ns`, earliest first, also what those calls add."""
        while self._heap and self._heap[0][0] <= now_ns:
            due_ns, _, callback = heapq.heappop(self._heap)
            callback(due_ns)
