"""Whether a run counts: it ended as it should, and every sensor that is there covered it."""

from __future__ import annotations

from kv260_runtime.profile.result import RunFigures
from kv260_runtime.workloads import Observation

NEEDED = ("throughput", "busy_share", "energy_per_execution", "power", "bandwidth", "bytes_per_execution")
"""Figures that a run must have where the board has the sensor; without them it is repeated."""


def why_excluded(observed: Observation, measured: RunFigures, streams: list[str]) -> str | None:
    """The reason in one line, or None if the run counts.

    `streams` are the streams being recorded: a sensor that the board does not have excludes no run.
    """
    if observed.failure is not None:
        return observed.failure
    for name in NEEDED:
        reason = _absence(name, measured)
        if reason is not None and _has_sensor(name, streams):
            return f"measured badly: {reason}"
    for finding in measured.findings:
        if finding.severity == "error":
            return f"measured badly: {finding.text}"
    return None


def _absence(name: str, measured: RunFigures) -> str | None:
    for absent, reason in measured.absent.items():
        if absent == name or absent.startswith(f"{name}."):
            return reason
    return None


def _has_sensor(name: str, streams: list[str]) -> bool:
    if name == "throughput":
        return True
    prefixes = {
        "busy_share": ("cu",),
        "energy_per_execution": ("power.", "energy."),
        "power": ("power.", "energy."),
        "bandwidth": ("apm",),
        "bytes_per_execution": ("apm",),
    }[name]
    return any(stream.startswith(prefix) for stream in streams for prefix in prefixes)
