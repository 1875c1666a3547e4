"""Which metrics there are, and their samples in one state of the service; docs/daemon.md lists them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from telemetry.service.snapshot import ServiceState, StreamTotals
from telemetry.version import VERSION

Row = tuple[str, tuple[str, ...], float]
"""Metric, label values, value."""


@dataclass(frozen=True)
class Metric:
    """One metric: all its samples have these labels."""

    kind: str
    """counter, gauge, info or histogram."""
    help: str
    labels: tuple[str, ...] = ()


METRICS: Mapping[str, Metric] = {
    "kv_energy_joules": Metric("counter", "Energy drawn from the rail; its rate is the mean power.", ("rail",)),
    "kv_power_watts": Metric("gauge", "Power of the rail, the sensor's latest reading.", ("rail",)),
    "kv_rail": Metric(
        "info",
        "Which sensor measures the rail and what it feeds; chip as node_exporter has it.",
        ("rail", "chip", "device", "covers", "driver", "boundary"),
    ),
    "kv_accelerator_busy_seconds": Metric(
        "counter",
        "Time in which the accelerator was busy, by samples of its status; interrupt and wake-up time included.",
        ("accelerator",),
    ),
    "kv_accelerator_runs": Metric(
        "counter", "Commands the accelerator completed, or was given where completions are not told.", ("accelerator",)
    ),
    "kv_memory_bytes": Metric(
        "counter",
        "Bytes moved between a port of the memory controller and memory.",
        ("controller", "slot", "direction"),
    ),
    "kv_cpu_seconds": Metric("counter", "CPU time of each core by mode, busy or idle.", ("core", "mode")),
    "kv_temperature_celsius": Metric("gauge", "Temperature.", ("sensor",)),
    "kv_frequency_hertz": Metric("gauge", "Clock frequency.", ("clock",)),
    "kv_sampler_samples": Metric("counter", "Samples read.", ("sampler",)),
    "kv_sampler_gaps": Metric("counter", "Slots without a sample.", ("sampler", "reason")),
    "kv_sampler_uncovered_seconds": Metric(
        "counter",
        "Time between samples too far apart to trust: bridged by a straight line up to 1 s, beyond that left out.",
        ("sampler",),
    ),
    "kv_sampler_lateness_seconds": Metric("histogram", "How long after its deadline a read began.", ("sampler",)),
    "kv_sampler_effective_hertz": Metric("gauge", "Samples per second over the latest ten seconds.", ("sampler",)),
    "kv_last_sample_timestamp_seconds": Metric("gauge", "When the latest sample was read.", ("sampler",)),
    "kv_sensor_up": Metric("gauge", "1 if the sensor gives samples, 0 if it is missing or silent.", ("sensor",)),
    "kv_raw_file_up": Metric("gauge", "1 if raw samples reach their file or none is wanted, 0 if they are being lost."),
    "kv_marks": Metric("counter", "Marks that programs have set."),
    "kv_clients": Metric("gauge", "Programs connected to the socket."),
    "kv_observer_cpu_seconds": Metric("counter", "CPU time that observing costs.", ("process",)),
    "kv_build": Metric(
        "info", "Version, board, and whether the figures come from an emulation.", ("version", "board", "emulated")
    ),
}
"""Name without the suffix that its kind adds (`_total`, `_info`) to what it is."""


def rows(state: ServiceState) -> Iterator[Row]:
    """All samples but histograms; what is not known is absent."""
    snapshot = state.snapshot
    yield "kv_build", (VERSION, state.board, str(state.emulated).lower()), 1
    yield "kv_raw_file_up", (), float(snapshot.fault is None)
    yield "kv_marks", (), state.marks
    yield "kv_clients", (), state.clients
    for stream in snapshot.streams:
        yield from _quality(stream, state.wall_offset_ns)
        described = OF_KIND.get(stream.stream.kind)
        if described is not None:
            yield from described(stream)
    for kind in snapshot.missing:
        yield "kv_sensor_up", (kind,), 0


def _quality(totals: StreamTotals, wall_offset_ns: int) -> Iterator[Row]:
    name = totals.stream.name
    yield "kv_sampler_samples", (name,), totals.samples
    for reason, missed in totals.gaps.items():
        yield "kv_sampler_gaps", (name, reason), missed
    yield "kv_sampler_uncovered_seconds", (name,), totals.uncovered_seconds
    yield "kv_sensor_up", (name,), float(totals.up)
    if totals.effective_hertz is not None:
        yield "kv_sampler_effective_hertz", (name,), totals.effective_hertz
    if totals.last_ns is not None:
        yield "kv_last_sample_timestamp_seconds", (name,), (totals.last_ns + wall_offset_ns) / 1e9


def _rail(totals: StreamTotals) -> Iterator[Row]:
    rail = totals.stream.name.partition(".")[2]
    facts = totals.stream.attributes
    chip = facts.get("node_exporter_chip", "")
    about = (chip, facts.get("device", ""), facts.get("covers", ""), facts.get("chip", ""), facts.get("boundary", ""))
    yield "kv_rail", (rail, *about), 1
    if totals.up:
        if "watts" in totals.levels:
            yield "kv_power_watts", (rail,), totals.levels["watts"]
        if "joules" in totals.counters:
            yield "kv_energy_joules", (rail,), totals.counters["joules"]


def _accelerator(totals: StreamTotals) -> Iterator[Row]:
    metrics = {"busy": "kv_accelerator_busy_seconds", "runs": "kv_accelerator_runs"}
    for (what, name), value in _split(totals.counters, totals.up):
        yield metrics[what], (name,), value


def _memory(totals: StreamTotals) -> Iterator[Row]:
    for (direction, slot), value in _split(totals.counters, totals.up):
        yield "kv_memory_bytes", ("ddr", slot, direction), value


def _cores(totals: StreamTotals) -> Iterator[Row]:
    for (mode, core), value in _split(totals.counters, totals.up):
        yield "kv_cpu_seconds", (core, mode), value


def _temperatures(totals: StreamTotals) -> Iterator[Row]:
    for (_, sensor), value in _split(totals.levels, totals.up):
        yield "kv_temperature_celsius", (sensor,), value


def _frequencies(totals: StreamTotals) -> Iterator[Row]:
    for (_, clock), value in _split(totals.levels, totals.up):
        yield "kv_frequency_hertz", (clock,), value


def _observer(totals: StreamTotals) -> Iterator[Row]:
    if totals.up and "cpu_seconds" in totals.counters:
        process = totals.stream.name.partition(".")[2] or "recorder"
        yield "kv_observer_cpu_seconds", (process,), totals.counters["cpu_seconds"]


def _split(values: Mapping[str, float], up: bool) -> Iterator[tuple[tuple[str, str], float]]:
    """`what.whose` in two parts, and nothing of a stream that is down."""
    for name, value in values.items() if up else ():
        what, _, whose = name.partition(".")
        yield (what, whose), value


OF_KIND: Mapping[str, Callable[[StreamTotals], Iterator[Row]]] = {
    "hwmon-power": _rail,
    "battery": _rail,
    "rapl": _rail,
    "xrt-cu": _accelerator,
    "gpu-load": _accelerator,
    "apm": _memory,
    "proc-stat": _cores,
    "thermal": _temperatures,
    "cpufreq": _frequencies,
    "self-cost": _observer,
}
"""Kind of sensor to its metrics."""
