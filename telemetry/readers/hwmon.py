"""Hwmon chips: found by name and bus, never by number, and how long their values are averages of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from telemetry.files import Files
from telemetry.readers.find import find, names
from telemetry.readers.sensor_file import text


@dataclass(frozen=True)
class Chip:
    """One folder of sys/class/hwmon."""

    folder: Path
    name: str
    device: Path | None
    """The device behind it with links followed, None for a chip without one."""


def chips(files: Files, root: Path) -> Iterator[Chip]:
    """All chips, by number for want of a better order; the number is not stable across boots."""
    for folder in find(files, root, "sys/class/hwmon/*"):
        name = text(files, folder / "name")
        if name is not None:
            yield Chip(folder, name, _device(files, folder))


def matches(chip: Chip, prefix: str, device: str | None) -> bool:
    """True if the chip's name starts with `prefix` and its device's path fits the pattern `device`, if one is given."""
    return chip.name.startswith(prefix) and (
        device is None or (chip.device is not None and fnmatchcase(chip.device.as_posix(), device))
    )


def node_exporter_chip(chip: Chip) -> str:
    """The `chip` label that node_exporter gives this chip, so that users can join both.

    Bus and device name of the device's path, else the chip's name, lower case, anything else than a-z, 0-9, : as `_`.
    """
    if chip.device is None:
        return _clean(chip.name) or chip.folder.name
    parts = [_clean(chip.device.parent.name), _clean(chip.device.name)]
    return "_".join(part for part in parts if part)


def averaging_seconds(files: Files, root: Path, chip: Chip) -> tuple[float, str] | None:
    """How long the window is that a value of the chip averages over, and which files say so; None if none does.

    measurement_rules.md, The power sensor: oversampling ratio x integration times (IIO), or update_interval (hwmon).
    """
    interval_ms = _positive(text(files, chip.folder / "update_interval"))
    if interval_ms is not None:
        return interval_ms * 1e-3, "update_interval"
    for folder in _iio_siblings(files, root, chip):
        ratio = _positive(text(files, folder / "in_oversampling_ratio"))
        integration = _integration_seconds(files, folder)
        if ratio is not None and integration is not None:
            return ratio * integration, f"{folder.name}: in_oversampling_ratio x integration_time"
    return None


def _iio_siblings(files: Files, root: Path, chip: Chip) -> list[Path]:
    """The IIO device that iio-hwmon shows as this chip: told by its label, else by name if only one fits."""
    fitting = []
    for folder in find(files, root, "sys/bus/iio/devices/iio:device*"):
        if (text(files, folder / "label") or "").replace("-", "_") == chip.name:
            return [folder]
        name = text(files, folder / "name") or ""
        if name and chip.name.startswith(name.partition("-")[0]):
            fitting.append(folder)
    return fitting if len(fitting) == 1 else []


def _integration_seconds(files: Files, folder: Path) -> float | None:
    """Time to convert current and voltage once each: power is their product, so both are part of its window."""
    times = [
        _positive(text(files, folder / name))
        for kind in ("current", "voltage")
        for name in names(files, folder)
        if fnmatchcase(name, f"in_{kind}*_integration_time")
    ]
    if len(times) < 2:
        common = _positive(text(files, folder / "in_integration_time") or text(files, folder / "integration_time"))
        times = [common, common]
    return sum(t for t in times[:2] if t is not None) if all(times[:2]) else None


def _device(files: Files, folder: Path) -> Path | None:
    try:
        return files.resolve(folder / "device")
    except OSError:
        return None


def _positive(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def _clean(name: str) -> str:
    return re.sub(r"[^a-z0-9:_]", "_", name.lower()).strip("_")
