"""The loaded firmware, its DPU and clock, who else uses it, and whether models were compiled for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kv260_runtime.doctor.check import Check, Status
from kv260_runtime.profile.identity import overlay
from kv260_runtime.xmodel import XModelError, read_xmodel
from kv260_runtime.xmodel.target import describe_rejection, dpu_size
from telemetry.files import Files
from telemetry.readers.find import find
from telemetry.readers.sensor_file import text

LOAD = "sudo xmutil listapps, then sudo xmutil loadapp NAME; after a reload start kvbench anew"
CONTEXTS = re.compile(r"CU\[(\d+)\] usage\(\d+\) shared\(\d+\) refcnt\((\d+)\)")


def check_overlay(files: Files, root: Path, needed: bool) -> Check:
    """The firmware in the programmable logic."""
    found = overlay(files, root)
    missing: Status = "fail" if needed else "absent"
    if not found:
        return Check("overlay", missing, "no zocl device with compute units: no firmware with a DPU is loaded", LOAD)
    told = ", ".join(f"{name} {value}" for name, value in found.items())
    if "xclbin_uuid" not in found:
        return Check("overlay", missing, f"no xclbin is loaded ({told})", LOAD)
    return Check("overlay", "ok", told, values=dict(found))


def check_dpu(dpu: Mapping[str, Any] | None, needed: bool) -> Check:
    """What `xdputil query` told of the DPU: `query_dpu`'s answer."""
    if dpu is None:
        return Check(
            "dpu", "warn" if needed else "absent", "xdputil query tells of no DPU: its size and clock are unknown",
            "install the vendor's xdputil (vitis-ai-library), or " + LOAD,
        )  # fmt: skip
    parts = [str(dpu.get("architecture", "architecture unknown"))]
    if "fingerprint" in dpu:
        parts.append(f"fingerprint {dpu['fingerprint']}")
    if "frequency_mhz" in dpu:
        parts.append(f"{dpu['frequency_mhz']} MHz")
    parts.append(f"{dpu.get('cores', 1)} core" + ("s" if dpu.get("cores", 1) != 1 else ""))
    return Check("dpu", "ok", ", ".join(parts), values=dict(dpu))


def check_users(files: Files, root: Path) -> list[Check]:
    """Contexts that processes hold on compute units now."""
    checks = []
    for path in find(files, root, "sys/class/drm/*/device/kds_stat"):
        for index, count in CONTEXTS.findall(text(files, path) or ""):
            if int(count):
                checks.append(
                    Check(
                        f"users of CU {index}", "warn", f"{count} contexts are open: another program uses the DPU",
                        "end it before measuring: its executions are in every figure",
                    )
                )  # fmt: skip
            else:
                checks.append(Check(f"users of CU {index}", "ok", "nobody else holds it"))
        break
    return checks


def check_model(path: Path, dpu: Mapping[str, Any] | None) -> Check:
    """A model's fingerprint against that of the loaded DPU."""
    name = f"model {path.name}"
    if not path.is_file():
        return Check(name, "fail", f"{path}: no such file")
    try:
        graph = read_xmodel(path)
        rejection = describe_rejection(graph)
    except XModelError as error:
        return Check(name, "fail", str(error), "compile it again, or copy it again")
    if rejection is not None:
        return Check(name, "fail", rejection)
    own = graph.fingerprint
    loaded = _number(None if dpu is None else dpu.get("fingerprint"))
    if own is None:
        return Check(name, "warn", "names no fingerprint: whether it was compiled for this DPU shows when it runs")
    if loaded is None:
        return Check(name, "warn", f"is for {_described(own)}; the loaded DPU is unknown")
    if own != loaded:
        return Check(
            name, "fail", f"is for {_described(own)}, the loaded DPU is {_described(loaded)}",
            "compile it with the arch.json of this DPU, or load the firmware it was compiled for",
        )  # fmt: skip
    return Check(name, "ok", f"is for {_described(own)}, as loaded; {len(graph.on_device('DPU'))} DPU subgraphs")


def _number(fingerprint: object) -> int | None:
    try:
        return int(str(fingerprint), 16)
    except ValueError:
        return None


def _described(fingerprint: int) -> str:
    size = dpu_size(fingerprint)
    return f"0x{fingerprint:x}" + (f" ({size})" if size else "")
