"""Real-time priority and pinning of the calling process, where the system permits it."""

from __future__ import annotations

import os

PRIORITY = 10
"""Above all ordinary work, below the kernel's threaded interrupts (50)."""


def apply_realtime(wanted: bool) -> str:
    """Put the calling thread, and all it starts from now on, under SCHED_FIFO; say what came of it.

    The whole process must have it, not the sampler's thread alone: any other thread that holds the interpreter lock
    while an ordinary process keeps it off the CPU would stop the sampler with it.
    """
    if not wanted:
        return "SCHED_OTHER: not asked for"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        return "SCHED_OTHER: SCHED_FIFO is not permitted (EPERM): needs CAP_SYS_NICE or LimitRTPRIO"
    except OSError as error:
        return f"SCHED_OTHER: SCHED_FIFO refused ({error.strerror})"
    return f"SCHED_FIFO {PRIORITY}"


def spare_cpu() -> int | None:
    """The CPU a recorder is best pinned to: the last one allowed, since interrupts mostly go to the first; None if
    there is only one.
    """
    allowed = os.sched_getaffinity(0)
    return max(allowed) if len(allowed) > 1 else None


def apply_affinity(cpu: int | None) -> str:
    """Pin the calling thread, and all it starts from now on, to one CPU; say what came of it."""
    if cpu is None:
        return "any"
    try:
        os.sched_setaffinity(0, {cpu})
    except (OSError, ValueError) as error:
        return f"any: CPU {cpu} refused ({error})"
    return str(cpu)
