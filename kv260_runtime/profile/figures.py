"""The figures of one run: which windows they are about, and which streams they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kv260_runtime.profile.records import RunFacts
from kv260_runtime.profile.result import RunFigures
from telemetry.errors import NotCovered, SessionError
from telemetry.figures import busy, cpu, energy, external, latency, memory, power, temperature, throughput
from telemetry.figures.figure import Figure, figure
from telemetry.figures.repeatable import weighted_mean
from telemetry.figures.throughput import ExecutionSpan
from telemetry.model import Column, Series, Stream, Window
from telemetry.session.reader import SessionReader

MARGIN_NS = 5_000_000_000
"""Samples this far outside a run's windows are read too, so that counters can be interpolated at their edges."""
OBSERVER = Stream("kvbench", "self-cost", 1_000_000_000, (Column("cpu_seconds", "s", "counter"),))


@dataclass(frozen=True)
class Question:
    """One run to be evaluated, with all that its figures need."""

    facts: RunFacts
    trim_ns: int
    dpu_runs: int | None
    """Compute-unit runs of one execution; None if unknown (external commands)."""
    source: SessionReader
    threads: int = 1
    static_bytes: int | None = None
    """Bytes one execution must move by the file's instructions; None if unknown or only estimated."""
    kept: dict[str, Series] = field(default_factory=dict, repr=False, compare=False)
    """Streams read so far: figures and findings ask for the same ones."""

    def series(self, name: str) -> Series:
        """One stream around this run. Raises NotCovered if the session has none of that name."""
        windows = [window for window in (self.facts.window, *self.facts.idle) if window is not None]
        if not windows:
            raise NotCovered("the run has no begin and end")
        if name not in self.kept:
            span = min(window.start_ns for window in windows), max(window.end_ns for window in windows)
            try:
                self.kept[name] = self.source.series(name, span[0] - MARGIN_NS, span[1] + MARGIN_NS)
            except SessionError as error:
                raise NotCovered(f"no sensor gives {name!r} here") from error
        return self.kept[name]

    def names(self, prefix: str) -> list[str]:
        """Streams whose name begins with `prefix`."""
        return [stream.name for stream in self.source.streams() if stream.name.startswith(prefix)]

    def rails(self) -> list[str]:
        """Streams that tell power or energy."""
        return self.names("power.") + self.names("energy.")

    def trimmed(self) -> Window:
        """The run without its first and last seconds (the paper, section 2.6)."""
        return self._without_ends(self.trim_ns)

    def span(self, edge_ns: int = 0) -> ExecutionSpan:
        """The window that per-execution figures are about, with the executions in it.

        The load changes where a run begins and ends; `edge_ns` is what a sensor smears such a change over, and is left
        out at both ends where the trim does not cover it already.
        """
        facts = self.facts
        if facts.timed:
            return throughput.whole_executions(facts.end_ns, self._without_ends(max(self.trim_ns, edge_ns)))
        if facts.executions is None or facts.seconds is None:
            raise NotCovered("the command told no number of executions")
        return throughput.summed_frames(self._without_ends(edge_ns), facts.executions, facts.seconds)

    def steady(self, edge_ns: int = 0) -> Window:
        """The window for shares and rates: the span where executions were timed, else the trimmed run."""
        return self.span(edge_ns).window if self.facts.timed else self._without_ends(max(self.trim_ns, edge_ns))

    def _without_ends(self, trim_ns: int) -> Window:
        """The run from begin to end without `trim_ns` of either."""
        if self.facts.window is None:
            raise NotCovered("the run has no begin and end")
        window = self.facts.window.trimmed(trim_ns)
        if window.seconds <= 0:
            lasted = self.facts.window.seconds
            raise NotCovered(f"the run lasts {lasted:.1f} s, of which {trim_ns / 1e9:g} s at each end do not count")
        return window

    def cpu_window(self) -> Window:
        """The window of CPU time, the observer's included: counters read each second are interpolated at its edges."""
        periods = [stream.period_ns for stream in self.source.streams() if stream.name == "cpu"]
        return self.steady(max(periods, default=0))


Answers = Iterable[tuple[str, Callable[[], "Figure | Mapping[str, Figure]"]]]


def measure(question: Question) -> RunFigures:
    """Every figure the run deserves; the others with their reason."""
    figures: dict[str, Figure] = {}
    absent: dict[str, str] = {}
    for part in (_throughput, _latency, _busy, _power, _memory, _cpu, _temperature):
        for name, ask in part(question, figures):
            try:
                answer = ask()
            except NotCovered as reason:
                absent[name] = str(reason)
                continue
            figures.update({answer.name: answer} if isinstance(answer, Figure) else answer)
    return RunFigures(figures, absent)


def _throughput(question: Question, known: Mapping[str, Figure]) -> Answers:
    yield "throughput", lambda: throughput.throughput(question.span())
    yield "reciprocal_latency", lambda: throughput.reciprocal_latency(_known(known, "throughput"))


def _latency(question: Question, _known: Mapping[str, Figure]) -> Answers:
    facts = question.facts
    if facts.start_ns is None or not facts.timed:
        return
    yield "latency_mean", lambda: latency.mean_latency(facts.start_ns, facts.end_ns, question.trimmed())
    yield (
        "latency",
        lambda: {f.name: f for f in latency.percentiles(facts.start_ns, facts.end_ns, question.trimmed()).values()},
    )


def _busy(question: Question, _known: Mapping[str, Figure]) -> Answers:
    names = [name for name in question.names("cu") if name == "cu"]
    if not names:
        yield "busy_share", lambda: busy.busy_share(question.series("cu"), "", question.steady())
        return
    series = partial(question.series, "cu")
    units = [
        column.name.removeprefix("status.")
        for stream in question.source.streams()
        if stream.name == "cu"
        for column in stream.columns
        if column.name.startswith("status.")
    ]
    for unit in units:
        yield f"busy_share.{unit}", _for_unit(busy.busy_share, series, unit, question.steady)
        yield f"busy_share_left_hold.{unit}", _for_unit(busy.busy_share_left_hold, series, unit, question.steady)
        yield f"cu_runs.{unit}", _for_unit(busy.cu_runs, series, unit, lambda: _whole(question))


def _whole(question: Question) -> Window:
    if question.facts.window is None:
        raise NotCovered("the run has no begin and end")
    return question.facts.window


def _for_unit(
    compute: Callable[[Series, str, Window], Figure],
    series: Callable[[], Series],
    unit: str,
    window: Callable[[], Window],
) -> Callable[[], dict[str, Figure]]:
    def ask() -> dict[str, Figure]:
        answer = compute(series(), unit, window())
        return {f"{answer.name}.{unit}": answer}

    return ask


def _power(question: Question, known: Mapping[str, Figure]) -> Answers:
    rails = question.rails()
    if not rails:
        yield "power", lambda: power.mean_watts(question.series("power"), question.steady())
    kinds = {stream.name: stream.kind for stream in question.source.streams()}
    for rail in rails:
        yield from (_typed if kinds[rail] == external.TYPED else _rail)(question, rail, known)


def _typed(question: Question, rail: str, known: Mapping[str, Figure]) -> Answers:
    """A meter whose display was read now and then."""
    label = rail.partition(".")[2]
    series = partial(question.series, rail)

    def per_execution() -> dict[str, Figure]:
        return _renamed(external.per_execution(_known(known, f"power.{label}"), _known(known, "throughput")), label)

    yield f"power.{label}", lambda: _renamed(external.mean_reading(series(), question.trimmed()), label)
    yield f"energy_per_execution.{label}", per_execution
    yield f"throughput_per_watt.{label}", lambda: _per_watt(known, label)


def _per_watt(known: Mapping[str, Figure], label: str) -> dict[str, Figure]:
    return _renamed(throughput.per_watt(_known(known, "throughput"), _known(known, f"power.{label}")), label)


def _rail(question: Question, rail: str, known: Mapping[str, Figure]) -> Answers:
    label = rail.partition(".")[2]
    series = partial(question.series, rail)

    def span() -> ExecutionSpan:
        return question.span(power.least_trim_ns(series().stream))

    yield f"power.{label}", lambda: _renamed(power.mean_watts(series(), span().window), label)
    if rail.startswith("power."):
        yield (
            f"power_ripple.{label}",
            lambda: _renamed(power.ripple_watts(series(), question.span().window), label),
        )
    yield f"idle_power.{label}", lambda: _idle_watts(series(), question, label)

    def per_execution() -> dict[str, Figure]:
        idle = known.get(f"idle_power.{label}")
        found = energy.per_execution_over(series(), span(), None if idle is None else idle.value)
        is_meter = series().stream.kind == external.FILE
        total = external.by_equation_25(found.total) if is_meter else found.total
        both = [total] if found.above_idle is None else [total, found.above_idle]
        return {f"{one.name}.{label}": one for one in both}

    yield f"energy_per_execution.{label}", per_execution
    yield f"throughput_per_watt.{label}", lambda: _per_watt(known, label)


def _idle_watts(series: Series, question: Question, label: str) -> Figure:
    """Mean power of the idle before and after the run, each without what its edges smear into it."""
    trim_ns = power.least_trim_ns(series.stream)
    windows = [window.trimmed(trim_ns) for window in question.facts.idle]
    windows = [window for window in windows if window.seconds > 0]
    if not windows:
        raise NotCovered("no idle was kept before or after the run (--idle 0)")
    found = [power.mean_watts(series, window) for window in windows]
    seconds = [window.seconds for window in windows]
    value = weighted_mean([one.value for one in found], seconds)
    return figure("idle_power", value, found[0].quality.noting(f"idle means: {question.facts.idle_kind}"), part=label)


def _memory(question: Question, known: Mapping[str, Figure]) -> Answers:
    if not question.names("apm"):
        yield "bandwidth", lambda: memory.bandwidth(question.series("apm"), question.steady())
        return
    series = partial(question.series, "apm")

    def span() -> ExecutionSpan:
        return question.span(series().stream.period_ns)

    yield "bandwidth", lambda: _by_name(memory.bandwidth(series(), question.steady(series().stream.period_ns)))
    yield "idle_bandwidth", lambda: _idle_bandwidth(series(), question)
    yield "bytes_per_execution", lambda: _by_name(memory.bytes_per_execution_over(series(), span()))

    def above_idle() -> dict[str, Figure]:
        return {
            f"bytes_above_idle_per_execution.{way}": memory.above_idle(
                _known(known, f"bytes_per_execution.{way}"),
                _known(known, f"idle_bandwidth.{way}"),
                _known(known, "throughput"),
            )
            for way in ("read", "write", "total")
        }

    yield "bytes_above_idle_per_execution", above_idle


def _idle_bandwidth(series: Series, question: Question) -> dict[str, Figure]:
    """Bandwidth of the idle before and after, averaged by length: what moves without any execution."""
    period_ns = series.stream.period_ns
    windows = [window.trimmed(period_ns) for window in question.facts.idle]
    windows = [window for window in windows if window.end_ns - window.start_ns >= 2 * period_ns]
    if not windows:
        raise NotCovered("no idle long enough was kept before or after the run (--idle)")
    found = [memory.bandwidth(series, window) for window in windows]
    seconds = [window.seconds for window in windows]
    answer = {}
    for way, first in found[0].items():
        value = weighted_mean([one[way].value for one in found], seconds)
        answer[f"idle_bandwidth.{way}"] = figure("idle_bandwidth", value, first.quality, part=way)
    return answer


def _cpu(question: Question, known: Mapping[str, Figure]) -> Answers:
    series = partial(question.series, "cpu")
    yield "system_share", lambda: cpu.system_share(series(), question.cpu_window())
    yield "system_share_of_intervals", lambda: cpu.system_share_of_intervals(series(), question.cpu_window())
    yield "core_share", lambda: _by_name(cpu.core_shares(series(), question.cpu_window()))
    yield "observer_seconds", lambda: _observers(question)

    def net() -> Figure:
        observers = [one for name, one in known.items() if name.startswith("observer_seconds.")]
        if not observers:
            raise NotCovered("the observer's own cost is unknown")
        return cpu.system_share_net(
            _known(known, "system_share"), observers, len(cpu.cores(series())), question.cpu_window()
        )

    yield "system_share_net", net


def _observers(question: Question) -> dict[str, Figure]:
    window = question.cpu_window()
    t_ns, seconds = question.source.observer_cost(window.start_ns - MARGIN_NS, window.end_ns + MARGIN_NS)
    own = Series(OBSERVER, t_ns, np.zeros_like(t_ns), {"cpu_seconds": seconds})
    others = {
        f"observer_seconds.{name.partition('.')[2]}": cpu.observer_seconds(question.series(name), window)
        for name in question.names("observer.")
    }
    return {
        "observer_seconds.recorder": cpu.observer_seconds(question.series("observer"), window),
        **others,
        "observer_seconds.kvbench": cpu.observer_seconds(own, window),
    }


def _temperature(question: Question, _known: Mapping[str, Figure]) -> Answers:
    if question.names("temperature"):
        yield (
            "temperature",
            lambda: _by_name(temperature.mean_celsius(question.series("temperature"), question.steady())),
        )


def _known(known: Mapping[str, Figure], name: str) -> Figure:
    if name not in known:
        raise NotCovered(f"there is no {name}")
    return known[name]


def _renamed(answer: Figure, part: str) -> dict[str, Figure]:
    return {f"{answer.name}.{part}": answer}


def _by_name(answers: Mapping[Any, Figure]) -> dict[str, Figure]:
    return {answer.name: answer for answer in answers.values()}
