"""A meter's file without a session: the one run in it, found by its own two levels."""

from __future__ import annotations

import numpy as np

from kv260_runtime.external.meter_file import Readings
from telemetry.figures import external, power
from telemetry.figures.segments import find_run
from telemetry.model import Column, Series, Stream


def lone_run(readings: Readings, name: str) -> dict[str, object]:
    """Length and energy of the run, all of it and above idle. Raises NotCovered if the file shows no such run."""
    stream = Stream(f"power.{name}", external.FILE, readings.period_ns, (Column(power.WATTS, "W", "gauge"),))
    series = Series(stream, readings.t_ns, np.zeros_like(readings.t_ns), {power.WATTS: readings.watts})
    found = find_run(series)
    joules = power.energy_joules(series, found.window).value
    return {
        "file": name,
        "begin_seconds": found.window.start_ns / 1e9,
        "seconds": found.window.seconds,
        "joules": joules,
        "joules_above_idle": joules - found.idle_watts * found.window.seconds,
        "idle_watts": found.idle_watts,
        "mean_watts": joules / found.window.seconds,
    }
