"""Executions per second, and the span of whole executions that per-execution figures divide by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure, Quality, figure
from telemetry.model import Int64Array, Window


@dataclass(frozen=True)
class ExecutionSpan:
    """A window and how many executions it holds: anything over the window divided by `count` is per execution."""

    window: Window
    count: float
    """Whole for completions; for summed frames, the frames scaled to the window."""

    @property
    def per_second(self) -> float:
        """Throughput."""
        return self.count / self.window.seconds


def whole_executions(completions_ns: Int64Array, window: Window) -> ExecutionSpan:
    """From the first to the last completion inside the window: [t_a, t_b] holds exactly b - a executions.

    Counting executions between two arbitrary instants is wrong by up to one of them
    (measurement_rules.md, Energy and executions). Raises NotCovered for fewer than two completions.
    """
    inside = np.sort(completions_ns[(completions_ns >= window.start_ns) & (completions_ns <= window.end_ns)])
    if inside.size < 2 or inside[-1] == inside[0]:
        raise NotCovered(
            f"{inside.size} executions completed in the window of {window.seconds:.3f} s, 2 needed: measure for longer"
        )
    return ExecutionSpan(Window(int(inside[0]), int(inside[-1])), inside.size - 1)


def summed_frames(window: Window, frames: int, seconds: float) -> ExecutionSpan:
    """The window from 0 % to 100 % of a program that gives no completion times but `frames` done in `seconds`.

    Source: measurement_rules.md, Energy and executions: mean power over the window times `time=` over the frames.
    """
    if frames < 1 or seconds <= 0:
        raise NotCovered(f"the command reports {frames} frames in {seconds:g} s: no execution to divide by")
    return ExecutionSpan(window, frames * window.seconds / seconds)


def executions_per_second(completions_ns: Int64Array, window: Window) -> Figure:
    """Throughput between completions. Source: measurement_rules.md, Energy and executions."""
    return throughput(whole_executions(completions_ns, window))


def throughput(span: ExecutionSpan) -> Figure:
    """Throughput of a span of executions."""
    return figure("throughput", span.per_second, Quality(int(span.count), None, None, None, 1.0))


def per_watt(executions_per_second: Figure, power: Figure) -> Figure:
    """Executions per joule. Source: c2fdeploy.txt, Eq. 24 and 29. Raises NotCovered for power of 0 or less."""
    if power.value <= 0:
        raise NotCovered(f"power of {power.value:g} W is not above 0: no executions per joule")
    return figure("throughput_per_watt", executions_per_second.value / power.value, power.quality)


def reciprocal_latency(executions_per_second: Figure) -> Figure:
    """Seconds per execution as an equivalent: with several threads no execution took that long (c2fdeploy.txt, 2.6)."""
    found = executions_per_second.quality.noting("an equivalent, not a measured latency")
    return figure("reciprocal_latency", 1.0 / executions_per_second.value, found)
