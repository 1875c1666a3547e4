"""The machine around the board's sensors: governor, versions, room for sessions, a service that holds the sensors."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from kv260_runtime.doctor.check import Check
from telemetry.client import Connection, socket_path
from telemetry.errors import TelemetryError
from telemetry.files import Files
from telemetry.readers.sensor_file import text

GOVERNOR = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
ROOM_BYTES = 1_000_000_000
"""Room for a day of samples and more."""


def check_python() -> Check:
    """This interpreter and numpy."""
    told = f"Python {platform.python_version()} ({sys.executable}), numpy {version('numpy')}, {platform.machine()}"
    return Check("python", "ok", told)


def check_governor(files: Files, root: Path) -> Check:
    """The frequency governor: a clock that moves is in every latency."""
    governor = text(files, root / GOVERNOR)
    if governor is None:
        return Check("governor", "absent", "no frequency driver tells one")
    if governor != "performance":
        return Check(
            "governor", "warn", f"{governor}: the CPU's clock moves while models run",
            f"echo performance | sudo tee /{GOVERNOR.replace('cpu0', 'cpu*')}",
        )  # fmt: skip
    return Check("governor", "ok", governor)


def check_disk(folder: Path) -> Check:
    """Room where sessions are written."""
    free = shutil.disk_usage(folder).free
    told = f"{free / 1e9:.1f} GB free in {folder}"
    if free < ROOM_BYTES:
        return Check("disk", "warn", told, "write sessions elsewhere: --out", {"free_bytes": free})
    return Check("disk", "ok", told, values={"free_bytes": free})


def check_service(root: Path) -> Check:
    """A running kv260-telemetry, which owns the memory monitor and is a place to ask for everything else."""
    path = socket_path(root)
    if not path.exists():
        return Check("service", "absent", "no kv260-telemetry runs here; none is needed")
    try:
        Connection(path).close()
    except TelemetryError as error:
        return Check("service", "warn", str(error))
    return Check("service", "ok", f"kv260-telemetry listens at {path} and holds the memory monitor")
