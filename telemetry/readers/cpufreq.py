"""Clock frequency of each CPU core, and which governor sets it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from telemetry.errors import SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find
from telemetry.readers.number_files import NumberFile, NumbersReader
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import text

KILO = 1e3
PLAUSIBLE_HERTZ = (1e6, 1e11)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `frequency` with the column hertz.cpuN for each core; `governor` as it was when opened."""
    decode(Options, options, "cpufreq")
    found = find(files, root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq")
    if not found:
        raise SensorNotFound("no scaling_cur_freq in sys/devices/system/cpu: the clock is fixed or not told")
    sources = [
        NumberFile(Column(f"hertz.{path.parent.parent.name}", "Hz", "gauge"), partial(Path, path)) for path in found
    ]
    governors = sorted({text(files, path.with_name("scaling_governor")) or "unknown" for path in found})
    return [("frequency", NumbersReader(files, sources, KILO, PLAUSIBLE_HERTZ, {"governor": ", ".join(governors)}))]
