"""Energy per execution."""

from __future__ import annotations

from dataclasses import dataclass

from telemetry.figures.figure import Figure, figure
from telemetry.figures.power import energy_joules
from telemetry.figures.throughput import ExecutionSpan, whole_executions
from telemetry.model import Int64Array, Series, Window


@dataclass(frozen=True)
class EnergyPerExecution:
    """Energy of one execution, all of it and what exceeds idle, and the executions it was taken over."""

    total: Figure
    above_idle: Figure | None
    """None where idle power was not measured."""
    first_ns: int
    """t_a, the completion the integral begins at (of summed frames, the first marker)."""
    last_ns: int
    """t_b, the completion it ends at."""
    count: float
    """b - a."""


def per_execution(
    power: Series, completions_ns: Int64Array, window: Window, idle_watts: float | None = None
) -> EnergyPerExecution:
    """Integral of power over [t_a, t_b] / (b - a); equals mean power / throughput over the same span exactly.

    Source: measurement_rules.md, Energy and executions. Raises NotCovered for fewer than two completions in the
    window or power that does not cover [t_a, t_b].
    """
    return per_execution_over(power, whole_executions(completions_ns, window), idle_watts)


def per_execution_over(power: Series, span: ExecutionSpan, idle_watts: float | None = None) -> EnergyPerExecution:
    """The same over a span of executions, for programs that only report how many they did."""
    energy = energy_joules(power, span.window)
    total = figure("energy_per_execution", energy.value / span.count, energy.quality)
    above = None
    if idle_watts is not None:
        seconds = span.window.seconds / span.count
        above = figure("energy_above_idle_per_execution", total.value - idle_watts * seconds, energy.quality)
    return EnergyPerExecution(total, above, span.window.start_ns, span.window.end_ns, span.count)
