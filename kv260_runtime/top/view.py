"""What the latest samples come to: busy shares, cores, watts, bytes a second, by the code that computes all figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures import busy, cpu, memory, power
from telemetry.figures.counters import increase
from telemetry.figures.figure import Figure
from telemetry.model import Series, Window
from telemetry.service.history import History

SPAN_NS = 1_000_000_000
"""What the momentary values are means over, or two periods of a slower stream."""
TREND = 60
"""Points of a rail's trend, one a second, the latest last."""
UNIT_PREFIX = "status."


@dataclass(frozen=True)
class Sampler:
    """How well one stream is being sampled."""

    hertz: float | None
    late_p99_seconds: float


@dataclass(frozen=True)
class View:
    """A board over its latest second; what is not known is absent."""

    busy: Mapping[str, float]
    """Share of time by compute unit, 0 to 1."""
    runs_per_second: Mapping[str, float]
    cores: Mapping[str, float]
    watts: Mapping[str, float]
    trends: Mapping[str, tuple[float, ...]]
    """By rail: means over the last seconds, watts, oldest first."""
    bytes_per_second: Mapping[str, float]
    """By direction and port: `read.slot3`."""
    celsius: Mapping[str, float]
    sampler: Mapping[str, Sampler]
    absent: Mapping[str, str]
    """What could not be computed, and why."""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"schema_version": 1, **asdict(self)}


def view(histories: Mapping[str, History], missing: Mapping[str, str]) -> View:
    """The latest values of all streams."""
    recent = {name: _recent(history) for name, history in histories.items() if history.last_ns is not None}
    found = _Found(dict(missing))
    shares, runs = found.units(recent.get("cu"))
    watts = {
        name.partition(".")[2]: found.value(name, power.mean_watts, *one)
        for name, one in recent.items()
        if name.startswith(("power.", "energy."))
    }
    return View(
        busy=_present(shares),
        runs_per_second=_present(runs),
        cores=found.cores(histories.get("cpu")),
        watts=_present(watts),
        trends={name.partition(".")[2]: _trend(histories[name]) for name in recent if name.startswith("power.")},
        bytes_per_second=_rates(found.values("apm", memory.port_bytes, recent.get("apm")), recent.get("apm")),
        celsius=_levels(recent.get("temperature")),
        sampler={name: _sampler(histories[name], series) for name, (series, _) in recent.items()},
        absent=found.absent,
    )


Recent = tuple[Series, Window]


class _Found:
    """Figures where there are any, and the reasons of the others."""

    def __init__(self, absent: dict[str, str]) -> None:
        self.absent = absent

    def value(self, name: str, compute: Callable[..., Figure], *arguments: object) -> float | None:
        """The value of one figure."""
        try:
            return compute(*arguments).value
        except NotCovered as reason:
            self.absent[name] = str(reason)
            return None

    def values(
        self, name: str, compute: Callable[[Series, Window], Mapping[str, Figure]], recent: Recent | None
    ) -> dict[str, float]:
        """The values of a family of figures."""
        if recent is None:
            return {}
        try:
            return {part: one.value for part, one in compute(*recent).items()}
        except NotCovered as reason:
            self.absent[name] = str(reason)
            return {}

    def units(self, recent: Recent | None) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """Busy share, and runs a second, of each compute unit."""
        shares: dict[str, float | None] = {}
        runs: dict[str, float | None] = {}
        if recent is not None:
            series, window = recent
            for unit in (name.removeprefix(UNIT_PREFIX) for name in series.values if name.startswith(UNIT_PREFIX)):
                shares[unit] = self.value(unit, busy.busy_share, series, unit, window)
                counted = self.value(f"runs of {unit}", busy.cu_runs, series, unit, window)
                runs[unit] = None if counted is None else counted / window.seconds
        return shares, runs

    def cores(self, history: History | None) -> dict[str, float]:
        """Busy share of each core between the latest two samples: the kernel counts in hundredths of a second."""
        if history is None or history.last_ns is None:
            return {}
        series = history.since(history.last_ns - history.stream.period_ns - history.stream.period_ns // 2)
        if series.t_ns.size < 2:
            return {}
        window = Window(int(series.t_ns[-2]), int(series.t_ns[-1]))
        try:
            total = {core: increase(series, cpu.TOTAL + core, window) for core in cpu.cores(series)}
            busy_by = {core: increase(series, cpu.BUSY + core, window) for core in total}
        except NotCovered as reason:
            self.absent["cpu"] = str(reason)
            return {}
        return {core: busy_by[core] / spent for core, spent in total.items() if spent > 0}


def _recent(history: History) -> Recent:
    """The latest span with the samples around it; a rail's readings are of W earlier, and so is its span."""
    assert history.last_ns is not None
    stream = history.stream
    # Counters of runs want a sample after the window.
    end_ns = history.last_ns - max(power.averaging_ns(stream) or 0, 1)
    window = Window(end_ns - max(SPAN_NS, 2 * stream.period_ns), end_ns)
    return history.since(window.start_ns - 2 * stream.period_ns), window


def _present(values: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _rates(moved: Mapping[str, float], recent: Recent | None) -> dict[str, float]:
    return {} if recent is None else {name: value / recent[1].seconds for name, value in moved.items()}


def _levels(recent: Recent | None) -> dict[str, float]:
    """The latest value of each gauge."""
    if recent is None:
        return {}
    return {name.partition(".")[2]: float(values[-1]) for name, values in recent[0].values.items() if values.size}


def _trend(history: History) -> tuple[float, ...]:
    """Means of whole seconds up to the latest, oldest first; seconds without a reading are left out."""
    last_ns = history.last_ns or 0
    series = history.since(last_ns - TREND * 1_000_000_000 + 1)
    watts = np.asarray(series.values[power.WATTS], np.float64)
    ages = (last_ns - series.t_ns) // 1_000_000_000
    inside = (ages >= 0) & (ages < TREND)
    counts = np.bincount(ages[inside], minlength=1)
    sums = np.bincount(ages[inside], weights=watts[inside], minlength=1)
    means = sums[counts > 0] / counts[counts > 0]
    return tuple(means[::-1].tolist())


def _sampler(history: History, series: Series) -> Sampler:
    late = float(np.percentile(series.late_ns, 99)) / 1e9 if series.late_ns.size else 0.0
    return Sampler(history.effective_hertz(2 * max(SPAN_NS, 2 * history.stream.period_ns)), late)
