"""Which figures people read, in which order, under which words and in which unit: one row each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

ChangeStyle = Literal["ratio", "points", "none"]


@dataclass(frozen=True)
class Row:
    """How one figure is shown. Everything is SI until here."""

    figure: str
    """Name in the catalogue, `.*` for one row a part (core, rail, compute unit)."""
    label: str
    """`{part}` stands for the part."""
    unit: str
    scale: float = 1.0
    """Shown value = SI value * scale."""
    change: ChangeStyle = "ratio"


ROWS: tuple[Row, ...] = (
    Row("throughput", "executions per second", "1/s"),
    Row("reciprocal_latency", "1 / throughput, an equivalent", "ms", 1e3),
    Row("latency_mean", "latency, mean", "ms", 1e3),
    Row("latency.*", "latency, {part}", "ms", 1e3),
    Row("power.*", "power, {part}", "W"),
    Row("idle_power.*", "power at idle, {part}", "W"),
    Row("energy_per_execution.*", "energy per execution, {part}", "J"),
    Row("energy_above_idle_per_execution.*", "  of it above idle, {part}", "J"),
    Row("throughput_per_watt.*", "executions per joule, {part}", "1/J"),
    Row("busy_share.*", "DPU busy, {part}", "%", 1e2, "points"),
    Row("busy_share_left_hold.*", "  the same by Eq. 20", "%", 1e2, "points"),
    Row("system_share_net", "CPU, all cores, without the observer", "%", 1e2, "points"),
    Row("system_share", "CPU, all cores, with the observer", "%", 1e2, "points"),
    Row("core_share.*", "  {part}", "%", 1e2, "points"),
    Row("bandwidth.read", "memory read", "MB/s", 1e-6),
    Row("bandwidth.write", "memory write", "MB/s", 1e-6),
    Row("bandwidth.total", "memory, five ports", "MB/s", 1e-6),
    Row("bytes_per_execution.total", "memory per execution", "MB", 1e-6),
    Row("bytes_above_idle_per_execution.total", "  of it above idle", "MB", 1e-6),
    Row("temperature.*", "temperature, {part}", "°C", change="none"),
)


def expand(row: Row, names: Iterable[str]) -> Iterator[tuple[str, Row]]:
    """The figures among `names` that `row` is about, each with the row's label filled in."""
    if not row.figure.endswith(".*"):
        if row.figure in set(names):
            yield row.figure, row
        return
    prefix = row.figure[:-1]
    for name in sorted(set(names)):
        if name.startswith(prefix):
            label = row.label.replace("{part}", name.removeprefix(prefix))
            yield name, Row(name, label, row.unit, row.scale, row.change)


def shown_rows(names: Mapping[str, object] | Iterable[str]) -> list[tuple[str, Row]]:
    """All rows for the figures there are, in reading order."""
    known = list(names)
    return [pair for row in ROWS for pair in expand(row, known)]


def measure(mean: float, sd: float | None) -> str:
    """A mean with its sample SD, both to the SD's second digit; five digits where there is no SD.

    >>> measure(49.1302, 0.0412)
    '49.130 ± 0.041'
    >>> measure(1938.71, None)
    '1938.7'
    """
    import math

    if sd is None or not math.isfinite(sd):
        return f"{mean:.5g}"
    if sd <= abs(mean) * 1e-9:
        return f"{mean:.5g} ± 0"
    digits = max(0, 1 - math.floor(math.log10(sd)))
    return f"{mean:.{digits}f} ± {sd:.{digits}f}"


def change(style: ChangeStyle, ratio: float, first: float, other: float, scale: float) -> str:
    """How a model differs from the first, in words a reader can repeat.

    >>> change("ratio", 95.2, 0.516, 49.13, 1.0)
    '95.2×'
    >>> change("ratio", 0.852, 1.0, 0.852, 1.0)
    '-14.8 %'
    """
    if style == "points":
        return f"{(other - first) * scale:+.2f} points"
    if style == "none":
        return ""
    if ratio >= 2:
        return f"{ratio:.3g}×"
    return f"{(ratio - 1) * 100:+.1f} %" if ratio > 0.1 else f"{(ratio - 1) * 100:+.2f} %"
