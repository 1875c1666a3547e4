"""Where XRT's edge driver (zocl) keeps the state of compute units in sysfs."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from telemetry.errors import ReadGap
from telemetry.files import Files
from telemetry.readers.find import find, names
from telemetry.readers.sensor_file import GARBAGE, text, whole_numbers

STATE_FILE = "kds_custat_raw"
PLATFORM = "sys/devices/platform"
DEVICE_SUFFIX = "zyxclmm_drm"
PLATFORM_DEPTH = 3


def render_devices(files: Files, root: Path) -> Iterator[Path]:
    """Devices of DRM nodes that have the state file; card numbers mean nothing, a display is a DRM node as well."""
    for path in find(files, root, f"sys/class/drm/*/device/{STATE_FILE}"):
        yield path.parent


def platform_devices(files: Files, root: Path) -> Iterator[Path]:
    """Devices below the platform bus whose name ends as zocl's does; the folder above differs by kernel."""
    for depth in range(PLATFORM_DEPTH):
        for path in find(files, root, f"{PLATFORM}/{'*/' * depth}*{DEVICE_SUFFIX}/{STATE_FILE}"):
            yield path.parent


def completed_file(files: Files, device: Path, instance: str, alone: bool) -> Path | None:
    """The `stat` file that counts the completed commands of a compute unit, None where there is none to be had.

    From XRT 2.14, told by `stats_begin` beside it, reading `stat` changes what it measures (board.md 1.4): it is left
    alone. `alone` says that the overlay has one compute unit, which then needs no name to be recognised.
    """
    folders = [device / name for name in names(files, device) if fnmatchcase(name, "CU.*.auto")]
    for folder in folders:
        present = names(files, folder)
        if "stat" not in present or "stats_begin" in present:
            continue
        owner = _instance_name(files, folder)
        if owner == instance or (owner is None and alone and len(folders) == 1):
            return folder / "stat"
    return None


def completed_count(data: bytes) -> int:
    """The first of the exactly two numbers of `stat`: completed, in flight."""
    numbers = whole_numbers(data)
    if len(numbers) != 2:
        raise ReadGap(GARBAGE)
    return numbers[0]


def _instance_name(files: Files, folder: Path) -> str | None:
    """What `cu_info` calls the unit; the number in the folder's name is not the unit's index."""
    for line in (text(files, folder / "cu_info") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "Instance(CU) name":
            return value.strip().rpartition(":")[2]
    return None
