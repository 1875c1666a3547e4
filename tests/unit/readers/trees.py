"""Trees of sensor files as boards show them, and file access that fails on request."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from telemetry.files import OpenFile, SystemFiles

ZOCL = "sys/devices/platform/axi/axi:zyxclmm_drm"
CUSTAT = f"{ZOCL}/kds_custat_raw"
CU_LINE = "0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,{status},{usage}\n"
STAT = (
    "cpu  1000 10 500 20000 300 5 15 20 0 0\n"
    "cpu0 400 4 200 10000 100 2 6 8 0 0\n"
    "cpu1 600 6 300 10000 200 3 9 12 0 0\n"
    "intr 12345 0 0 0\nctxt 999\nbtime 1700000000\n"
)
BOOT_ID = "1d8f4c1e-6f0c-4b57-9a38-1f3f0d7b2a11\n"
PAGE = 4096

KV260 = {
    "proc/device-tree/model": "ZynqMP KV260 revB\0",
    "proc/device-tree/compatible": "xlnx,zynqmp-sk-kv260-revB\0xlnx,zynqmp-sk-kv260\0xlnx,zynqmp\0",
    "proc/sys/kernel/random/boot_id": BOOT_ID,
    "proc/stat": STAT,
    CUSTAT: CU_LINE.format(status="0x4", usage=1234),
    f"{ZOCL}/kds_numcus": "1\n",
    f"{ZOCL}/xclbinid": "0 5f2cf1a4-0000-4000-8000-000000000001\n",
    f"{ZOCL}/CU.2.auto/cu_stat": "CU status:        0x4\n\0",
    f"{ZOCL}/CU.2.auto/stat": "1234 0\n",
    "sys/class/drm/card0/device/uevent": "DRIVER=zynqmp-display\n",
    "sys/class/hwmon/hwmon0/name": "ams\n",
    "sys/class/hwmon/hwmon0/temp1_input": "41250\n",
    "sys/class/hwmon/hwmon1/name": "ina260_u14\n",
    "sys/class/hwmon/hwmon1/in1_input": "5073\n",
    "sys/class/hwmon/hwmon1/curr1_input": "921\n",
    "sys/class/hwmon/hwmon1/power1_input": "4670000\n",
    "sys/devices/platform/ina260-u14/uevent": "DRIVER=iio_hwmon\n",
    "sys/class/uio/uio0/name": "axi-pmon\n",
    "sys/class/uio/uio0/maps/map0/addr": "0x00000000ffa00000\n",
    "sys/class/uio/uio1/name": "axi-pmon\n",
    "sys/class/uio/uio1/maps/map0/addr": "0x00000000fd0b0000\n",
    "sys/class/uio/uio1/maps/map0/size": "0x0000000000010000\n",
    "dev/uio0": b"\0" * PAGE,
    "dev/uio1": b"\0" * PAGE,
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1199999\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "1199999\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
}
"""board.md 11.6, with two cores."""

KV260_LINKS = {
    "sys/class/drm/renderD129/device": ZOCL,
    "sys/class/hwmon/hwmon1/device": "sys/devices/platform/ina260-u14",
}

JETSON = {
    "proc/device-tree/model": "NVIDIA Jetson Orin NX Engineering Reference Developer Kit\0",
    "proc/device-tree/compatible": "nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0nvidia,tegra234\0",
    "proc/stat": STAT,
    "sys/class/hwmon/hwmon3/name": "ina3221\n",
    "sys/class/hwmon/hwmon3/update_interval": "36\n",
    "sys/class/hwmon/hwmon3/in1_label": "VDD_IN\n",
    "sys/class/hwmon/hwmon3/in1_input": "4960\n",
    "sys/class/hwmon/hwmon3/curr1_input": "1200\n",
    "sys/class/hwmon/hwmon3/curr1_crit": "7784\n",
    "sys/class/hwmon/hwmon3/in2_label": "VDD_CPU_GPU_CV\n",
    "sys/class/hwmon/hwmon3/in2_input": "4960\n",
    "sys/class/hwmon/hwmon3/curr2_input": "400\n",
    "sys/class/hwmon/hwmon3/in3_label": "VDD_SOC\n",
    "sys/class/hwmon/hwmon3/in3_input": "4960\n",
    "sys/class/hwmon/hwmon3/curr3_input": "300\n",
    "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040/name": "ina3221\n",
    "sys/devices/platform/bus@0/17000000.gpu/load": "375\n",
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "48500\n",
    "sys/class/thermal/thermal_zone1/type": "cv0-thermal\n",
    "sys/class/thermal/thermal_zone1/temp": "-256000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1984000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
}

JETSON_LINKS = {"sys/class/hwmon/hwmon3/device": "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040"}

LAPTOP = {
    "proc/stat": STAT,
    "sys/class/powercap/intel-rapl:0/name": "package-0\n",
    "sys/class/powercap/intel-rapl:0/energy_uj": "262143000000\n",
    "sys/class/powercap/intel-rapl:0/max_energy_range_uj": "262143328850\n",
    "sys/class/powercap/intel-rapl:0:0/name": "core\n",
    "sys/class/powercap/intel-rapl:0:0/energy_uj": "1000000\n",
    "sys/class/powercap/intel-rapl:0:0/max_energy_range_uj": "262143328850\n",
    "sys/class/powercap/intel-rapl-mmio:0/name": "package-0\n",
    "sys/class/powercap/intel-rapl-mmio:0/energy_uj": "7\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/class/power_supply/BAT0/status": "Discharging\n",
    "sys/class/power_supply/BAT0/power_now": "8250000\n",
    "sys/class/thermal/thermal_zone0/type": "acpitz\n",
    "sys/class/thermal/thermal_zone0/temp": "27800\n",
    "sys/class/thermal/thermal_zone1/type": "acpitz\n",
    "sys/class/thermal/thermal_zone1/temp": "29800\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2400000\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
}


def write(root: Path, files: Mapping[str, str | bytes | None], links: Mapping[str, str] | None = None) -> Path:
    """Write `files` below `root`; None removes one. Existing files are overwritten in place, as an emulation would."""
    for name, content in files.items():
        path = root / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for name, target in (links or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(root / target)
    return root


def kv260(root: Path) -> Path:
    """The tree of a KV260 with XRT 2.13 and the xlnx kernel's power driver."""
    return write(root, KV260, KV260_LINKS)


def jetson(root: Path) -> Path:
    """The tree of a Jetson Orin NX."""
    return write(root, JETSON, JETSON_LINKS)


def laptop(root: Path) -> Path:
    """The tree of an x86 laptop on battery."""
    return write(root, LAPTOP)


def register(root: Path, offset: int, node: str = "dev/uio1") -> int:
    """A register of an emulated UIO node."""
    return int(struct.unpack_from("<I", (root / node).read_bytes(), offset)[0])


class FaultyFiles(SystemFiles):
    """The system's files, except that reads or openings of a named file fail or lie as scripted, in turn."""

    def __init__(self) -> None:
        self.reads: dict[str, deque[OSError | bytes]] = {}
        self.openings: dict[str, deque[OSError]] = {}
        self.touched: set[str] = set()
        """Names of all files that were opened or read."""

    def script(self, name: str, outcomes: Iterable[OSError | bytes]) -> None:
        """What the next reads of files called `name` bring; afterwards they bring what the file holds."""
        self.reads.setdefault(name, deque()).extend(outcomes)

    def open(self, path: Path) -> OpenFile:
        self.touched.add(path.name)
        if self.openings.get(path.name):
            raise self.openings[path.name].popleft()
        return FaultyFile(super().open(path), self.reads.setdefault(path.name, deque()))

    def read(self, path: Path) -> bytes:
        self.touched.add(path.name)
        return super().read(path)


class FaultyFile:
    """An open file with a script of outcomes before it."""

    def __init__(self, file: OpenFile, outcomes: deque[OSError | bytes]) -> None:
        self._file = file
        self._outcomes = outcomes

    def read(self, size: int = 4096) -> bytes:
        if not self._outcomes:
            return self._file.read(size)
        outcome = self._outcomes.popleft()
        if isinstance(outcome, OSError):
            raise outcome
        return outcome

    def close(self) -> None:
        self._file.close()
