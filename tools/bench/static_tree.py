"""A folder with the sensor files of a KV260 (board.md 11.6) for benches that measure the observer, not the board."""

from __future__ import annotations

from pathlib import Path

STATE = Path("sys/class/drm/renderD128/device/kds_custat_raw")
DEVICE = "sys/class/drm/renderD128/device"
POWER = Path("sys/class/hwmon/hwmon1/power1_input")
REGISTERS = Path("dev/uio1")
PAGE_BYTES = 65536
STAT = Path("proc/stat")

_FILES = {
    f"{DEVICE}/kds_numcus": "1\n",
    f"{DEVICE}/xclbinid": "0 5f2cf1a4-0000-0000-0000-000000000000\n",
    "sys/class/hwmon/hwmon1/name": "ina260_u14\n",
    "sys/class/hwmon/hwmon1/in1_input": "5073\n",
    "sys/class/hwmon/hwmon1/curr1_input": "921\n",
    str(POWER): "4670000\n",
    "sys/class/uio/uio1/name": "axi-pmon\n",
    "sys/class/uio/uio1/maps/map0/addr": "0x00000000fd0b0000\n",
    "sys/class/uio/uio1/maps/map0/size": "0x0000000000010000\n",
}


def state_line(busy: bool, commands: int) -> bytes:
    """The compute unit's line, of one length whatever it says, because it is written in place."""
    return f"0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x{1 if busy else 4},{commands:08d}\n".encode()


def build(root: Path) -> Path:
    """Write the tree below an empty folder and return it."""
    for name, content in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (root / STATE).write_bytes(state_line(False, 0))
    (root / REGISTERS).parent.mkdir()
    (root / REGISTERS).write_bytes(bytes(PAGE_BYTES))
    (root / STAT).parent.mkdir()
    (root / STAT).write_bytes(Path("/proc/stat").read_bytes())
    return root
