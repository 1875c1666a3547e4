"""Readers of sensors, one file a kind: each yields values in SI over a root folder, without a thread or a clock."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from telemetry.errors import ConfigError
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers.options import nearest


class Reader(Protocol):
    """One sensor, kept open."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What a reading holds, fixed for the life of the reader."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """What figures must know of the sensor; goes into `Stream.attributes`."""
        ...

    def read(self) -> tuple[float | int, ...]:
        """One value per column, in SI.

        Raises ReadGap, and nothing else, when the sensor gives no value now; the next call tries again.
        """
        ...

    def close(self) -> None:
        """Give the sensor back; idempotent."""
        ...


READERS: Mapping[str, str] = {
    "xrt-cu": "telemetry.readers.xrt_cu:open_readers",
    "proc-stat": "telemetry.readers.proc_stat:open_readers",
    "apm": "telemetry.readers.apm:open_readers",
    "hwmon-power": "telemetry.readers.hwmon_power:open_readers",
    "rapl": "telemetry.readers.rapl:open_readers",
    "battery": "telemetry.readers.battery:open_readers",
    "thermal": "telemetry.readers.thermal:open_readers",
    "cpufreq": "telemetry.readers.cpufreq:open_readers",
    "gpu-load": "telemetry.readers.gpu_load:open_readers",
    "self-cost": "telemetry.readers.self_cost:open_readers",
}
"""Kind of sensor to `module:callable`; the module also offers `Options`, a frozen msgspec struct."""


def open_kind(kind: str, files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """Open every sensor of a kind that `options` ask for, as (stream name, reader).

    Raises SensorNotFound if the board does not offer it to this user, ConfigError for wrong options.
    """
    module, opener = _row(kind)
    readers: list[tuple[str, Reader]] = getattr(importlib.import_module(module), opener)(files, root, options)
    return readers


def options_type(kind: str) -> type[msgspec.Struct]:
    """The struct that the options of a kind must fit; ConfigError for an unknown kind."""
    struct: type[msgspec.Struct] = importlib.import_module(_row(kind)[0]).Options
    return struct


def _row(kind: str) -> tuple[str, str]:
    if kind not in READERS:
        raise ConfigError(f"unknown sensor kind {kind!r}{nearest(kind, READERS)}")
    module, _, opener = READERS[kind].partition(":")
    return module, opener
