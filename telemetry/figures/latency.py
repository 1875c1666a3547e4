"""Latency of executions whose begin and end were both stamped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.figures.repeatable import mean, quantile
from telemetry.model import Float64Array, Int64Array, Window

QUANTILES = (0.5, 0.95, 0.99)


def mean_latency(start_ns: Int64Array | None, end_ns: Int64Array, window: Window) -> Figure:
    """Mean of end - start of executions inside the window. Source: c2fdeploy.txt, Eq. 26."""
    seconds = _inside(start_ns, end_ns, window)
    return figure("latency_mean", mean(seconds), _quality(seconds))


def latency_throughput(latency: Figure) -> Figure:
    """Executions per second of a loop that does nothing else. Source: c2fdeploy.txt, Eq. 27."""
    return figure("latency_throughput", 1.0 / latency.value, latency.quality)


def percentiles(
    start_ns: Int64Array | None, end_ns: Int64Array, window: Window, quantiles: Sequence[float] = QUANTILES
) -> dict[float, Figure]:
    """Quantiles of end - start; one that needs more executions than there are is left out.

    Raises NotCovered if executions were not timed or none lies inside the window.
    """
    seconds = _inside(start_ns, end_ns, window)
    return {
        q: figure("latency", quantile(seconds, q), _quality(seconds), part=f"p{100 * q:g}")
        for q in quantiles
        if seconds.size * (1 - q) >= 1
    }


def _inside(start_ns: Int64Array | None, end_ns: Int64Array, window: Window) -> Float64Array:
    if start_ns is None:
        raise NotCovered("executions were not timed: only their completions are known")
    inside = (start_ns >= window.start_ns) & (end_ns <= window.end_ns)
    if not np.any(inside):
        raise NotCovered(f"no execution lies inside the window of {window.seconds:.3f} s")
    return (end_ns[inside] - start_ns[inside]) / 1e9


def _quality(seconds: Float64Array) -> Quality:
    return Quality(seconds.size, None, None, None, 1.0)
