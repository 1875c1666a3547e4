"""Streams of a small board, and frames of samples made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from telemetry.feed import Frame, Samples
from telemetry.model import Column, Gap, Series, Stream

MS = 1_000_000
SECOND = 1_000_000_000
WRAP = 2**32


def stream(name: str, kind: str, period_ns: int, *columns: Column, **attributes: str) -> Stream:
    return Stream(name, kind, period_ns, columns, attributes)


CU = stream(
    "cu", "xrt-cu", MS, Column("status.DPU_1", "1", "state"), Column("usage.DPU_1", "1", "counter"),
    Column("completed.DPU_1", "1", "counter"),
)  # fmt: skip
POWER = stream(
    "power.som", "hwmon-power", 10 * MS, Column("watts", "W", "gauge"),
    averaging_ns="8800000", boundary="SOM 5 V rail", chip="ina260_u14", node_exporter_chip="platform_ina260_u14",
    covers="SOM", device="/sys/devices/x", gain_u="0.0015", offset_u_watts="0.0144", resolution_watts="0.01",
)  # fmt: skip
APM = stream(
    "apm", "apm", 100 * MS, Column("read.slot3", "B", "counter", WRAP), Column("write.slot3", "B", "counter", WRAP),
    Column("clock", "1", "counter", WRAP),
)  # fmt: skip
CPU = stream("cpu", "proc-stat", SECOND, Column("busy.cpu0", "s", "counter"), Column("total.cpu0", "s", "counter"))
RAPL = stream("energy.package-0", "rapl", 10 * MS, Column("joules", "J", "counter", 100.0), boundary="package-0")
GPU = stream("gpu", "gpu-load", 100 * MS, Column("busy_ratio", "1", "gauge"))
TEMPERATURE = stream("temperature", "thermal", SECOND, Column("celsius.ps", "Cel", "gauge"))
FREQUENCY = stream("frequency", "cpufreq", SECOND, Column("hertz.cpu0", "Hz", "gauge"))
OBSERVER = stream("observer", "self-cost", SECOND, Column("cpu_seconds", "s", "counter"))
ALL = (CU, POWER, APM, CPU, RAPL, GPU, TEMPERATURE, FREQUENCY, OBSERVER)


def series(
    described: Stream, t_ns: Sequence[int] | np.ndarray, *columns: Any, gaps: tuple[Gap, ...] = (), late_ns: int = 0
) -> Series:
    """Samples of a stream; a column may be one value for all."""
    times = np.asarray(t_ns, np.int64)
    values = {
        column.name: np.broadcast_to(np.asarray(value, np.int64 if column.is_integer else np.float64), times.shape)
        for column, value in zip(described.columns, columns, strict=True)
    }
    return Series(described, times, np.full(times.size, late_ns, np.int64), values, gaps)


def packed(one: Series) -> Samples:
    """A series as a frame carries it."""
    columns = [np.ascontiguousarray(one.values[column.name]).tobytes() for column in one.stream.columns]
    return Samples(one.stream.name, one.t_ns.tobytes(), one.late_ns.tobytes(), columns)


def frame(t_ns: int, *content: Series, streams: Sequence[Stream] = (), **rest: Any) -> Frame:
    """A frame of series with their gaps."""
    gaps = [(one.stream.name, gap) for one in content for gap in one.gaps]
    samples = [packed(one) for one in content if one.t_ns.size]
    return Frame(t_ns, list(streams), samples, gaps, **rest)


def cut(whole: Series, places: Sequence[int]) -> list[Series]:
    """A series in pieces that begin at the given indices; gaps go with the piece in which they end."""
    bounds = [0, *sorted(places), whole.t_ns.size]
    pieces, told = [], 0
    for low, high in pairwise(bounds):
        until = whole.t_ns[high - 1] if high > low else -1
        gaps = tuple(gap for gap in whole.gaps[told:] if gap.end_ns <= until or high == whole.t_ns.size)
        told += len(gaps)
        values: Mapping[str, Any] = {name: samples[low:high] for name, samples in whole.values.items()}
        pieces.append(Series(whole.stream, whole.t_ns[low:high], whole.late_ns[low:high], values, gaps))
    return pieces
