"""Temperatures: thermal zones by type, hwmon chips by name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find
from telemetry.readers.hwmon import chips
from telemetry.readers.number_files import NumberFile, NumbersReader
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import text, whole_number, within

MILLI = 1e-3
PLAUSIBLE_CELSIUS = (-55.0, 200.0)
"""Wider than silicon works in, narrower than the sentinels of drivers (-256 C, -274 C)."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which sensors to record, as patterns."""

    zones: tuple[str, ...] = ("*",)
    """Types of thermal zones, e.g. `cpu-thermal`."""
    chips: tuple[str, ...] = ()
    """Names of hwmon chips, e.g. `ams`."""


def sensors(files: Files, root: Path, chosen: Options) -> dict[str, Path]:
    """File of each sensor by name: `TYPE` for a zone, `CHIP.LABEL` or `CHIP.tempN` for a chip; repeats are numbered."""
    found: dict[str, Path] = {}
    for name, path in (*_zones(files, root, chosen), *_chips(files, root, chosen)):
        name = re.sub(r"[^a-z0-9_.-]", "_", name.lower())
        number = 1 + sum(other == name or other.startswith(f"{name}#") for other in found)
        found[name if number == 1 else f"{name}#{number}"] = path
    return found


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `temperature` with the column celsius.SENSOR for each sensor that answers plausibly when opened."""
    chosen = decode(Options, options, "thermal")
    sources = [
        NumberFile(Column(f"celsius.{name}", "Cel", "gauge"), partial(_locate, files, root, chosen, name))
        for name, path in sensors(files, root, chosen).items()
        if _answers(files, path)
    ]
    if not sources:
        raise SensorNotFound("no temperature sensor in sys/class/thermal or sys/class/hwmon answers")
    return [("temperature", NumbersReader(files, sources, MILLI, PLAUSIBLE_CELSIUS, {}))]


def _zones(files: Files, root: Path, chosen: Options) -> Iterator[tuple[str, Path]]:
    for folder in find(files, root, "sys/class/thermal/thermal_zone*"):
        kind = text(files, folder / "type")
        if kind is not None and any(fnmatchcase(kind, pattern) for pattern in chosen.zones):
            yield kind, folder / "temp"


def _chips(files: Files, root: Path, chosen: Options) -> Iterator[tuple[str, Path]]:
    for chip in chips(files, root):
        if any(fnmatchcase(chip.name, pattern) for pattern in chosen.chips):
            for path in find(files, chip.folder, "temp*_input"):
                sensor = path.name.partition("_")[0]
                yield f"{chip.name}.{text(files, chip.folder / f'{sensor}_label') or sensor}", path


def _answers(files: Files, path: Path) -> bool:
    try:
        within(whole_number(files.read(path)) * MILLI, *PLAUSIBLE_CELSIUS)
    except OSError:
        return False
    return True


def _locate(files: Files, root: Path, chosen: Options, name: str) -> Path:
    try:
        return sensors(files, root, chosen)[name]
    except KeyError:
        raise SensorNotFound(f"temperature sensor {name} is gone") from None
