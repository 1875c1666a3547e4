"""The compute unit as zocl shows it: status and usage, the CU's platform device, KDS statistics (board facts, 1)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from virtual_board.clock import Now
from virtual_board.linefile import LineFile, link, write_file

ZOCL = Path("sys/devices/platform/axi/axi:zyxclmm_drm")
KERNEL, INSTANCE, ADDRESS = "DPUCZDX8G", "DPUCZDX8G_1", 0xA001_0000
XRT_VERSION = (
    "XRT GIT BRANCH: 2022.1\nXRT GIT HASH: f5505e402c2ca1ffe45eb6d3a9399b23a0dc8776\n"
    "XRT GIT HASH DATE: 2022-04-14 17:45:07\nXRT GIT Modified Files: \n"
)
IDLE, RUNNING, DONE, DONE_READY, UNKNOWN, CRASHED = 0x4, 0x1, 0x6, 0xE, 0x0, 0xFFFF_FFFF
READY_SHARE, UNKNOWN_SHARE = 0.1, 0.01
"""How often a run ends as 0xe rather than 0x6, and how often 0x0 passes by. Assumed; both occur (board 1.5)."""

CU_STAT = (
    "Pending queue:    0\nRunning queue:    0\nSubmitted queue:  {running}\nCompleted queue:  0\n"
    "Bad state:        {bad}\nCurrent credit:   0\n"
    "CU status:        0x{status:x}\nsleep cnt:        {usage}\nmax running:      1\n\0"
)
CU_INFO = (
    "Kernel name: {kernel}\nInstance(CU) name: {instance}\nCU address: 0x{address:x}\nCU index: 0\nProtocol: CTRL_HS\n"
    "Interrupt cap: 1\nInterrupt ID:  0\nSW Resettable: 0\n--- Arguments ---\n\0"
)
KDS_STAT = (
    "CU to host interrupt capability: 1\nInterrupt mode: cu\nNumber of CUs: 1\n"
    "  CU[0] usage({usage}) shared(1) refcnt({clients}) intr(enable)\n"
)


class ComputeUnit:
    """One DPU. `start` and `finish` return the instant at which the new status could first be read."""

    def __init__(self, root: Path, generator: random.Random, now: Now) -> None:
        self.status = IDLE
        self.loaded = True
        """Whether firmware with this CU is loaded."""
        self.clients = 0
        """Processes that hold a context."""
        self._generator = generator
        self._now = now
        self._usage = generator.randrange(1_000_000, 2_000_000)
        self._device = root / ZOCL
        self._platform = root / "sys/bus/platform/devices"
        self._number = 2
        self._running = False
        self._fixed_files(root)
        self._custat = LineFile(self._device / "kds_custat_raw", self._line())
        self._kds_stat = LineFile(self._device / "kds_stat", self._kds_line())
        self._add_platform_device()

    def start(self) -> int:
        """Dispatch a command: usage counts it now, before it has completed."""
        self._usage += 1
        self._running = True
        return self._show(RUNNING)

    def finish(self) -> int:
        """Complete the running command."""
        self._running = False
        return self._show(DONE_READY if self._generator.random() < READY_SHARE else DONE)

    def rest(self) -> bool:
        """What the driver records before it sleeps; now and then a check without a command stores 0 first.

        True if that happened and `rest` is to be called again shortly.
        """
        if not self.loaded or self._running or self.status in (CRASHED, IDLE):
            return False
        passing = self.status != UNKNOWN and self._generator.random() < UNKNOWN_SHARE
        self._show(UNKNOWN if passing else IDLE)
        return passing

    def crash(self) -> None:
        """No more updates, and no command will ever complete."""
        self.status = CRASHED
        self._custat.replace(self._line())

    def unload(self) -> None:
        """Firmware gone: no line, no platform device."""
        self.loaded = False
        self._remove_platform_device()
        self._custat.replace(b"")
        self._running = False

    def load(self) -> None:
        """Firmware back: counts start anew and the platform device has another number."""
        self.loaded = True
        self._number += 1
        self.status = IDLE
        self._usage = 1_000_000
        self._add_platform_device()
        self._custat.replace(self._line())

    def refresh(self) -> None:
        """Bring the slow files up to date."""
        if self.loaded:
            self._kds_stat.show(self._kds_line())
            self._cu_stat.show(self._cu_stat_lines())

    def _show(self, status: int) -> int:
        self.status = status
        self._custat.write(self._line())
        now_ns = self._now()
        self._stat.write(b"%d %d\n" % (self._usage, self._running))
        return now_ns

    def _line(self) -> bytes:
        return b"0,0,%s:%s,0x%x,0x%x,%d\n" % (KERNEL.encode(), INSTANCE.encode(), ADDRESS, self.status, self._usage)

    def _kds_line(self) -> bytes:
        return KDS_STAT.format(usage=self._usage, clients=self.clients).encode()

    def _cu_stat_lines(self) -> bytes:
        bad = int(self.status == CRASHED)
        return CU_STAT.format(running=int(self._running), bad=bad, status=self.status, usage=self._usage).encode()

    def _fixed_files(self, root: Path) -> None:
        write_file(self._device / "kds_numcus", "1\n")
        write_file(self._device / "kds_xrt_version", XRT_VERSION)
        write_file(self._device / "xclbinid", "0 5f2cf1a4-7d7e-4b1f-9a63-2d0c5b8e4f10\n")
        link(root / "sys/class/drm/renderD128/device", "../../../devices/platform/axi/axi:zyxclmm_drm")
        link(root / "sys/class/drm/card1/device", "../../../devices/platform/axi/axi:zyxclmm_drm")
        write_file(
            root / "sys/devices/platform/axi/fd4a0000.display/modalias", "of:NdisplayT(null)Cxlnx,zynqmp-dpsub\n"
        )
        link(root / "sys/class/drm/card0/device", "../../../devices/platform/axi/fd4a0000.display")

    def _folder(self) -> Path:
        return self._device / f"CU.{self._number}.auto"

    def _add_platform_device(self) -> None:
        folder = self._folder()
        self._stat = LineFile(folder / "stat", b"%d 0\n" % self._usage)
        self._cu_stat = LineFile(folder / "cu_stat", self._cu_stat_lines())
        write_file(folder / "cu_info", CU_INFO.format(kernel=KERNEL, instance=INSTANCE, address=ADDRESS))
        link(self._platform / folder.name, f"../../../{ZOCL.relative_to('sys')}/{folder.name}")

    def _remove_platform_device(self) -> None:
        (self._platform / self._folder().name).unlink()
        for file in (self._stat, self._cu_stat):
            file.replace(b"")
            file.close()
        shutil.rmtree(self._folder())
