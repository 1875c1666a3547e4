"""A board's load with a pulse pattern and runs, seen by its own rail and by a meter on another clock."""

from __future__ import annotations

import numpy as np

from kv260_runtime.external.meter_file import Readings

SECOND = 1_000_000_000
MS = 1_000_000
PULSE = ((3, 5), (8, 12))
"""Begin and end of each burst in seconds."""
RUNS = ((20, 50), (56, 86), (92, 122))
END = 126
IDLE_WATTS, STEP_WATTS = 5.0, 3.7


def loaded(t_seconds, spans=(*PULSE, *RUNS)):
    return np.any([(t_seconds >= begin) & (t_seconds < end) for begin, end in spans], axis=0)


def energy(t_seconds, spans=(*PULSE, *RUNS)):
    """Joules of the load above idle from 0 to t, exactly."""
    return sum(STEP_WATTS * np.clip(t_seconds - begin, 0, end - begin) for begin, end in spans)


def rail_watts(t_seconds, averaging_seconds=0.0088):
    """What a rail shows that averages over the span before t."""
    before = t_seconds - averaging_seconds
    return IDLE_WATTS + (energy(t_seconds) - energy(before)) / averaging_seconds


def meter(starts_at, period, rate=1.0, noise=0.05, until=END - 1, seed=1, averaging=None):
    """Readings of the input of the board: its own clock is 0 at session second `starts_at` and runs by `rate`.

    Each reading is the mean over the `averaging` (default: the period) around it; the input draws a quarter more and
    3 W for what is not on the rail.
    """
    averaging = period if averaging is None else averaging
    own = np.arange(0, (until - starts_at) / rate, period)
    t = starts_at + rate * own
    watts = IDLE_WATTS + (energy(t + averaging / 2) - energy(t - averaging / 2)) / averaging
    shown = 3.0 + 1.25 * watts + noise * np.random.default_rng(seed).standard_normal(t.size)
    return Readings(np.rint(own * SECOND).astype(np.int64), shown)
