"""Uncertainty budgets: what is known of a figure's error, component by component, and the interval it makes.

Two intervals belong to a figure over runs (measurement_rules.md, Intervals). Repeatability
(`telemetry.stats.repeatability`) says where the mean of the next runs will fall; accuracy, here, where the truth is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from telemetry.errors import NotCovered
from telemetry.figures.within_run import BatchMeans
from telemetry.model import Stream
from telemetry.stats import CONFIDENCE, Interval, mean, sample_sd, t_quantile

CLOCK_U = 5e-5 / math.sqrt(3)
"""Relative: a board's crystal is specified to 50 parts in a million, as a limit."""


@dataclass(frozen=True)
class Component:
    """One source of error."""

    name: str
    kind: Literal["A", "B"]
    """A: estimated from the runs' own spread; B: known from elsewhere."""
    standard: float
    """Standard uncertainty, in the unit of the figure."""
    degrees: float
    """Degrees of freedom; infinite where the value is taken as given."""
    source: str
    """Where the value comes from, in words."""


@dataclass(frozen=True)
class Budget:
    """A value with all that is known of its error."""

    value: float
    components: tuple[Component, ...]
    confidence: float = CONFIDENCE

    @property
    def combined(self) -> float:
        """Combined standard uncertainty."""
        return math.sqrt(math.fsum(component.standard**2 for component in self.components))

    @property
    def degrees(self) -> float:
        """Effective degrees of freedom by Welch and Satterthwaite; infinite if every component is known exactly."""
        return effective_degrees((component.standard, component.degrees) for component in self.components)

    @property
    def expanded(self) -> float:
        """U = t(nu) sqrt(s^2 / n + u_B^2). Source: measurement_rules.md, Intervals."""
        return t_quantile((1 + self.confidence) / 2, self.degrees) * self.combined

    @property
    def interval(self) -> Interval:
        """The value with its accuracy interval."""
        return Interval(self.value, self.value - self.expanded, self.value + self.expanded)

    def share(self, component: Component) -> float:
        """What a component contributes to the combined variance, 0 to 1."""
        return component.standard**2 / self.combined**2 if self.combined > 0 else 0.0


def effective_degrees(parts: Iterable[tuple[float, float]]) -> float:
    """Welch and Satterthwaite's degrees of freedom of a sum of (standard uncertainty, degrees of freedom)."""
    parts = list(parts)
    fourths = math.fsum(standard**4 / degrees for standard, degrees in parts)
    return math.fsum(standard**2 for standard, _ in parts) ** 2 / fourths if fourths > 0 else math.inf


def accuracy(
    values: Sequence[float],
    systematic: Iterable[Component] = (),
    within: BatchMeans | None = None,
    confidence: float = CONFIDENCE,
) -> Budget:
    """The budget of the mean of run values with components that all runs share.

    A single run has no spread over runs; its own batch means (`within`) stand in, which miss what differs from run to
    run. Raises NotCovered for a single run without them.
    """
    if len(values) > 1:
        spread = sample_sd(values) / math.sqrt(len(values))
        runs = Component("runs", "A", spread, len(values) - 1, f"sample SD of {len(values)} runs / sqrt({len(values)})")
    elif within is not None:
        # The figure is proportional to the mean that was batched, so its relative error is the same.
        relative = within.standard_error / abs(within.mean)
        source = f"{within.batches} batch means inside the only run"
        runs = Component("within the run", "A", relative * abs(values[0]), within.batches - 1, source)
    else:
        raise NotCovered("one run without batch means says nothing of its own error: measure more runs")
    return Budget(mean(values), (runs, *systematic), confidence)


def rail_components(
    rail: Stream, value: float, watts: float, ripple_watts: float = 0.0, seconds: float = math.inf
) -> list[Component]:
    """Components of a figure proportional to the mean power `watts` of a rail (power, energy, executions per joule).

    `ripple_watts` is the SD of the readings and `seconds` the window, for the delay u = W / sqrt(12) at both edges.
    Raises NotCovered if the board profile does not state the gain, without which nothing is known of the truth, and for
    no power, which relative errors cannot refer to.
    """
    if watts <= 0:
        raise NotCovered(f"{rail.name}: errors relative to {watts:g} W mean nothing")
    gain = _stated(rail, "gain_u")
    if gain is None:
        raise NotCovered(f"the board profile states no gain_u for {rail.name}: its accuracy is unknown")
    found = [_relative("gain", gain, value, f"gain_u of {rail.name}")]
    if (offset := _stated(rail, "offset_u_watts")) is not None:
        found.append(_relative("offset", offset / watts, value, f"offset_u_watts of {rail.name}"))
    if (step := _stated(rail, "resolution_watts")) is not None:
        found.append(_relative("resolution", step / math.sqrt(12) / watts, value, "resolution_watts / sqrt(12)"))
    if (averaging_ns := _stated(rail, "averaging_ns")) is not None and ripple_watts > 0:
        shift = averaging_ns / 1e9 / math.sqrt(12)
        share = math.sqrt(2) * ripple_watts * shift / (watts * seconds)
        found.append(_relative("delay", share, value, "averaging time / sqrt(12) at both edges of the window"))
    return found


def above_idle_components(rail: Stream, value: float, watts_above_idle: float) -> list[Component]:
    """Components of a figure proportional to a difference of two powers of one rail: the offset cancels.

    Raises NotCovered as rail_components does.
    """
    whole = [one for one in rail_components(rail, value, abs(watts_above_idle)) if one.name != "offset"]
    return [
        Component(one.name, one.kind, one.standard * math.sqrt(2), one.degrees, f"{one.source}, twice")
        if one.name == "resolution"
        else one
        for one in whole
    ]


PER_RAIL = ("power", "energy", "energy_per_execution", "throughput_per_watt")
OF_IDLE = ("idle_power", "energy_above_idle_per_execution")
PER_SECOND = ("throughput", "reciprocal_latency", "latency", "latency_mean", "latency_throughput", "bandwidth")


@dataclass(frozen=True)
class RailLevels:
    """What is known of a rail besides its board profile: the levels that its relative errors refer to."""

    stream: Stream
    watts: float
    """Mean power during the runs."""
    idle_watts: float = 0.0
    ripple_watts: float = 0.0
    """SD of the readings during a run."""
    seconds: float = math.inf
    """Length of a run's window."""


def components_of(name: str, value: float, rail: RailLevels | None) -> list[Component]:
    """Components that all runs share, by the figure's name; none for counts and shares, whose errors runs repeat.

    `rail` is the one that the figure is about, or None. Raises NotCovered for a figure of a rail whose accuracy nobody
    states.
    """
    kind = name.partition(".")[0]
    if kind in PER_SECOND:
        return [clock_component(value)]
    if kind not in (*PER_RAIL, *OF_IDLE):
        return []
    if rail is None:
        raise NotCovered(f"no rail with a known power belongs to {name}: its accuracy is unknown")
    if kind == "idle_power":
        return rail_components(rail.stream, value, value)
    if kind == "energy_above_idle_per_execution":
        return above_idle_components(rail.stream, value, rail.watts - rail.idle_watts)
    return rail_components(rail.stream, value, rail.watts, rail.ripple_watts, rail.seconds)


def clock_component(value: float) -> Component:
    """The clock's own rate, which any figure per second is proportional to."""
    return _relative("clock", CLOCK_U, value, "crystal within 50 parts in a million")


def _relative(name: str, share: float, value: float, source: str) -> Component:
    return Component(name, "B", share * abs(value), math.inf, source)


def _stated(rail: Stream, attribute: str) -> float | None:
    text = rail.attributes.get(attribute)
    return None if text is None else float(text)
