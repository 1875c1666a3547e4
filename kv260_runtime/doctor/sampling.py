"""What the sampler achieves on this machine: rate, lateness, real-time priority."""

from __future__ import annotations

import numpy as np

from kv260_runtime.doctor.check import Check
from kv260_runtime.doctor.recording import Recorded
from telemetry.model import Series

FAST_NS = 5_000_000
"""Streams of this period or shorter show what the machine can do."""
LEAST_SHARE = 0.98
"""Of the rate asked for; busy shares need as much of a window covered."""
LATE_NS = 1_000_000
REALTIME_REMEDY = (
    "echo '@kvd - rtprio 10' | sudo tee /etc/security/limits.d/kvd.conf, join the group kvd, log in again "
    "(docs/on-a-board.md)"
)


def check_realtime(found: Recorded) -> Check:
    """Whether the sampler has real-time priority."""
    told = found.ready.realtime
    if told.startswith("SCHED_FIFO"):
        return Check("real-time priority", "ok", told)
    return Check("real-time priority", "warn", told, REALTIME_REMEDY)


def check_sampling(found: Recorded) -> list[Check]:
    """Rate and lateness of each fast stream."""
    return [_check_stream(series) for series in found.series.values() if series.stream.period_ns <= FAST_NS]


def _check_stream(series: Series) -> Check:
    name, period_ns = f"sampling {series.stream.name}", series.stream.period_ns
    if series.t_ns.size < 2:
        return Check(name, "warn", "no samples: the sensor or the machine did not keep up")
    hertz = (series.t_ns.size - 1) * 1e9 / int(series.t_ns[-1] - series.t_ns[0])
    late_ns, gap_ns = np.percentile(series.late_ns, [50, 99]), int(np.diff(series.t_ns).max())
    told = (
        f"every {1e3 / hertz:.3f} ms of {period_ns / 1e6:g} ms asked for; late {late_ns[0] / 1e6:.2f} ms (median), "
        f"{late_ns[1] / 1e6:.2f} ms (p99); longest gap {gap_ns / 1e6:.1f} ms"
    )
    values = {
        "hertz": hertz,
        "late_p50_seconds": float(late_ns[0]) / 1e9,
        "late_p99_seconds": float(late_ns[1]) / 1e9,
        "longest_gap_seconds": gap_ns / 1e9,
    }
    if hertz < LEAST_SHARE * 1e9 / period_ns or late_ns[1] > LATE_NS:
        return Check(name, "warn", told, "end other work on this machine; give the sampler real-time priority", values)
    return Check(name, "ok", told, values=values)
