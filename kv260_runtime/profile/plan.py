"""The order of runs: smoke runs first, then formal runs so arranged that drift hits every model alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Order = Literal["alternate", "abba", "sequential"]
ORDERS: tuple[Order, ...] = ("alternate", "abba", "sequential")
Phase = Literal["smoke", "formal"]


@dataclass(frozen=True)
class PlannedRun:
    """One run to be made."""

    model: int
    """Index of the model in the command line's order."""
    phase: Phase
    index: int
    """Number of the run within its phase and model, from 0."""


def plan_runs(models: int, runs: int, smoke: int, order: Order) -> list[PlannedRun]:
    """All runs in order: every model's smoke runs, then `runs` formal runs of each.

    `alternate` is A B A B (the paper, section 2.5), `abba` A B B A A B (a linear drift cancels within two rounds),
    `sequential` A A B B.
    """
    warm = [PlannedRun(model, "smoke", index) for model in range(models) for index in range(smoke)]
    return warm + [PlannedRun(model, "formal", index) for model, index in _formal(models, runs, order)]


def _formal(models: int, runs: int, order: Order) -> Iterator[tuple[int, int]]:
    if order == "sequential":
        yield from ((model, index) for model in range(models) for index in range(runs))
        return
    for index in range(runs):
        forward = order == "alternate" or index % 2 == 0
        for model in range(models) if forward else reversed(range(models)):
            yield model, index
