"""Each sensor kind of a board profile: found, readable, plausible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from kv260_runtime.doctor.check import Check, Status
from telemetry.boards import BoardProfile, StreamPlan
from telemetry.errors import ReadGap, TelemetryError
from telemetry.figures.busy import CRASHED
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader, open_kind

MISSING: Mapping[str, str] = {
    "xrt-cu": "load a firmware with a DPU: sudo xmutil listapps, sudo xmutil loadapp NAME; its driver is zocl",
    "hwmon-power": "look at /sys/class/hwmon/*/name: the chip needs its driver (KV260: ina260-adc with iio-hwmon, or "
    "ina2xx); another chip needs a board profile of its own (docs/board-profiles.md)",
    "apm": "the kernel needs uio_xilinx_apm and the monitor's node in its device tree",
}
"""What to do about a sensor that is not there."""
FORBIDDEN = (
    "sudo install -m 644 systemd/udev/60-kvbench.rules /etc/udev/rules.d/, join the group kvd (docs/on-a-board.md)"
)
FORBIDDEN_SIGNS = ("permission denied", "not permitted")
TAKEN_SIGNS = ("in use", "already running")
TRIES = 5
"""A sensor that is being converted may be busy once or twice."""
PLAUSIBLE = {"W": (0.0, 1000.0), "Cel": (-55.0, 150.0), "Hz": (1e6, 1e11)}
"""Unit to the span of values that are no sentinel."""


def check_sensors(files: Files, root: Path, profile: BoardProfile) -> list[Check]:
    """One check a stream, or one a kind that gives none."""
    return [check for plan in profile.streams for check in _check_kind(files, root, plan)]


def _check_kind(files: Files, root: Path, plan: StreamPlan) -> Iterator[Check]:
    try:
        readers = open_kind(plan.kind, files, root, plan.options)
    except (TelemetryError, OSError) as error:
        status: Status = "fail" if plan.required else "absent"
        yield Check(f"sensor {plan.kind}", status, str(error), remedy(plan.kind, str(error)))
        return
    for name, reader in readers:
        try:
            yield check_reader(name, reader)
        finally:
            reader.close()


def remedy(kind: str, reason: str) -> str | None:
    """What to do about a sensor of a kind that cannot be opened for a reason; None where the machine has none."""
    lowered = reason.lower()
    if any(sign in lowered for sign in FORBIDDEN_SIGNS):
        return FORBIDDEN
    if any(sign in lowered for sign in TAKEN_SIGNS):
        return "end the program that uses it, or attach to the service: kvbench profile does so by itself"
    return MISSING.get(kind)


def check_reader(name: str, reader: Reader) -> Check:
    """One open sensor: it gives a reading, and that can be true."""
    label = f"sensor {name}"
    for _ in range(TRIES):
        try:
            values = reader.read()
            break
        except ReadGap as gap:
            reason = gap.reason
    else:
        return Check(label, "warn", f"found, but {TRIES} reads gave nothing: {reason}")
    for column, value in zip(reader.columns, values, strict=True):
        if column.kind == "state" and int(value) == CRASHED:
            unit = column.name.partition(".")[2]
            return Check(
                label, "fail", f"{unit} reports 0xffffffff: the driver has given it up",
                "reload the firmware as root: sudo xmutil unloadapp, sudo xmutil loadapp NAME",
            )  # fmt: skip
        low, high = PLAUSIBLE.get(column.unit, (float("-inf"), float("inf")))
        if not low <= value <= high:
            return Check(label, "warn", f"{column.name} reads {value:g} {column.unit}: no such value is possible")
    return Check(label, "ok", "; ".join(_told(reader, values)), values=_values(reader, values))


def _told(reader: Reader, values: tuple[float | int, ...]) -> Iterator[str]:
    """Readings, then how the sensor is known."""
    shown = [_reading(column, value) for column, value in zip(reader.columns, values, strict=True)]
    yield ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")
    facts = reader.attributes
    if "chip" in facts:
        yield f"{facts['chip']}, {facts.get('boundary', 'boundary unknown')}"
    if "averaging_ns" in facts:
        milliseconds = float(facts["averaging_ns"]) / 1e6
        yield f"averages over {milliseconds:g} ms by {facts.get('averaging_source', 'the profile')}"
    elif reader.columns[0].unit == "W":
        yield "averaging time unknown"
    if "device" in facts and "chip" not in facts:
        yield facts["device"]


def _reading(column: Column, value: float | int) -> str:
    if column.kind == "state":
        return f"{column.name} 0x{int(value):x}"
    unit = "" if column.unit == "1" else f" {column.unit}"
    return f"{column.name} {value:g}{unit}" if isinstance(value, float) else f"{column.name} {value}{unit}"


def _values(reader: Reader, values: tuple[float | int, ...]) -> dict[str, float | int]:
    return {column.name: value for column, value in zip(reader.columns, values, strict=True)}
