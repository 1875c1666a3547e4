"""DDR traffic from the AXI Performance Monitor of a Zynq UltraScale+: bytes read and written per port."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import Files, Registers
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find
from telemetry.readers.options import decode
from telemetry.readers.sensor_file import text

PAGE_BYTES = 4096
GLOBAL_CLOCK_LOW = 0x004
SAMPLE_INTERVAL_CONTROL = 0x028
GLOBAL_INTERRUPT_ENABLE = 0x030
SELECTORS = (0x044, 0x048, 0x04C)
LIVE_COUNTER = 0x100
LIVE_COUNTER_STRIDE = 0x10
CONTROL = 0x300
CONTROL_STOP = 0x0
CONTROL_RESET = 0x20002
CONTROL_RUN = 0x10001

METRIC_WRITE_BYTES = 2
METRIC_READ_BYTES = 3
SLOTS = (1, 2, 3, 4, 5)
WRAP = 2**32

TAKEN = "taken by another program"
RESTARTED = "restarted"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which monitor, and where it is remembered that it is ours."""

    address: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-f]+$")] = "0xfd0b0000"
    """Physical address of the monitor: 0xfd0b0000 is the DDR controller's."""
    state_dir: str | None = None
    """Folder of the file that lets the next start take over after a kill; default run/kvbench under the root."""


def selector_words() -> tuple[int, ...]:
    """The metric selectors: one byte `metric | slot << 5` a counter, read bytes then write bytes of slots 1 to 5.

    board.md 2.6; the vendor's tracer selects write beats for slot 1, which tells its programming from ours.
    """
    selected = bytes(
        metric | slot << 5 for slot in SLOTS for metric in (METRIC_READ_BYTES, METRIC_WRITE_BYTES)
    ).ljust(4 * len(SELECTORS), b"\0")
    return tuple(int.from_bytes(selected[i : i + 4], "little") for i in range(0, len(selected), 4))


SELECTED_BY_US = selector_words()


class ApmReader:
    """The monitor, programmed and running; its counters wrap, so a series is unwrapped from its first reading on."""

    columns: tuple[Column, ...] = (
        *(Column(f"{way}.slot{slot}", "B", "counter", WRAP) for slot in SLOTS for way in ("read", "write")),
        Column("clock", "1", "counter", WRAP),
    )

    def __init__(self, registers: Registers, attributes: Mapping[str, str] | None = None) -> None:
        self._registers = registers
        self.attributes: Mapping[str, str] = attributes or {}
        self._offsets = [LIVE_COUNTER + i * LIVE_COUNTER_STRIDE for i in range(2 * len(SLOTS))] + [GLOBAL_CLOCK_LOW]
        self._open = True
        self._start()

    def read(self) -> tuple[int, ...]:
        """Bytes read and written per slot, then the monitor's clock, all modulo 2**32."""
        if not self._ours():
            if self._registers.read32(CONTROL) != CONTROL_STOP:
                raise ReadGap(TAKEN)
            self._start()
            raise ReadGap(RESTARTED)
        return tuple(map(self._registers.read32, self._offsets))

    def close(self) -> None:
        """Stop the monitor, unless another program runs it by now, and give it back."""
        if self._open:
            self._open = False
            if self._ours():
                self._registers.write32(CONTROL, CONTROL_STOP)
            self._registers.close()

    def _start(self) -> None:
        """Select, forbid resets and interrupts, reset, run (board.md 2.6)."""
        for offset, word in zip(SELECTORS, SELECTED_BY_US, strict=True):
            self._registers.write32(offset, word)
        self._registers.write32(SAMPLE_INTERVAL_CONTROL, 0)
        self._registers.write32(GLOBAL_INTERRUPT_ENABLE, 0)
        self._registers.write32(CONTROL, CONTROL_RESET)
        self._registers.write32(CONTROL, CONTROL_RUN)

    def _ours(self) -> bool:
        return self._registers.read32(CONTROL) == CONTROL_RUN and selected_by_us(self._registers)


def selected_by_us(registers: Registers) -> bool:
    """True if the metric selectors are those that this module writes."""
    return all(registers.read32(offset) == word for offset, word in zip(SELECTORS, SELECTED_BY_US, strict=True))


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `apm`: read.slotN and write.slotN in bytes for slots 1 to 5, and `clock` in monitor clocks."""
    chosen = decode(Options, options, "apm")
    uio = _find(files, root, int(chosen.address, 16))
    node = root / "dev" / uio.name
    folder = Path(chosen.state_dir) if chosen.state_dir is not None else root / "run/kvbench"
    state = folder / f"apm-{chosen.address}.boot"
    try:
        registers = files.map_registers(node, PAGE_BYTES)
    except BlockingIOError as error:
        raise SensorNotFound(f"{node} is in use by another process; stop it first") from error
    except OSError as error:
        remedy = 'a udev rule for SUBSYSTEM=="uio", ATTR{name}=="axi-pmon" lets a group in'
        raise SensorNotFound(f"{node}: {error.strerror or error}; {remedy}") from error
    boot = text(files, root / "proc/sys/kernel/random/boot_id")
    try:
        _refuse_if_taken(registers, node, known=boot is not None and text(files, state) == boot)
    except SensorNotFound:
        registers.close()
        raise
    attributes = {"device": str(node), "address": chosen.address, "takeover": _sign(files, state, boot)}
    return [("apm", ApmReader(registers, attributes))]


def _find(files: Files, root: Path, address: int) -> Path:
    """The folder in sys/class/uio of the monitor at a physical address; numbers differ between kernels."""
    for folder in find(files, root, "sys/class/uio/uio*"):
        if _is_monitor(files, folder) and _address(text(files, folder / "maps/map0/addr")) == address:
            return folder
    raise SensorNotFound(f"no performance monitor at 0x{address:x} in sys/class/uio; the kernel needs uio_xilinx_apm")


def _is_monitor(files: Files, folder: Path) -> bool:
    name = text(files, folder / "name") or ""
    node = text(files, folder / "device/of_node/name") or ""
    return name.startswith("axi-pmon") or node.startswith("perf-monitor")


def _address(value: str | None) -> int | None:
    try:
        return int(value or "", 16)
    except ValueError:
        return None


def _refuse_if_taken(registers: Registers, node: Path, known: bool) -> None:
    """SensorNotFound if the monitor runs for somebody else; the lock is held already.

    One that runs with our selectors may be ours of before a kill, which is `known` if our state file carries this
    boot's id (measurement_rules.md, Counters).
    """
    control = registers.read32(CONTROL)
    if control != CONTROL_STOP and not (known and selected_by_us(registers)):
        raise SensorNotFound(
            f"{node}: already running (control 0x{control:x}) and not for kvbench; likely owner: vaitrace, "
            "which takes no lock; stop it, or reboot if it was killed"
        )


def _sign(files: Files, state: Path, boot: str | None) -> str:
    """Write down that the monitor is ours in this boot; whether a next start could take it over after a kill."""
    if boot is None:
        return "no: the boot has no id"
    try:
        files.write(state, f"{boot}\n".encode())
    except OSError as error:
        return f"no: {state}: {error.strerror or error}"
    return f"by {state}"
