"""What is measured: loops of our own, the vendor's benchmark, any external command.

A workload runs once in child processes and returns what it saw as an Observation; it knows nothing of sensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from telemetry.clock import Clock
from telemetry.model import Int64Array, Marker, Window


@dataclass(frozen=True)
class WorkloadSpec:
    """What to run, the same for every run of one model."""

    kind: str
    model: Path | None = None
    subgraph: int | None = None
    threads: int = 1
    input: Path | None = None
    seed: int = 0
    command: tuple[str, ...] = ()
    """The external command with its arguments (kind `command`)."""
    patterns: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions for the lines of an external command (telemetry.markers)."""


@dataclass(frozen=True)
class RunRequest:
    """How long one run is to be."""

    duration_ns: int
    executions: int | None = None
    """Stop after this many executions instead of a time; loops of our own only."""
    idle_ns: int = 0
    """How long to stay idle before and after, with whatever state the workload's idle has."""
    start_timeout_ns: int = 60_000_000_000
    """How long loading may take."""
    stall_timeout_ns: int = 30_000_000_000
    """How long past its expected end a run may go on; above the vendor's own 10 s DPU timeout."""


@dataclass(frozen=True)
class RunContext:
    """What a workload is given of its surroundings."""

    clock: Clock
    environment: Mapping[str, str]
    """The complete environment of child processes."""
    tick: Callable[[str], None]
    """Called with the phase's name a few times a second while waiting."""


@dataclass(frozen=True)
class Observation:
    """What one run delivered."""

    boundary: str
    """Which boundary the times belong to, in words; figures of different boundaries are never combined."""
    window: Window | None = None
    """From the begin marker to the end marker; None if either is missing."""
    failure: str | None = None
    """Why the run does not count; None if it ended as it should."""
    start_ns: Int64Array | None = None
    """Start of each execution in the order of ends, where executions were timed."""
    end_ns: Int64Array | None = None
    """Completion of each execution, ascending, where executions were timed."""
    executions: int | None = None
    """How many executions the workload itself counted over its own run."""
    seconds: float | None = None
    """The duration the workload itself states for `executions`."""
    markers: tuple[Marker, ...] = ()
    idle_kind: str = ""
    """Which idle was measured, e.g. `runner created`."""
    idle: tuple[Window, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON-able facts for the session: inputs, last lines of output, exit code."""


class Workload(Protocol):
    """One kind of workload."""

    def run(self, request: RunRequest, context: RunContext) -> Observation:
        """Run once. Faults of the workload become Observation.failure; only our own faults raise KvbenchError."""
        ...


WORKLOADS: Mapping[str, str] = {
    "graph": "kv260_runtime.workloads.loop:open_workload",
    "dpu": "kv260_runtime.workloads.loop:open_workload",
    "xdputil": "kv260_runtime.workloads.xdputil:open_workload",
    "command": "kv260_runtime.workloads.command:open_workload",
}
"""Kind to `module:callable(spec) -> Workload`, imported when asked for."""


def open_workload(spec: WorkloadSpec) -> Workload:
    """The workload for `spec`; it starts nothing yet."""
    module, _, function = WORKLOADS[spec.kind].partition(":")
    workload: Workload = getattr(import_module(module), function)(spec)
    return workload
