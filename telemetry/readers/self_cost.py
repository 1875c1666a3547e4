"""CPU time of the recording process itself, so that the observer can be taken off what it observed."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.options import decode


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


def own_cpu_seconds() -> float:
    """User and system time of all threads of this process (measurement_rules.md, Counters)."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class SelfCostReader:
    """CPU time of this process by a function that tells it."""

    columns: tuple[Column, ...] = (Column("cpu_seconds", "s", "counter"),)
    attributes: Mapping[str, str] = {"covers": "the recorder process"}

    def __init__(self, cpu_seconds: Callable[[], float] = own_cpu_seconds) -> None:
        self._cpu_seconds = cpu_seconds

    def read(self) -> tuple[float]:
        """Seconds used since the process began."""
        return (self._cpu_seconds(),)

    def close(self) -> None:
        """Nothing to give back."""


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:  # noqa: ARG001
    """One stream `observer` with the column `cpu_seconds`."""
    decode(Options, options, "self-cost")
    return [("observer", SelfCostReader())]
