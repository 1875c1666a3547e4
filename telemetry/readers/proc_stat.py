"""CPU time per core from /proc/stat, cumulative and in seconds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import GARBAGE, SensorFile

FIELDS = 8
"""user nice system idle iowait irq softirq steal; guest and guest_nice follow and are inside user and nice."""
IDLE = 3
IOWAIT = 4
BYTES_PER_CORE = 256
OFFLINE = "core offline"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


def parse_cores(data: bytes) -> dict[str, tuple[int, int]]:
    """Busy and total ticks of each `cpuN` line (not of the sum line `cpu`), in the file's order.

    Busy is all but idle and iowait (board.md 11.4). Only whole lines are read; ReadGap if one of them is malformed.
    """
    cores: dict[str, tuple[int, int]] = {}
    lines = data.split(b"\n")
    for line in lines[:-1]:
        fields = line.split()
        if not fields or not fields[0].startswith(b"cpu"):
            break
        if fields[0] != b"cpu":
            counts = fields[1 : FIELDS + 1]
            if len(counts) < FIELDS or not all(count.isdigit() for count in counts):
                raise ReadGap(GARBAGE)
            ticks = [int(count) for count in counts]
            total = sum(ticks)
            cores[fields[0].decode("ascii", "replace")] = total - ticks[IDLE] - ticks[IOWAIT], total
    if not cores:
        raise ReadGap(GARBAGE)
    return cores


class ProcStatReader:
    """All cores that were online when it was opened."""

    def __init__(self, files: Files, path: Path, ticks_per_second: int) -> None:
        try:
            self._cores = tuple(parse_cores(files.read(path)))
        except OSError as error:
            raise SensorNotFound(f"{path}: CPU time cannot be read: {error}") from error
        self._file = SensorFile(files, lambda: path, size=4096 + BYTES_PER_CORE * len(self._cores))
        self._tick_seconds = 1 / ticks_per_second
        self._total = dict.fromkeys(self._cores, 0)
        self.columns: tuple[Column, ...] = tuple(
            Column(f"{what}.{core}", "s", "counter") for core in self._cores for what in ("busy", "total")
        )
        self.attributes: Mapping[str, str] = {"ticks_per_second": str(ticks_per_second)}

    def read(self) -> tuple[float, ...]:
        """Busy and total seconds of each core since boot."""
        present = parse_cores(self._file.read())
        values = []
        for core in self._cores:
            if core not in present:
                raise ReadGap(OFFLINE)
            busy, total = present[core]
            # iowait may step back by a few ticks (proc(5)); a counter may not.
            self._total[core] = max(self._total[core], total)
            values += [busy * self._tick_seconds, self._total[core] * self._tick_seconds]
        return tuple(values)

    def close(self) -> None:
        """Close the descriptor."""
        self._file.close()


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `cpu`: busy.cpuN and total.cpuN in seconds for each core."""
    decode(Options, options, "proc-stat")
    return [("cpu", ProcStatReader(files, root / "proc/stat", os.sysconf("SC_CLK_TCK")))]
