"""How a run's observation is kept in the session file, and read back: what was observed, never what was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kv260_runtime.workloads import Observation
from telemetry.model import Int64Array, Window


@dataclass(frozen=True)
class RunFacts:
    """One run as evaluation needs it; everything comes from the session file."""

    run_id: int
    boundary: str
    window: Window | None
    failure: str | None
    start_ns: Int64Array | None
    end_ns: Int64Array
    executions: int | None
    seconds: float | None
    idle_kind: str
    idle: tuple[Window, ...]
    printed_per_second: float | None = None
    """The rate that an external command printed itself."""
    host_slower: str | None = None
    """What an emulated runner said of its own slowness."""

    @property
    def timed(self) -> bool:
        """Whether single executions have completion times."""
        return len(self.end_ns) > 0


def observation_json(observed: Observation) -> dict[str, Any]:
    """The observation without its time stamps, which have their own table."""
    return {
        "boundary": observed.boundary,
        "window_ns": None if observed.window is None else [observed.window.start_ns, observed.window.end_ns],
        "failure": observed.failure,
        "executions": observed.executions,
        "seconds": observed.seconds,
        "idle_kind": observed.idle_kind,
        "idle_ns": [[window.start_ns, window.end_ns] for window in observed.idle],
        "details": dict(observed.details),
    }


def run_facts(
    run_id: int, stored: Mapping[str, Any] | None, start_ns: Int64Array | None, end_ns: Int64Array
) -> RunFacts:
    """The inverse of `observation_json`; a run that was cut short has no stored result."""
    told = stored or {"failure": "the run was cut short", "boundary": "unknown"}
    window = told.get("window_ns")
    return RunFacts(
        run_id=run_id,
        boundary=str(told["boundary"]),
        window=None if window is None else Window(*window),
        failure=told.get("failure"),
        start_ns=start_ns,
        end_ns=end_ns,
        executions=told.get("executions"),
        seconds=told.get("seconds"),
        idle_kind=str(told.get("idle_kind", "")),
        idle=tuple(Window(*pair) for pair in told.get("idle_ns", [])),
        printed_per_second=told.get("details", {}).get("printed_per_second"),
        host_slower=told.get("details", {}).get("host_slower"),
    )
