"""Power rails behind hwmon: the chip's power file, or volts times amperes where it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
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
CHANNELS_MAX = 8
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
    """The text of inN_label or powerN_label, for a chip with several channels."""
    channel: Annotated[int, msgspec.Meta(ge=1, le=CHANNELS_MAX)] | None = None
    """The N of its files, for a chip with several channels and no labels."""
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

    rails: tuple[Rail, ...] = ()
    """All of them must be there."""
    other_chips: tuple[str, ...] = ()
    """Patterns for the names of chips with a power file that are recorded too, though nobody says what they cover."""

    def __post_init__(self) -> None:
        if len({rail.name for rail in self.rails}) < len(self.rails):
            raise ValueError("two rails have the same name")


class PowerReader:
    """One rail in watts."""

    columns: tuple[Column, ...] = (Column("watts", "W", "gauge"),)

    def __init__(self, files: Files, root: Path, rail: Rail) -> None:
        self._files = files
        self._root = root
        self._rail = rail
        chip, rule = self._find()
        channel = next((c for c in channels(files, chip) if _is_wanted(c, rail)), None)
        if channel is None:
            wanted = rail.label or rail.channel or "with power, or with volts and amperes"
            raise SensorNotFound(f"rail {rail.name}: {chip.folder} ({chip.name}) has no channel {wanted}")
        self._sources = [SensorFile(files, partial(self._locate, name)) for name in channel.sources]
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


@dataclass(frozen=True)
class Channel:
    """One quantity of power that a chip offers."""

    number: int
    label: str | None
    sources: tuple[str, ...]
    """The power file, or the files of volts and amperes."""


def channels(files: Files, chip: Chip) -> Iterator[Channel]:
    """The channels of a chip, those with a power file first.

    Only `input` and `average` are readings; `power1_crit` and its like are limits.
    """
    present = set(names(files, chip.folder))
    for kind, sources in SOURCES:
        for number in range(1, CHANNELS_MAX + 1):
            wanted = tuple(source.format(number) for source in sources)
            if present.issuperset(wanted):
                yield Channel(number, text(files, chip.folder / f"{kind}{number}_label"), wanted)


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `power.RAIL` with the column `watts` for each rail."""
    chosen = decode(Options, options, "hwmon-power")
    rails = [*chosen.rails, *_undescribed(files, root, chosen.other_chips)]
    if not rails:
        raise SensorNotFound(f"no hwmon chip with power is called {' or '.join(chosen.other_chips) or 'anything'}")
    return [(f"power.{rail.name}", PowerReader(files, root, rail)) for rail in rails]


def _is_wanted(channel: Channel, rail: Rail) -> bool:
    return rail.label in (None, channel.label) and rail.channel in (None, channel.number)


def _undescribed(files: Files, root: Path, patterns: tuple[str, ...]) -> Iterator[Rail]:
    """A rail for each channel of the chips that fit `patterns`, named after chip and label.

    Volts times amperes are taken only where a chip has no power file and labels the channel: other chips show voltages
    and currents that have nothing to do with each other.
    """
    taken: set[str] = set()
    for chip in chips(files, root):
        if not any(fnmatchcase(chip.name, pattern) for pattern in patterns):
            continue
        offered = list(channels(files, chip))
        with_power = [channel for channel in offered if len(channel.sources) == 1]
        for channel in with_power or [channel for channel in offered if channel.label]:
            label = channel.label or f"power{channel.number}"
            name = stem = re.sub("[^a-z0-9]+", "_", f"{chip.name} {label}".lower()).strip("_")
            repeat = 1
            while name in taken:
                repeat += 1
                name = f"{stem}_{repeat}"
            taken.add(name)
            yield Rail(
                name=name,
                chips=(ChipRule(chip.name, chip.device.as_posix() if chip.device else None),),
                channel=channel.number,
                covers="unknown: no profile describes this chip",
                boundary=f"{chip.name} {label}",
            )
