"""Power rails behind hwmon: the chip's power file, or volts times amperes where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from telemetry.errors import SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import names
from telemetry.readers.hwmon import Chip, averaging_seconds, chips, matches, node_exporter_chip
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import SensorFile, text, whole_number, within

MICRO = 1e-6
MILLI = 1e-3
VOLTS_MAX = 1000.0
AMPERES_MAX = 1000.0
"""Beyond any board here: a sentinel such as 4294967295 mV must not hide in a product with 0 A."""
CHANNELS_MAX = 9
SOURCES = (
    ("power", ("power{}_input",)),
    ("power", ("power{}_average",)),
    ("in", ("in{}_input", "curr{}_input")),
)
"""Ways to have a channel's power, best first, with the kind whose label names the channel."""

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class ChipRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to recognise the chip of a rail."""

    prefix: Annotated[str, msgspec.Meta(min_length=1)]
    """Start of the hwmon name: one chip is called `ina260_u14` or `ina260`, after its driver."""
    device: str | None = None
    """Pattern for the path of the device with links followed, e.g. `*/i2c-*/*-0040`."""
    averaging_ms: Positive | None = None
    """The driver's default averaging time, used where no file tells the present one."""


class Rail(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rail: how it is found and what its readings mean."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z0-9_]+$")]
    chips: Annotated[tuple[ChipRule, ...], msgspec.Meta(min_length=1)]
    covers: str
    """What is fed from the rail, and what is not."""
    boundary: str
    """The name of the rail that stands beside every figure, e.g. `SOM 5 V rail`."""
    label: str | None = None
    """The text of inN_label or powerN_label where a chip has several channels."""
    gain_u: NotNegative | None = None
    """Relative standard uncertainty of the gain."""
    offset_u_watts: NotNegative | None = None
    resolution_watts: Positive | None = None
    watts_min: float = 0.0
    watts_max: float = 10_000.0
    """Readings outside are sentinels or faults: a gap."""

    def __post_init__(self) -> None:
        if self.watts_min >= self.watts_max:
            raise ValueError(f"watts_min {self.watts_min:g} is not below watts_max {self.watts_max:g}")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rails to record."""

    rails: tuple[Rail, ...]


class PowerReader:
    """One rail in watts."""

    columns: tuple[Column, ...] = (Column("watts", "W", "gauge"),)

    def __init__(self, files: Files, root: Path, rail: Rail) -> None:
        self._files = files
        self._root = root
        self._rail = rail
        chip, rule = self._find()
        sources = power_files(files, chip, rail.label)
        if sources is None:
            what = f"labelled {rail.label}" if rail.label else "of power, or of volts and amperes"
            raise SensorNotFound(f"{chip.folder} ({chip.name}) has no channel {what}")
        self._sources = [SensorFile(files, partial(self._locate, name)) for name in sources]
        self.attributes: Mapping[str, str] = self._describe(chip, rule)

    def read(self) -> tuple[float]:
        """The rail's power."""
        if len(self._sources) == 1:
            watts = whole_number(self._sources[0].read()) * MICRO
        else:
            volts, amperes = (whole_number(source.read()) * MILLI for source in self._sources)
            watts = within(volts, 0, VOLTS_MAX) * within(amperes, -AMPERES_MAX, AMPERES_MAX)
        return (within(watts, self._rail.watts_min, self._rail.watts_max),)

    def close(self) -> None:
        """Close all descriptors."""
        for source in self._sources:
            source.close()

    def _locate(self, name: str) -> Path:
        """The chip may have come back under another number."""
        return self._find()[0].folder / name

    def _find(self) -> tuple[Chip, ChipRule]:
        """The chip of the rail by the first rule that fits one."""
        present = list(chips(self._files, self._root))
        for rule in self._rail.chips:
            for chip in present:
                if matches(chip, rule.prefix, rule.device):
                    return chip, rule
        wanted = ", ".join(f"{rule.prefix}*" for rule in self._rail.chips)
        offered = ", ".join(chip.name for chip in present) or "none"
        raise SensorNotFound(f"rail {self._rail.name}: no hwmon chip is called {wanted}; present: {offered}")

    def _describe(self, chip: Chip, rule: ChipRule) -> dict[str, str]:
        rail = self._rail
        averaging = averaging_seconds(self._files, self._root, chip)
        if averaging is None and rule.averaging_ms is not None:
            averaging = rule.averaging_ms * MILLI, "board profile"
        facts: dict[str, str | float | int | None] = {
            "chip": chip.name,
            "device": chip.device.as_posix() if chip.device else None,
            "node_exporter_chip": node_exporter_chip(chip),
            "covers": rail.covers,
            "boundary": rail.boundary,
            "gain_u": rail.gain_u,
            "offset_u_watts": rail.offset_u_watts,
            "resolution_watts": rail.resolution_watts,
            "averaging_ns": round(averaging[0] * 1e9) if averaging else None,
            "averaging_source": averaging[1] if averaging else None,
        }
        return {key: str(value) for key, value in facts.items() if value is not None}


def power_files(files: Files, chip: Chip, label: str | None) -> list[str] | None:
    """The power file, or the files of volts and amperes, of the channel labelled `label` (of the first, if None).

    Only `input` and `average` are readings; `power1_crit` and its like are limits.
    """
    present = set(names(files, chip.folder))
    for kind, sources in SOURCES:
        for number in range(1, CHANNELS_MAX):
            wanted = [source.format(number) for source in sources]
            if present.issuperset(wanted) and _labelled(files, chip, f"{kind}{number}", label):
                return wanted
    return None


def _labelled(files: Files, chip: Chip, channel: str, label: str | None) -> bool:
    return label is None or text(files, chip.folder / f"{channel}_label") == label


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `power.RAIL` for each rail asked for; all of them must be there."""
    rails = decode(Options, options, "hwmon-power").rails
    return [(f"power.{rail.name}", PowerReader(files, root, rail)) for rail in rails]
