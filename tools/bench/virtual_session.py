"""Sessions in virtual time: a known load through an averaging, quantising, delayed sensor of unknown gain.

Nothing waits and nothing is shared with the virtual board: readings are computed from a closed form of the energy
used up to any instant. They come out as a Series; figures, summaries and intervals are computed by the code of real
sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kv260_runtime.profile.evaluate import model_result
from kv260_runtime.profile.result import ModelResult, RunFigures, RunOutcome
from telemetry.figures import energy, power, throughput
from telemetry.model import Column, Float64Array, Int64Array, Series, Stream, Window

SECOND = 1_000_000_000
RAIL = "som"
ENERGY = f"energy_per_execution.{RAIL}"


@dataclass(frozen=True)
class Load:
    """A periodic load: busy at the start of each period, else idle."""

    idle_watts: float = 5.03
    busy_watts: float = 9.1
    period_ns: int = 20_360_000
    busy_ns: int = 18_530_000

    @property
    def joules(self) -> float:
        """Energy of one period, which is one execution."""
        return (self.idle_watts * self.period_ns + (self.busy_watts - self.idle_watts) * self.busy_ns) / 1e9

    def used(self, t_ns: Int64Array) -> Float64Array:
        """Energy used from 0 to each instant."""
        whole, part = np.divmod(t_ns, self.period_ns)
        busy_ns = whole * self.busy_ns + np.minimum(part, self.busy_ns)
        joules: Float64Array = (self.idle_watts * t_ns + (self.busy_watts - self.idle_watts) * busy_ns) / 1e9
        return joules


@dataclass(frozen=True)
class Sensor:
    """An INA260: its register holds the average over the last finished conversion of `averaging_ns`."""

    averaging_ns: int = 8_800_000
    resolution_watts: float = 0.01
    gain_u: float = 0.0015
    period_ns: int = 10_000_000

    @property
    def stream(self) -> Stream:
        """The stream as a board profile would describe it."""
        attributes = {
            "averaging_ns": str(self.averaging_ns),
            "resolution_watts": str(self.resolution_watts),
            "gain_u": str(self.gain_u),
        }
        return Stream(f"power.{RAIL}", "hwmon-power", self.period_ns, (Column("watts", "W", "gauge"),), attributes)

    def readings(self, load: Load, gain: float, seconds: float, draw: np.random.Generator) -> Series:
        """What is read over `seconds`, at random phases of the conversions and of the polls."""
        first_ns = 2 * self.averaging_ns + int(draw.integers(0, self.period_ns))
        t_ns = np.arange(first_ns, int(seconds * SECOND), self.period_ns, dtype=np.int64)
        phase_ns = int(draw.integers(0, self.averaging_ns))
        ends_ns = (t_ns - phase_ns) // self.averaging_ns * self.averaging_ns + phase_ns
        watts = (load.used(ends_ns) - load.used(ends_ns - self.averaging_ns)) / (self.averaging_ns / 1e9)
        shown = np.round(gain * watts / self.resolution_watts) * self.resolution_watts
        return Series(self.stream, t_ns, np.zeros_like(t_ns), {"watts": shown})


def measured_run(load: Load, factor: float, gain: float, seconds: float, draw: np.random.Generator) -> RunFigures:
    """Figures of one run whose power is `factor` times the load's, by the functions a session's figures come from."""
    series = SENSOR.readings(load, gain * factor, seconds, draw)
    completions_ns = np.arange(load.period_ns, int(seconds * SECOND), load.period_ns, dtype=np.int64)
    span = throughput.whole_executions(completions_ns, Window(0, int(seconds * SECOND)).trimmed(SECOND))
    found = (
        power.mean_watts(series, span.window),
        power.ripple_watts(series, span.window),
        energy.per_execution_over(series, span).total,
    )
    return RunFigures({f"{one.name}.{RAIL}": one for one in found}, {}, seconds=span.window.seconds)


def measured_model(name: str, runs: Sequence[RunFigures]) -> ModelResult:
    """A model's summaries with their intervals, as a session's are made."""
    outcomes = [RunOutcome(i, name, "formal", i, 0, True, None, "virtual time", run) for i, run in enumerate(runs)]
    return model_result({"name": name}, outcomes, [SENSOR.stream])


SENSOR = Sensor()
