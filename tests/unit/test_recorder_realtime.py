"""Priority and pinning: what was obtained is what is said."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from telemetry.realtime import PRIORITY, apply_affinity, apply_realtime


def in_a_thread(action: Callable[[], object]) -> object:
    """Scheduling is a property of a thread, so the suite's own is left alone."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


def test_what_is_said_is_what_the_system_says() -> None:
    def action() -> tuple[str, int, int]:
        said = apply_realtime(True)
        return said, os.sched_getscheduler(0), os.sched_getparam(0).sched_priority

    said, policy, priority = in_a_thread(action)  # type: ignore[misc]

    if policy == os.SCHED_FIFO:
        assert (said, priority) == (f"SCHED_FIFO {PRIORITY}", PRIORITY)
    else:
        assert said == "SCHED_OTHER: SCHED_FIFO is not permitted (EPERM): needs CAP_SYS_NICE or LimitRTPRIO"


def test_not_permitted_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)

    assert apply_realtime(True) == (
        "SCHED_OTHER: SCHED_FIFO is not permitted (EPERM): needs CAP_SYS_NICE or LimitRTPRIO"
    )


def test_not_asked_for_changes_nothing() -> None:
    before = os.sched_getscheduler(0)

    assert apply_realtime(False) == "SCHED_OTHER: not asked for"
    assert os.sched_getscheduler(0) == before


def test_pinning_is_to_the_cpu_asked_for() -> None:
    cpu = min(os.sched_getaffinity(0))

    def action() -> tuple[str, set[int]]:
        return apply_affinity(cpu), os.sched_getaffinity(0)

    assert in_a_thread(action) == (str(cpu), {cpu})


def test_a_cpu_that_is_not_there_is_said() -> None:
    assert str(in_a_thread(lambda: apply_affinity(100_000))).startswith("any: CPU 100000 refused (")
    assert apply_affinity(None) == "any"
