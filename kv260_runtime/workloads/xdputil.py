"""The vendor's own benchmark, `xdputil benchmark` (board.md section 4.1).

It is asked for `-i -1`, the whole XModel, unless a subgraph is named: by default it measures subgraph 1 only.
"""

from __future__ import annotations

from dataclasses import replace

from kv260_runtime.workloads import Observation, RunContext, RunRequest, WorkloadSpec
from kv260_runtime.workloads.external import first_fault, observe_command, require_program
from telemetry.markers import CommandResult, XdputilParser

WHOLE = -1


class Xdputil:
    """One XModel under xdputil benchmark."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec

    def command(self) -> list[str]:
        """The command line."""
        spec = self._spec
        index = WHOLE if spec.subgraph is None else spec.subgraph
        return ["xdputil", "benchmark", str(spec.model), "-i", str(index), str(spec.threads)]

    def run(self, request: RunRequest, context: RunContext) -> Observation:
        command = self.command()
        require_program(command, context)
        environment = {**context.environment, "SLEEP_MS": str(request.duration_ns // 1_000_000)}
        part = "whole XModel" if self._spec.subgraph is None else f"subgraph {self._spec.subgraph}"
        return observe_command(
            command,
            XdputilParser(),
            why_unfit,
            f"{part} under xdputil benchmark, its own inputs",
            request,
            replace(context, environment=environment),
        )


def why_unfit(told: CommandResult, code: int | None) -> str | None:
    """Its exit code is 0 even when the test failed or an input was missing, so its words are read too."""
    fault = first_fault(told, code)
    if fault is not None:
        return fault
    if told.verdict == "failed":
        return "xdputil printed `Test Failed!!!` (its exit code is 0 all the same)"
    if told.window is None:
        seen = {marker.name for marker in told.markers}
        missing = " and ".join(sorted({"0%", "100%"} - seen))
        return f"xdputil printed no {missing} marker"
    if told.frames is None:
        return "xdputil printed no number of frames"
    return None


def open_workload(spec: WorkloadSpec) -> Xdputil:
    """The workload for a spec of kind `xdputil`."""
    return Xdputil(spec)
