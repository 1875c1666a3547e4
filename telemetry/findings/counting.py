"""Counts of the same thing that ought to agree."""

from __future__ import annotations

from telemetry.figures.figure import Figure
from telemetry.findings.finding import Finding


def counts_disagree(executions: float, runs_per_execution: int, cu_runs: Figure, in_flight: int = 0) -> Finding | None:
    """Executions by the runner against runs by the compute unit; `in_flight` executions may straddle the edges."""
    expected = executions * runs_per_execution
    if abs(cu_runs.value - expected) <= in_flight * runs_per_execution:
        return None
    return Finding(
        "counts-disagree",
        "warning",
        f"the runner counted {executions:.0f} executions of {runs_per_execution} DPU subgraphs ({expected:.0f} runs), "
        f"the compute unit {cu_runs.value:.0f} runs",
        "another process may use the DPU, or executions failed unnoticed: stop other users and measure again",
    )


def frames_disagree(frames: int, frames_per_second: float, seconds: float) -> Finding | None:
    """Frames summed over a command's threads against its own rate times its own time, both printed to six digits."""
    told = frames_per_second * seconds
    if abs(told - frames) <= max(1.0, 2e-5 * frames):
        return None
    return Finding(
        "frames-disagree",
        "warning",
        f"the threads report {frames} frames, the command's rate and time {told:.0f}",
        "a thread's line was lost or the DPU works on batches: use the rate, and check the command's output",
    )


TRAFFIC_TOLERANCE = 0.002
COARSE_EDGES = 0.005
"""Half a percent: where bursts at a window's edges begin to hide what differs between two builds of a model."""


def coarse_edges(per_execution_bytes: float, doubt_bytes: float) -> Finding | None:
    """Memory counters read too seldom for so few executions."""
    if doubt_bytes <= COARSE_EDGES * per_execution_bytes:
        return None
    return Finding(
        "coarse-edges",
        "warning",
        f"memory per execution is uncertain by {doubt_bytes / per_execution_bytes:.1%} (standard uncertainty): "
        "the counters are read too seldom for bursts at the edges of so few executions",
        "measure for longer (--duration); the doubt falls with the number of executions",
    )


def traffic_below_static(measured_bytes: float, static_bytes: float, doubt_bytes: float = 0.0) -> Finding | None:
    """Less traffic measured than the instructions alone must cause (board.md, section 2.8), a doubt allowed for."""
    if measured_bytes + doubt_bytes >= static_bytes * (1 - TRAFFIC_TOLERANCE):
        return None
    return Finding(
        "traffic-below-static",
        "warning",
        f"measured {measured_bytes / 1e6:.3f} MB per execution, the instructions alone move {static_bytes / 1e6:.3f}",
        "a port of the DPU is not monitored or its counter was lost: check dpu_ports in the board profile",
    )
