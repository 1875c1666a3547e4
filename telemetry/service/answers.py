"""What is told of a span of time that a client names: joules, bytes, busy share, by the same code as in sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from telemetry.errors import NotCovered
from telemetry.figures import busy, memory, power
from telemetry.figures.figure import Figure
from telemetry.figures.pieces import cut
from telemetry.model import Series, Stream, Window
from telemetry.service.history import History
from telemetry.service.increments import unit_names
from telemetry.service.requests import Between, Quantity
from telemetry.uncertainty import Budget, rail_components

RAIL_KINDS = ("hwmon-power", "rapl", "battery")
KINDS: Mapping[Quantity, tuple[str, ...]] = {"joules": RAIL_KINDS, "bytes": ("apm",), "busy": ("xrt-cu",)}
"""What the streams that tell a quantity are read by."""

Answer = dict[str, Any]


def source_of(request: Between, histories: Mapping[str, History]) -> History:
    """The stream that can answer; NotCovered if the board has none, or none of that name."""
    fitting = [history for history in histories.values() if history.stream.kind in KINDS[request.quantity]]
    if not fitting:
        raise NotCovered(f"nothing here tells {request.quantity}: no {' or '.join(KINDS[request.quantity])} sensor")
    if request.quantity != "joules" or request.whose is None:
        return fitting[0]
    rails = {rail_name(history.stream): history for history in fitting}
    if request.whose not in rails:
        raise NotCovered(f"no rail is called {request.whose}; there is {', '.join(rails)}")
    return rails[request.whose]


def rail_name(stream: Stream) -> str:
    """`som` of the stream `power.som`."""
    return stream.name.partition(".")[2]


def needed_until_ns(request: Between, history: History) -> int:
    """The instant up to which there must be samples: a power reading is as old as its averaging time."""
    late_ns = power.averaging_ns(history.stream) if request.quantity == "joules" else None
    return request.end_ns + (late_ns or 0)


def answer(request: Between, history: History) -> Answer:
    """The quantity over the span with its quality; NotCovered with the reason if the samples do not deserve one."""
    series = history.since(request.start_ns)
    if series.t_ns.size == 0:
        raise NotCovered(f"stream {history.stream.name} has no sample yet")
    window = Window(request.start_ns, request.end_ns)
    if series.t_ns[0] > request.start_ns:
        ago = (series.t_ns[-1] - series.t_ns[0]) / 1e9
        raise NotCovered(f"the start lies before what is remembered: the latest {ago:.0f} s of {history.stream.name}")
    if request.quantity == "joules":
        found = _joules(series, window)
    elif request.quantity == "bytes":
        found = _bytes(series, window)
    else:
        found = _busy(series, window, request.whose)
    return {"ok": True, "seconds": window.seconds, **found}


def _joules(series: Series, window: Window) -> Answer:
    found = power.energy_joules(series, window)
    return {
        "joules": found.value,
        "watts": found.value / window.seconds,
        "rail": rail_name(series.stream),
        **_uncertainty(series, window, found),
        **_quality(found),
    }


def _uncertainty(series: Series, window: Window, found: Figure) -> Answer:
    """Half-width of the accuracy interval, as far as the board profile states what the sensor is worth."""
    readings = series.values.get(power.WATTS)
    ripple = 0.0
    if readings is not None:
        inside = cut(series.t_ns, window).of(readings)
        ripple = float(np.std(inside, ddof=1)) if inside.size > 1 else 0.0
    try:
        components = rail_components(
            series.stream, found.value, found.value / window.seconds, ripple, seconds=window.seconds
        )
    except NotCovered as refusal:
        return {"uncertainty_joules": None, "uncertainty_reason": str(refusal)}
    return {"uncertainty_joules": Budget(found.value, tuple(components)).expanded}


def _bytes(series: Series, window: Window) -> Answer:
    ports = memory.port_bytes(series, window)
    moved = {name: figure.value for name, figure in ports.items()}
    read = sum(value for name, value in moved.items() if name.startswith("read."))
    total = sum(moved.values())
    return {"bytes": total, "read": read, "write": total - read, "ports": moved, **_quality(next(iter(ports.values())))}


def _busy(series: Series, window: Window, whose: str | None) -> Answer:
    units = unit_names(series)
    name = units[0] if whose is None else whose
    if name not in units:
        raise NotCovered(f"no accelerator is called {name}; there is {', '.join(units)}")
    found = busy.busy_share(series, name, window)
    return {"busy_share": found.value, "accelerator": name, **_quality(found)}


def _quality(found: Figure) -> Answer:
    quality = found.quality
    return {"covered": quality.covered, "samples": quality.samples, "notes": list(quality.notes)}
