"""What a session records about where it was made: board, overlay, DPU, versions, governor, temperatures."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from kv260_runtime.boards import BoardSession
from telemetry.files import Files
from telemetry.readers.zocl import platform_devices, render_devices
from telemetry.version import VERSION

QUERY_TIMEOUT_SECONDS = 20
PLAUSIBLE_CELSIUS = (-55.0, 150.0)
"""Drivers answer with sentinels such as -256 where a sensor is off."""
PACKAGES = ("numpy", "protobuf", "msgspec", "psutil")


def identify(board: BoardSession, files: Files, environment: Mapping[str, str]) -> dict[str, Any]:
    """Everything a reader of the session may want to know later; what is not there is absent."""
    root = board.root
    facts: dict[str, Any] = {
        "label": board.label,
        "profile": board.profile,
        "emulated": board.emulated,
        "provenance": dict(board.provenance),
        "kvbench": VERSION,
        "python": platform.python_version(),
        "packages": _package_versions(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "model": _text(files, root / "proc/device-tree/model"),
        "boot_id": _text(files, root / "proc/sys/kernel/random/boot_id"),
        "governor": _text(files, root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "temperatures_celsius": temperatures(files, root) or None,
        "overlay": overlay(files, root) or None,
        "dpu": query_dpu(environment),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _package_versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _text(files: Files, path: Path) -> str | None:
    """A short text file without its padding; None if it cannot be read."""
    try:
        return files.read(path).decode(errors="replace").strip("\0\n ") or None
    except OSError:
        return None


def _names(files: Files, path: Path) -> list[str]:
    try:
        return files.names(path)
    except OSError:
        return []


def temperatures(files: Files, root: Path) -> dict[str, float]:
    """Thermal zones now, in degrees Celsius by their type."""
    found = {}
    base = root / "sys/class/thermal"
    for name in _names(files, base):
        kind, milli = _text(files, base / name / "type"), _text(files, base / name / "temp")
        if name.startswith("thermal_zone") and kind and milli and milli.lstrip("-").isdigit():
            celsius = int(milli) / 1000
            if PLAUSIBLE_CELSIUS[0] <= celsius <= PLAUSIBLE_CELSIUS[1]:
                found[kind] = celsius
    return found


def overlay(files: Files, root: Path) -> dict[str, str]:
    """The loaded xclbin and XRT's version, from the zocl device (board.md section 1.1)."""
    device = next(chain(render_devices(files, root), platform_devices(files, root)), None)
    if device is None:
        return {}
    found: dict[str, str] = {}
    uuid = _text(files, device / "xclbinid")
    if uuid:
        found["xclbin_uuid"] = uuid.split()[-1]
    xrt = _text(files, device / "kds_xrt_version")
    if xrt:
        found["xrt"] = xrt.splitlines()[0].partition(":")[2].strip() or xrt.splitlines()[0]
    dtbo = _text(files, device / "dtbo_path")
    if dtbo:
        found["dtbo"] = dtbo.split()[-1]
    return found


Query = Callable[[Mapping[str, str]], "str | None"]


def run_query(environment: Mapping[str, str]) -> str | None:
    """What `xdputil query` prints; None if there is no such command or it fails.

    `query` reads no control register; `xdputil status` does and is never called (board.md section 1.6).
    """
    try:
        done = subprocess.run(
            ["xdputil", "query"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=QUERY_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace")


def query_dpu(environment: Mapping[str, str], query: Query = run_query) -> dict[str, Any] | None:
    """DPU architecture, fingerprint, clock and library versions (board.md section 4.2)."""
    printed = query(environment)
    if printed is None:
        return None
    try:
        told = json.loads(printed[printed.index("{") :])
        kernels = [kernel for kernel in told.get("kernels", []) if kernel.get("IP Type") == "DPU"]
    except (ValueError, AttributeError):
        return None
    if not kernels:
        return None
    first = kernels[0]
    facts = {
        "architecture": first.get("DPU Arch"),
        "fingerprint": first.get("fingerprint"),
        "frequency_mhz": first.get("DPU Frequency (MHz)"),
        "cu_name": first.get("cu_name"),
        "cores": len(kernels),
        "libraries": told.get("VAI Version"),
    }
    return {name: value for name, value in facts.items() if value is not None}
