"""Where each run of the compute unit begins and ends inside an execution, from status samples folded on completions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.busy import MAX_INTERVAL_NS, held_states
from telemetry.figures.pieces import column
from telemetry.model import Float64Array, Int64Array, Series, Window

LEAST_EXECUTIONS = 20
"""Fewer do not average out where between two samples an edge was."""


@dataclass(frozen=True)
class Phases:
    """Executions that were seen whole, with the edges of their runs; n executions of k runs."""

    begin_ns: Int64Array
    """The completion before each execution, shape (n,)."""
    end_ns: Int64Array
    """Its completion, shape (n,)."""
    edges_ns: Float64Array
    """Begin and end of each run in turn, shape (n, 2 k), relative to `origin_ns`."""
    edges_u_ns: Float64Array
    """Standard uncertainty of the mean place of each edge, shape (2 k,)."""
    origin_ns: int
    left_out: int
    """Executions in the window whose runs were not all seen."""

    @property
    def runs(self) -> int:
        """Runs of one execution."""
        return int(self.edges_ns.shape[1]) // 2


def execution_phases(cu: Series, cu_name: str, completions_ns: Int64Array, window: Window, runs: int) -> Phases:
    """The runs of every execution between two completions in the window.

    An edge lies between two samples. Folding the executions on their completions tells it more closely than one pair of
    samples does; an execution that differs from the others keeps its edge within its own pair of samples.
    Raises NotCovered if executions overlap, or too few were seen whole.
    """
    ends = np.sort(completions_ns[(completions_ns >= window.start_ns) & (completions_ns <= window.end_ns)])
    if ends.size <= LEAST_EXECUTIONS:
        raise NotCovered(
            f"{max(ends.size - 1, 0)} whole executions in the window, {LEAST_EXECUTIONS} needed to fold them"
        )
    if runs < 1:
        raise NotCovered("an execution makes no run of the compute unit: there are no phases to tell apart")
    usage = np.asarray(column(cu, f"usage.{cu_name}"), np.int64)
    if np.any(np.diff(usage) < 0):
        raise NotCovered(f"counter usage.{cu_name} went back: the firmware was reloaded")
    before = np.searchsorted(cu.t_ns, ends, side="right") - 1
    if before[0] < 0 or ends[-1] >= cu.t_ns[-1]:
        raise NotCovered(f"stream {cu.stream.name} does not cover the window")
    first = usage[before[:-1]]
    whole = np.diff(usage[before]) == runs
    origin_ns = int(ends[0])
    low, high = _brackets(cu, cu_name, usage, first[:, None] + np.arange(1, runs + 1), origin_ns)
    begin, end = (ends[:-1] - origin_ns)[:, None], (ends[1:] - origin_ns)[:, None]
    whole &= np.all((high - low <= MAX_INTERVAL_NS) & (high > begin) & (low < end), axis=1)
    if np.count_nonzero(whole) < LEAST_EXECUTIONS:
        raise NotCovered(
            f"{np.count_nonzero(whole)} of {whole.size} executions show {runs} runs of {cu_name} between samples at "
            f"most {MAX_INTERVAL_NS / 1e6:g} ms apart, {LEAST_EXECUTIONS} needed (one thread, a CU stream of 1 ms)"
        )
    low, high, begin, end = low[whole], high[whole], begin[whole], end[whole]
    folded = np.median((low + high) / 2 - end, axis=0)
    edges = np.clip(np.maximum.accumulate(np.clip(end + folded, low, high), axis=1), begin, end)
    # An edge lies anywhere between its samples: midpoints less edge have the density 1 / spacing at 0, and the median
    # of n values of density f there has the standard error 1 / (2 f sqrt(n)). Clipping makes it less.
    spacing_ns = float(np.mean(np.diff(cu.t_ns)))
    uncertain = np.full(2 * runs, spacing_ns / 2 / math.sqrt(len(low)))
    return Phases(ends[:-1][whole], ends[1:][whole], edges, uncertain, origin_ns, int(np.count_nonzero(~whole)))


def _brackets(
    cu: Series, cu_name: str, usage: Int64Array, numbers: Int64Array, origin_ns: int
) -> tuple[Float64Array, Float64Array]:
    """The samples around the begin and the end of the commands `numbers`, shape (n, 2 k) each, from `origin_ns` on."""
    last = usage.size - 1
    begun = np.searchsorted(usage, numbers, side="left")
    # The count of completions says nothing here: it is read with a changed state only, and the vendor's follows late.
    busy = held_states(cu, cu_name) == 1.0
    started = _next_true(busy)[np.minimum(begun, last)]
    ended = np.minimum(_next_true(~busy)[np.minimum(started, last)], np.searchsorted(usage, numbers, side="right"))
    index = np.stack([begun, ended], axis=2).reshape(len(numbers), -1)
    unseen = (index < 1) | (index > last)
    index = np.clip(index, 1, last)
    t = (cu.t_ns - origin_ns).astype(np.float64)
    return np.where(unseen, -np.inf, t[index - 1]), np.where(unseen, np.inf, t[index])


def _next_true(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Int64Array:
    """For each place the first place at or after it where the flag is set; the length where there is none."""
    places = np.where(flags, np.arange(flags.size), flags.size)
    found: Int64Array = np.minimum.accumulate(places[::-1])[::-1]
    return found
