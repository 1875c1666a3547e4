"""Power drawn from batteries while they discharge; renewed by the firmware each 1 to 30 s, so for long windows only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find, names
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import SensorFile, text, whole_number, within

MICRO = 1e-6
WATTS_MAX = 1000.0
SUPPLIES = "sys/class/power_supply/*"
ON_MAINS = "not discharging"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


class _Supply:
    """One battery: its state, and its power or the current and voltage that make it."""

    def __init__(self, files: Files, folder: Path) -> None:
        def keep(name: str) -> SensorFile:
            return SensorFile(files, partial(Path, folder, name))

        present = names(files, folder)
        sources = ["power_now"] if "power_now" in present else ["current_now", "voltage_now"]
        if not set(sources) <= set(present) or "status" not in present:
            raise SensorNotFound(f"{folder}: neither power_now nor current_now and voltage_now")
        self._status = keep("status")
        self._sources = [keep(name) for name in sources]

    def watts(self) -> float | None:
        """Power drawn from it, None while it is not the source; some drivers count a discharge as negative."""
        if self._status.read() != b"Discharging\n":
            return None
        product = 1.0
        for source in self._sources:
            product *= whole_number(source.read()) * MICRO
        return within(abs(product), 0, WATTS_MAX)

    def close(self) -> None:
        """Close all descriptors."""
        for file in (self._status, *self._sources):
            file.close()


class BatteryReader:
    """All batteries of the machine together."""

    columns: tuple[Column, ...] = (Column("watts", "W", "gauge"),)

    def __init__(self, files: Files, folders: list[Path]) -> None:
        self._supplies = [_Supply(files, folder) for folder in folders]
        self.attributes: Mapping[str, str] = {
            "device": ", ".join(map(str, folders)),
            "covers": "the whole machine, while it runs on battery",
            "boundary": "battery output",
        }

    def read(self) -> tuple[float]:
        """Power of those that discharge; a gap when none does, as a charger then feeds the machine unseen."""
        watts = [value for value in (supply.watts() for supply in self._supplies) if value is not None]
        if not watts:
            raise ReadGap(ON_MAINS)
        return (sum(watts),)

    def close(self) -> None:
        """Close all descriptors."""
        for supply in self._supplies:
            supply.close()


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `power.battery` with the column `watts`."""
    decode(Options, options, "battery")
    folders = [
        folder
        for folder in find(files, root, SUPPLIES)
        if text(files, folder / "type") == "Battery" and text(files, folder / "scope") != "Device"
    ]
    if not folders:
        raise SensorNotFound("no battery in sys/class/power_supply")
    return [("power.battery", BatteryReader(files, folders))]
