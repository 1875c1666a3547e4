"""What the board was doing besides: idle that was not idle, warming, clocks that changed, sensors that lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from telemetry.figures.figure import Figure
from telemetry.figures.suspicion import Stuck
from telemetry.findings.finding import Finding
from telemetry.model import Window
from telemetry.stats import relative_change

IDLE_BUSY_SHARE = 0.001
IDLE_SYSTEM_SHARE = 0.1
"""A quiet system with a sampler uses a few percent of a core; a tenth of all cores is another program."""
WARMING_CELSIUS = 5.0
"""Leakage power of a warm die grows by about a percent for a few degrees."""
HOT_CELSIUS = 85.0
"""Where the commercial grade of the K26 ends; boards of other makers begin to throttle between here and 95."""
FIXED_GOVERNORS = ("performance", "powersave", "userspace")
"""Governors under which a clock does not change by itself."""
IDLE_CHANGE = 0.01
"""One step of 10 mW on an idle of 5 W is 0.2 %; five of them are a change."""


def idle_not_idle(busy_share: Figure | None, system_share: Figure | None, core_count: int) -> Finding | None:
    """Something ran while idle was measured."""
    seen = []
    if busy_share is not None and busy_share.value > IDLE_BUSY_SHARE:
        seen.append(f"the compute unit was busy for {busy_share.value:.2%}")
    if system_share is not None and system_share.value > IDLE_SYSTEM_SHARE:
        seen.append(f"the processor for {system_share.value * core_count:.2f} of {core_count} cores")
    if not seen:
        return None
    return Finding(
        "idle-not-idle",
        "warning",
        f"while idle was measured, {' and '.join(seen)}",
        "energy above idle is too low by that much: stop other programs and measure again",
    )


def idle_drift(before_watts: float, after_watts: float) -> Finding | None:
    """Idle power that changed across a run."""
    change = relative_change(before_watts, after_watts)
    if abs(change) <= IDLE_CHANGE:
        return None
    return Finding(
        "idle-drift",
        "info",
        f"idle power was {before_watts:.3f} W before the run and {after_watts:.3f} W after it ({change:+.1%})",
        "energy above idle uses their mean; a longer pause lets the board cool down",
    )


def warming(celsius: Mapping[str, Sequence[float]]) -> Finding | None:
    """Temperatures, one mean per run and sensor, that rose or fell over the session."""
    changes = {sensor: runs[-1] - runs[0] for sensor, runs in celsius.items() if len(runs) > 1}
    sensor = max(changes, key=lambda name: abs(changes[name]), default=None)
    if sensor is None or abs(changes[sensor]) < WARMING_CELSIUS:
        return None
    return Finding(
        "temperature-drift",
        "warning",
        f"{sensor} went from {celsius[sensor][0]:.1f} to {celsius[sensor][-1]:.1f} degrees Celsius over the runs",
        "let the board warm up under load before the first run",
    )


def stuck_sensor(rail: str, found: Stuck | None) -> Finding | None:
    """A power sensor that repeated one value while the load varied."""
    if found is None:
        return None
    return Finding(
        "stuck-sensor",
        "error",
        f"{rail} read {found.watts:.2f} W for {found.span.seconds:.1f} s without change, while the compute unit's load "
        f"varied between {found.busy_low:.0%} and {found.busy_high:.0%}",
        "the sensor or its driver hangs: reload the driver, or reboot, and measure again",
    )


def lost_interrupt(cu_name: str, spans: Sequence[Window]) -> Finding | None:
    """Runs of the compute unit whose end the driver noticed only half a second later."""
    if not spans:
        return None
    return Finding(
        "lost-interrupt",
        "error",
        f"{cu_name} seemed busy for {max(span.seconds for span in spans) * 1e3:.0f} ms without a break, "
        f"{len(spans)} times in the run, many times its usual run",
        "an interrupt was lost and the driver waited half a second: repeat the run; if it recurs, reload the firmware",
    )


def clocks_changed(clocks: Mapping[str, tuple[float, float]], governor: str | None) -> Finding | None:
    """Clocks that were not the same throughout a run."""
    if not clocks:
        return None
    name, (low, high) = max(clocks.items(), key=lambda item: item[1][1] - item[1][0])
    by = f" under the governor {governor}" if governor else ""
    return Finding(
        "clock-changed",
        "warning",
        f"{name} ran between {low / 1e6:.0f} and {high / 1e6:.0f} MHz in the run{by}",
        "set the governor to performance and measure again",
    )


def throttled(
    clocks: Mapping[str, tuple[float, float]], governor: str | None, celsius: Mapping[str, float]
) -> Finding | None:
    """A clock that fell although its governor holds it, or while something was hot.

    `clocks` are those that changed in the run, `celsius` the temperatures during it.
    """
    hottest = max(celsius, key=lambda name: celsius[name], default=None)
    hot = hottest is not None and celsius[hottest] >= HOT_CELSIUS
    if not clocks or not (hot or governor in FIXED_GOVERNORS):
        return None
    name, (low, high) = max(clocks.items(), key=lambda item: item[1][1] - item[1][0])
    by = f" under the governor {governor}" if governor else ""
    at = f", {hottest} at {celsius[hottest]:.0f} degrees Celsius" if hottest is not None else ""
    return Finding(
        "throttled",
        "warning",
        f"{name} fell from {high / 1e6:.0f} to {low / 1e6:.0f} MHz in the run{by}{at}",
        "the board protected itself from heat or undervoltage: improve cooling and supply, and measure again",
    )


def host_slower(said: str | None) -> Finding | None:
    """An emulated device waited for the host to compute its results."""
    if said is None:
        return None
    return Finding(
        "host-slower",
        "warning",
        f"the host computes more slowly than the emulated device: {said}",
        "feed inputs that repeat, run longer, or set KVBENCH_OUTPUTS=unread where no output is read",
    )
