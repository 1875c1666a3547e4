"""Energy counters of x86 packages (RAPL) through the powercap tree; they wrap at max_energy_range_uj."""

from __future__ import annotations

from collections.abc import Mapping
from errno import EACCES
from fnmatch import fnmatchcase
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find
from telemetry.readers.number_files import NumberFile, NumbersReader
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import text, whole_number

MICRO = 1e-6
COVERS = {"package": "CPU package", "psys": "platform", "dram": "memory", "core": "CPU cores", "uncore": "graphics"}


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which zones to record."""

    zones: tuple[str, ...] = ("*",)
    """Patterns for names such as `package-0`, `psys`, and `package-0.core` for a zone inside another."""


def zones(files: Files, root: Path) -> dict[str, Path]:
    """Folder of each zone by name; zones of the same package seen through MMIO are left out, they count it again."""
    found: dict[str, Path] = {}
    for folder in find(files, root, "sys/class/powercap/intel-rapl:*"):
        name = text(files, folder / "name")
        if name is None:
            continue
        parent = folder.name.rpartition(":")[0]
        outer = text(files, folder.with_name(parent) / "name") if parent.count(":") else None
        found[f"{outer}.{name}" if outer else name] = folder
    return found


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `energy.ZONE` with the column `joules` for each zone asked for."""
    chosen = decode(Options, options, "rapl")
    found = [
        (name, folder)
        for name, folder in zones(files, root).items()
        if any(fnmatchcase(name, pattern) for pattern in chosen.zones)
    ]
    if not found:
        raise SensorNotFound("no RAPL zone in sys/class/powercap; not an x86 machine, or a virtual one")
    return [(f"energy.{name}", _open(files, root, name, folder)) for name, folder in found]


def _open(files: Files, root: Path, name: str, folder: Path) -> NumbersReader:
    try:
        whole_number(files.read(folder / "energy_uj"))
        wrap_joules = whole_number(files.read(folder / "max_energy_range_uj")) * MICRO
    except ReadGap as gap:
        raise SensorNotFound(f"{folder}: {gap.reason}") from gap
    except OSError as error:
        remedy = "; only root may read it, unless a udev rule lets a group in" if error.errno == EACCES else ""
        raise SensorNotFound(f"{folder}/energy_uj: {error.strerror or error}{remedy}") from error
    kind = name.rpartition(".")[2].partition("-")[0]
    source = NumberFile(Column("joules", "J", "counter", wrap_joules), partial(_locate, files, root, name))
    covers = COVERS.get(kind, name)
    return NumbersReader(files, [source], MICRO, (0, inf), {"device": str(folder), "covers": covers, "boundary": name})


def _locate(files: Files, root: Path, name: str) -> Path:
    try:
        return zones(files, root)[name] / "energy_uj"
    except KeyError:
        raise SensorNotFound(f"RAPL zone {name} is gone") from None
