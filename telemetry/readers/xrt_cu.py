"""XRT compute units: status word, dispatched and completed commands, from the text the zocl driver keeps in sysfs.

Only software copies are read. The control register itself is never touched: reading it may clear ap_done and make the
driver lose a completion (board.md 1.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import names
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import GARBAGE, SensorFile, text
from telemetry.readers.zocl import STATE_FILE, completed_count, completed_file, platform_devices, render_devices

NO_UNIT = "no compute unit"

SETTLING_READS = 2
"""The completed count is read with each changed state and this many times after, as it may follow by a moment."""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which compute units to watch."""

    kernel: str = "DPU"
    """Prefix of the kernel's name; other kernels of the same overlay (a scaler, say) are left out."""


class ComputeUnit(NamedTuple):
    """One line of kds_custat_raw."""

    kernel: str
    instance: str
    address: str
    status: int
    usage: int


def parse_units(data: bytes) -> list[ComputeUnit]:
    """The lines `[slot,]index,kernel:instance,address,status,usage` (6 fields from XRT 2.13, 5 before).

    Raises ReadGap unless the text is whole: every line well formed, one newline at its end.
    """
    if not data.endswith(b"\n") or data.endswith(b"\n\n"):
        raise ReadGap(GARBAGE)
    try:
        return [_unit(line.split(",")) for line in data[:-1].decode("ascii").split("\n")]
    except ValueError:
        raise ReadGap(GARBAGE) from None


def _unit(fields: list[str]) -> ComputeUnit:
    name, address, status, usage = fields[-4:]
    kernel, _, instance = name.partition(":")
    if not 5 <= len(fields) <= 6 or not instance or not status.startswith("0x") or not usage.isdigit():
        raise ValueError(fields)
    return ComputeUnit(kernel, instance, address, int(status, 16), int(usage))


def parse_tail(data: bytes, lead: bytes) -> tuple[int, int] | None:
    """Status and usage of a text that is `lead` and these two; None if it is anything else, or not whole.

    The text of one unit changes twice per command, always here: this costs a third of parsing it all.
    """
    status, _, usage = data[len(lead) :].partition(b",")
    if not data.startswith(lead) or status[:2] != b"0x" or usage[-1:] != b"\n" or not usage[:-1].isdigit():
        return None
    try:
        return int(status, 16), int(usage)
    except ValueError:
        return None


class XrtCuReader:
    """The compute units of one zocl device whose kernel's name has a given prefix; all stand in one text."""

    def __init__(self, files: Files, root: Path, device: Path, kernel: str) -> None:
        self._files = files
        self._root = root
        self._device = device
        self._kernel = kernel
        self._state = SensorFile(files, self._locate)
        units = parse_units(self._state.read())
        watched = [unit for unit in units if unit.kernel.startswith(kernel)]
        self._alone = len(units) == 1
        self._instances = tuple(unit.instance for unit in watched)
        counted = [
            name
            for name in self._instances
            if _counts_completions(files, completed_file(files, device, name, self._alone))
        ]
        self._completed = [SensorFile(files, partial(self._locate_completed, name)) for name in counted]
        self.columns: tuple[Column, ...] = (
            *(Column(f"status.{name}", "1", "state") for name in self._instances),
            *(Column(f"usage.{name}", "1", "counter") for name in self._instances),
            *(Column(f"completed.{name}", "1", "counter") for name in counted),
        )
        self.attributes: Mapping[str, str] = {
            "device": str(device),
            "xclbin": text(files, device / "xclbinid") or "unknown",
            **{f"address.{unit.instance}": unit.address for unit in watched},
        }
        self._previous = b""
        self._lead: bytes | None = None
        self._states: tuple[int, ...] = ()
        self._values: tuple[int, ...] = ()
        self._unsettled = 0

    def read(self) -> tuple[int, ...]:
        """Status words (raw), then dispatched and, where offered, completed commands of all units."""
        try:
            data = self._state.read()
            if data != self._previous:
                self._change(data)
            elif not self._unsettled:
                return self._values
            if self._completed:
                self._unsettled -= 1
                self._values = (*self._states, *[completed_count(file.read()) for file in self._completed])
            return self._values
        except ReadGap:
            self._forget()
            raise

    def close(self) -> None:
        """Close all descriptors."""
        self._state.close()
        self._forget()

    def _change(self, data: bytes) -> None:
        """Take in a new text; one that is not whole was caught while it was being written and is read once more."""
        if self._lead is not None and (tail := parse_tail(data, self._lead)):
            self._settle(data, tail)
            return
        try:
            units = parse_units(data)
        except ReadGap:
            data = self._state.read()
            units = parse_units(data)
        present = {unit.instance: unit for unit in units}
        try:
            watched = [present[name] for name in self._instances]
        except KeyError:
            raise ReadGap(NO_UNIT) from None
        self._lead = data.rsplit(b",", 2)[0] + b"," if len(units) == 1 else None
        self._settle(data, (*[unit.status for unit in watched], *[unit.usage for unit in watched]))

    def _settle(self, data: bytes, states: tuple[int, ...]) -> None:
        self._states = self._values = states
        self._unsettled = SETTLING_READS + 1 if self._completed else 0
        self._previous = data

    def _forget(self) -> None:
        """After a gap nothing known holds: a reloaded firmware renumbers the CU devices and restarts the counts."""
        self._previous = b""
        self._lead = None
        for file in self._completed:
            file.close()

    def _locate(self) -> Path:
        """The state file of the device known, else of whatever device now lists such a unit."""
        if STATE_FILE not in names(self._files, self._device):
            self._device = _holding(self._files, render_devices(self._files, self._root), self._kernel)
        return self._device / STATE_FILE

    def _locate_completed(self, name: str) -> Path:
        path = completed_file(self._files, self._device, name, self._alone)
        if path is None:
            raise SensorNotFound(f"{self._device}: no completed count of {name}")
        return path


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `cu`: for each unit NAME the columns status.NAME, usage.NAME and, on XRT 2.13, completed.NAME."""
    kernel = decode(Options, options, "xrt-cu").kernel
    candidates = [*render_devices(files, root), *platform_devices(files, root)]
    device = _holding(files, candidates, kernel)
    try:
        return [("cu", XrtCuReader(files, root, device, kernel))]
    except ReadGap as gap:  # the overlay went while we looked
        raise SensorNotFound(f"{device / STATE_FILE}: {gap.reason}") from gap


def _holding(files: Files, devices: Iterable[Path], kernel: str) -> Path:
    """The first device whose state file lists a unit of the kernel, told by content."""
    seen = []
    for device in devices:
        seen.append(str(device))
        try:
            units = parse_units(files.read(device / STATE_FILE))
        except OSError:
            continue
        if any(unit.kernel.startswith(kernel) for unit in units):
            return device
    if seen:
        raise SensorNotFound(f"{seen[0]}/{STATE_FILE}: no compute unit of {kernel}*; load an overlay (xmutil loadapp)")
    raise SensorNotFound(f"no {STATE_FILE} in sys/class/drm or sys/devices/platform: XRT's zocl driver is not loaded")


def _counts_completions(files: Files, path: Path | None) -> bool:
    try:
        return path is not None and completed_count(files.read(path)) >= 0
    except OSError:
        return False
