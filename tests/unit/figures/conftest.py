"""Series made by hand, as session fixtures that return builders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from telemetry.model import Column, Gap, Series, Stream

Build = Callable[..., Series]
MS = 1_000_000
CU = "DPUCZDX8G_1"


def build(
    name: str,
    columns: Sequence[Column],
    t_ns: Any,
    values: Mapping[str, Any],
    period_ns: int = 10 * MS,
    attributes: Mapping[str, str] | None = None,
    late_ns: Any = None,
    gaps: tuple[Gap, ...] = (),
) -> Series:
    """A series of one stream."""
    times = np.asarray(t_ns, dtype=np.int64)
    late = np.zeros(times.size, dtype=np.int64) if late_ns is None else np.asarray(late_ns, dtype=np.int64)
    stream = Stream(name, name.partition(".")[0], period_ns, tuple(columns), attributes or {})
    return Series(stream, times, late, {key: np.asarray(samples) for key, samples in values.items()}, gaps)


@pytest.fixture(scope="session")
def power_series() -> Build:
    """`power_series(t_ns, watts, averaging_ns=None, **rest)`."""

    def power(t_ns: Any, watts: Any, averaging_ns: int | None = None, **rest: Any) -> Series:
        attributes = {} if averaging_ns is None else {"averaging_ns": str(averaging_ns)}
        watts = np.asarray(watts, dtype=np.float64)
        return build(
            "power.som", [Column("watts", "W", "gauge")], t_ns, {"watts": watts}, attributes=attributes, **rest
        )

    return power


@pytest.fixture(scope="session")
def cu_series() -> Build:
    """`cu_series(t_ns, status, usage=None, completed=None, **rest)` of one unit called DPUCZDX8G_1."""

    def unit(t_ns: Any, status: Any, usage: Any = None, completed: Any = None, **rest: Any) -> Series:
        columns = [Column(f"status.{CU}", "1", "state"), Column(f"usage.{CU}", "1", "counter")]
        values = {columns[0].name: np.asarray(status, dtype=np.int64)}
        values[columns[1].name] = np.zeros(len(t_ns), dtype=np.int64) if usage is None else np.asarray(usage)
        if completed is not None:
            columns.append(Column(f"completed.{CU}", "1", "counter"))
            values[columns[2].name] = np.asarray(completed)
        return build("cu", columns, t_ns, values, **{"period_ns": MS, **rest})

    return unit


@pytest.fixture(scope="session")
def apm_series() -> Build:
    """`apm_series(t_ns, {"read.slot1": unwrapped bytes, ...}, clock=None)`; samples are wrapped at 2**32."""

    def apm(t_ns: Any, ports: Mapping[str, Any], clock: Any = None, **rest: Any) -> Series:
        counted = {**ports, **({} if clock is None else {"clock": clock})}
        columns = [Column(name, "1" if name == "clock" else "B", "counter", wrap=2**32) for name in counted]
        values = {name: np.asarray(samples, dtype=np.int64) % 2**32 for name, samples in counted.items()}
        return build("apm", columns, t_ns, values, **{"period_ns": 100 * MS, **rest})

    return apm


@pytest.fixture(scope="session")
def cpu_series() -> Build:
    """`cpu_series(t_ns, busy, total)`: seconds per core, each a list of one array a core."""

    def cpu(t_ns: Any, busy: Sequence[Any], total: Sequence[Any], **rest: Any) -> Series:
        values = {f"busy.cpu{core}": np.asarray(samples, dtype=np.float64) for core, samples in enumerate(busy)}
        values |= {f"total.cpu{core}": np.asarray(samples, dtype=np.float64) for core, samples in enumerate(total)}
        columns = [Column(name, "s", "counter") for name in values]
        return build("cpu", columns, t_ns, values, **{"period_ns": 1000 * MS, **rest})

    return cpu


@pytest.fixture(scope="session")
def observer_series() -> Build:
    """`observer_series(t_ns, cpu_seconds)`."""

    def observer(t_ns: Any, cpu_seconds: Any, **rest: Any) -> Series:
        values = {"cpu_seconds": np.asarray(cpu_seconds, dtype=np.float64)}
        return build(
            "observer", [Column("cpu_seconds", "s", "counter")], t_ns, values, **{"period_ns": 1000 * MS, **rest}
        )

    return observer


@pytest.fixture(scope="session")
def joule_series() -> Build:
    """`joule_series(t_ns, joules, wrap)`: an energy counter."""

    def counter(t_ns: Any, joules: Any, wrap: int | None = None, **rest: Any) -> Series:
        column = Column("joules", "J", "counter", wrap=wrap)
        return build("energy.package-0", [column], t_ns, {"joules": np.asarray(joules, dtype=np.float64)}, **rest)

    return counter
