"""The files of a KV260 that never change: who the board is, its thermal zones, clocks and chips without power files."""

from __future__ import annotations

import uuid
from pathlib import Path

from virtual_board.linefile import link, write_file

MODEL = "ZynqMP SMK-K26 Rev1/B/A"
COMPATIBLE = ("xlnx,zynqmp-sk-kv260-rev1", "xlnx,zynqmp-sk-kv260-revB", "xlnx,zynqmp-smk-k26-rev1", "xlnx,zynqmp")
CPU_HERTZ = 1_333_333_000


def add_fixed_tree(root: Path) -> None:
    """Write them below `root`."""
    write_file(root / "proc/device-tree/model", f"{MODEL}\0")
    write_file(root / "proc/device-tree/compatible", "".join(f"{name}\0" for name in COMPATIBLE))
    write_file(root / "proc/sys/kernel/random/boot_id", f"{uuid.uuid4()}\n")
    write_file(root / "proc/version", "Linux version 5.15.36-xilinx-v2022.1 (emulated)\n")
    for core in range(4):
        folder = root / f"sys/devices/system/cpu/cpu{core}"
        write_file(folder / "online", "1\n")
        link(folder / "cpufreq", "../cpufreq/policy0")
    policy = root / "sys/devices/system/cpu/cpufreq/policy0"
    write_file(policy / "scaling_governor", "performance\n")
    write_file(policy / "scaling_cur_freq", f"{CPU_HERTZ // 1000}\n")
    write_file(policy / "scaling_max_freq", f"{CPU_HERTZ // 1000}\n")
    write_file(policy / "affected_cpus", "0 1 2 3\n")
    write_file(root / "sys/devices/system/cpu/online", "0-3\n")
