"""Samples thinned out for a picture: means, extremes and rates over equal bins. Pictures only, never figures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from telemetry.model import Float64Array, Int64Array

LEAST_COVERED = 0.5
"""A bin of which less was seen shows nothing rather than a guess."""


def interval_means(
    t_ns: Int64Array, amounts: Float64Array, kept: npt.NDArray[np.bool_], edges_ns: Int64Array
) -> Float64Array:
    """Mean rate over each bin, NaN where too little was seen, shape (k,) for k + 1 edges.

    `amounts[i]` is what accrues between t_ns[i] and t_ns[i + 1], shape (n - 1,); intervals not `kept` are left out.
    The unit is that of the amounts per second.
    """
    if t_ns.size < 2:
        return np.full(edges_ns.size - 1, np.nan)
    origin = t_ns[0]
    times, edges = (t_ns - origin).astype(np.float64), (edges_ns - origin).astype(np.float64)
    accrued = np.concatenate([[0.0], np.cumsum(np.where(kept, amounts, 0.0))])
    seen_ns = np.concatenate([[0.0], np.cumsum(np.where(kept, np.diff(times), 0.0))])
    moved = np.diff(np.interp(edges, times, accrued))
    covered_ns = np.diff(np.interp(edges, times, seen_ns))
    enough = covered_ns >= LEAST_COVERED * np.diff(edges)
    return np.where(enough, moved / np.where(enough, covered_ns, 1.0) * 1e9, np.nan)


def level_means(t_ns: Int64Array, values: Float64Array, longest_ns: float, edges_ns: Int64Array) -> Float64Array:
    """Mean of the line through the samples over each bin; intervals above `longest_ns` count as not seen.

    Samples that are NaN end the line on both sides.
    """
    lengths = np.diff(t_ns)
    areas = (values[:-1] + values[1:]) / 2 * lengths / 1e9
    kept = (lengths <= longest_ns) & np.isfinite(areas)
    return interval_means(t_ns, areas, kept, edges_ns)


def counter_rates(
    t_ns: Int64Array,
    counts: npt.NDArray[np.int64] | Float64Array,
    wrap: float | None,
    longest_ns: float,
    edges_ns: Int64Array,
) -> Float64Array:
    """Increase of a counter per second; intervals above `longest_ns`, or in which it fell, are not seen."""
    moved = np.diff(counts)
    if wrap is not None:
        moved = np.mod(moved, wrap)
    return interval_means(t_ns, moved.astype(np.float64), (np.diff(t_ns) <= longest_ns) & (moved >= 0), edges_ns)


def extremes(t_ns: Int64Array, values: Float64Array, edges_ns: Int64Array) -> tuple[Float64Array, Float64Array]:
    """Least and greatest sample of each bin, NaN where there is none, shape (k,) each."""
    cuts = np.searchsorted(t_ns, edges_ns)
    low, high = np.full(edges_ns.size - 1, np.nan), np.full(edges_ns.size - 1, np.nan)
    filled = np.flatnonzero(np.diff(cuts) > 0)
    if filled.size:
        inside = values[: cuts[-1]]
        low[filled] = np.minimum.reduceat(inside, cuts[filled])
        high[filled] = np.maximum.reduceat(inside, cuts[filled])
    return low, high
