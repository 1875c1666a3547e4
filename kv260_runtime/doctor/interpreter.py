"""The vendor's Python modules: importable by this interpreter, and really the vendor's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping

from kv260_runtime.doctor.check import Check, Status

MODULES: Mapping[str, str] = {"xir": "Graph", "vart": "Runner", "vitis_ai_library": "GraphRunner"}
"""Module to an attribute by which the vendor's is known."""
NAMESAKES = ("xir", "xrt", "vart")
"""Names under which PyPI has unrelated packages."""
SECONDS = 60
PROBE = """
import importlib, importlib.metadata, json, sys
found = {}
for name, attribute in json.loads(sys.argv[1]).items():
    try:
        module = importlib.import_module(name)
    except Exception as error:
        found[name] = {"error": f"{type(error).__name__}: {error}"}
    else:
        found[name] = {"file": getattr(module, "__file__", None), "known": hasattr(module, attribute)}
installed = {}
for name in json.loads(sys.argv[2]):
    try:
        installed[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps({"modules": found, "installed": installed}))
"""
"""Imports in a process of its own: the vendor's libraries log, and may abort."""
REMEDY = (
    "use the board's own /usr/bin/python3, or an environment of it made with --system-site-packages "
    "(docs/on-a-board.md): the modules are built for that Python only"
)

Ask = Callable[[Mapping[str, str]], "tuple[str, str]"]


def ask_interpreter(environment: Mapping[str, str]) -> tuple[str, str]:
    """What PROBE prints in `environment`, and what it writes to standard error."""
    command = [sys.executable, "-c", PROBE, json.dumps(dict(MODULES)), json.dumps(NAMESAKES)]
    try:
        done = subprocess.run(
            command, env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer in {SECONDS} s"
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def check_vendor(environment: Mapping[str, str], needed: bool, ask: Ask = ask_interpreter) -> list[Check]:
    """The modules that run models; without them a board measures external commands only."""
    printed, complaint = ask(environment)
    try:
        told = json.loads(printed.strip().rpartition("\n")[2])
    except ValueError:
        last = complaint.strip().rpartition("\n")[2] or "it printed nothing"
        return [
            Check("vendor modules", "fail" if needed else "absent", f"importing them ends the process: {last}", REMEDY)
        ]
    checks = [_module(name, found, needed) for name, found in told["modules"].items()]
    for name, version in told["installed"].items():
        found = told["modules"].get(name, {})
        if "error" in found or not found.get("known", False):
            checks.append(
                Check(
                    f"package {name}", "warn",
                    f"{name} {version} of PyPI is installed, which is unrelated to the vendor's",
                    f"{sys.executable} -m pip uninstall {name}",
                )
            )  # fmt: skip
    return checks


def _module(name: str, found: Mapping[str, object], needed: bool) -> Check:
    missing: Status = "fail" if needed else "absent"
    if "error" in found:
        return Check(f"module {name}", missing, f"{sys.executable} cannot import it ({found['error']})", REMEDY)
    if not found["known"]:
        return Check(
            f"module {name}", missing, f"{found['file']} has no {MODULES[name]}: not the vendor's module",
            f"{sys.executable} -m pip uninstall {name}; {REMEDY}",
        )  # fmt: skip
    return Check(f"module {name}", "ok", str(found["file"]))
