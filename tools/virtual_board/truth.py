"""The true figures of a span, from the event log alone.

Integrated piece by piece from the log's intervals, in seconds and SI units, by code that shares nothing with the parts
that show sensors or with any reader of them, so that one mistake cannot hide on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from virtual_board.errors import VirtualBoardError


@dataclass(frozen=True)
class CommandRun:
    """One run of the compute unit."""

    start_ns: int
    end_ns: int
    """From `start_ns` to here the status showed it."""
    active_end_ns: int
    """From `start_ns` to here it drew `watts` and moved `moved_bytes`."""
    watts: float
    moved_bytes: Mapping[str, int]


@dataclass(frozen=True)
class Completion:
    """One execution that ended."""

    t_ns: int
    client: int
    pid: int
    ordinal: int
    """Which workload process of the session it was, from 1."""
    model: str
    boundary: str


@dataclass
class Truth:
    """A log, read."""

    header: dict[str, Any]
    runs: list[CommandRun] = field(default_factory=list)
    occupied: list[tuple[int, int, int]] = field(default_factory=list)
    """(core, start_ns, end_ns) of work of models."""
    charges: list[tuple[int, int, int, int]] = field(default_factory=list)
    """(core, start_ns, end_ns, cpu_ns) of observers."""
    completions: list[Completion] = field(default_factory=list)
    faults: list[tuple[str, int, str]] = field(default_factory=list)
    """(name, t_ns, begin or end)."""

    @property
    def constants(self) -> dict[str, Any]:
        """The board's constants."""
        constants: dict[str, Any] = self.header["constants"]
        return constants

    def busy_seconds(self, start_ns: int, end_ns: int) -> float:
        """How long the status of the compute unit showed a run."""
        return sum(_overlap(run.start_ns, run.end_ns, start_ns, end_ns) for run in self.runs) * 1e-9

    def joules(self, start_ns: int, end_ns: int) -> float:
        """Energy on the rail, whatever its sensor says."""
        idle = self.constants["idle_watts"] * (end_ns - start_ns)
        runs = sum(run.watts * _overlap(run.start_ns, run.active_end_ns, start_ns, end_ns) for run in self.runs)
        cores = sum(_overlap(since, until, start_ns, end_ns) for _, since, until in self.occupied)
        joules: float = (idle + runs + self.constants["core_watts"] * cores) * 1e-9
        return joules

    def port_bytes(self, start_ns: int, end_ns: int) -> dict[str, float]:
        """Bytes by column (`read.slot3`), background included; a run moves its bytes evenly."""
        seconds = (end_ns - start_ns) * 1e-9
        total = {name: rate * seconds for name, rate in self.constants["background_bytes_per_second"].items()}
        for run in self.runs:
            inside = _overlap(run.start_ns, run.active_end_ns, start_ns, end_ns)
            if inside:
                share = inside / (run.active_end_ns - run.start_ns)
                for name, size_bytes in run.moved_bytes.items():
                    total[name] = total.get(name, 0.0) + share * size_bytes
        return total

    def cpu_seconds(self, start_ns: int, end_ns: int) -> list[dict[str, float]]:
        """For each core: `workload`, `background`, and apart from both what observers were `charged`."""
        cores = []
        for core in range(self.constants["core_count"]):
            mine = (span for span in self.occupied if span[0] == core)
            workload = sum(_overlap(since, until, start_ns, end_ns) for _, since, until in mine) * 1e-9
            background = self.constants["background_share"] * ((end_ns - start_ns) * 1e-9 - workload)
            charged = sum(
                cpu_ns * _overlap(since, until, start_ns, end_ns) / (until - since)
                for index, since, until, cpu_ns in self.charges
                if index == core
            )
            cores.append({"workload": workload, "background": background, "charged": charged * 1e-9})
        return cores

    def completed(self, start_ns: int, end_ns: int) -> list[Completion]:
        """Executions that ended inside the span."""
        return [completion for completion in self.completions if start_ns <= completion.t_ns <= end_ns]


def read_truth(log: Path) -> Truth:
    """Read a whole event log; VirtualBoardError if it is none."""
    with log.open(encoding="utf-8") as file:
        try:
            header = json.loads(file.readline())
            records = [json.loads(line) for line in file]
        except ValueError as error:
            raise VirtualBoardError(f"{log}: no event log of the virtual board: {error}") from error
    if not isinstance(header, dict) or header.get("virtual_board_log") != 1:
        raise VirtualBoardError(f"{log}: no event log of the virtual board, or of another version than 1")
    return _collect(Truth(header), records)


def true_figures(log: Path, start_ns: int, end_ns: int) -> dict[str, Any]:
    """All true figures of [start_ns, end_ns], CLOCK_MONOTONIC.

    Figures per execution are taken between the first and the last completion inside the span, and absent if there are
    fewer than two.
    """
    truth = read_truth(log)
    seconds = (end_ns - start_ns) * 1e-9
    joules = truth.joules(start_ns, end_ns)
    ends_ns = sorted(completion.t_ns for completion in truth.completed(start_ns, end_ns))
    figures: dict[str, Any] = {
        "seconds": seconds,
        "busy_share": truth.busy_seconds(start_ns, end_ns) / seconds,
        "cu_runs": sum(start_ns <= run.end_ns <= end_ns for run in truth.runs),
        "executions": len(ends_ns),
        "joules": joules,
        "mean_watts": joules / seconds,
        "port_bytes": truth.port_bytes(start_ns, end_ns),
        "cpu_seconds": truth.cpu_seconds(start_ns, end_ns),
    }
    if len(ends_ns) >= 2:
        first_ns, last_ns, count = ends_ns[0], ends_ns[-1], len(ends_ns) - 1
        ports = truth.port_bytes(first_ns, last_ns)
        figures["executions_per_second"] = count / ((last_ns - first_ns) * 1e-9)
        figures["joules_per_execution"] = truth.joules(first_ns, last_ns) / count
        figures["port_bytes_per_execution"] = {name: size_bytes / count for name, size_bytes in ports.items()}
    return figures


def _collect(truth: Truth, records: Iterable[list[Any]]) -> Truth:
    plans: dict[int, dict[str, Any]] = {}
    clients: dict[int, tuple[int, int]] = {}
    for kind, *values in records:
        if kind == "plan":
            plans[values[0]] = values[2]
        elif kind == "client":
            clients[values[0]] = (values[1], values[2])
        elif kind == "run":
            truth.runs.append(_command_run(plans[values[1]]["segments"][values[2]], values, truth.constants))
        elif kind == "core":
            truth.occupied.append((values[0], values[1], values[2]))
        elif kind == "charge":
            truth.charges.append((values[0], values[1], values[2], values[3]))
        elif kind == "fault":
            truth.faults.append((values[0], values[1], values[2]))
        elif kind == "done":
            plan = plans[values[1]]
            truth.completions.append(
                Completion(values[3], values[0], *clients[values[0]], plan["model"], plan["boundary"])
            )
    return truth


def _command_run(segment: Mapping[str, Any], values: list[Any], constants: Mapping[str, Any]) -> CommandRun:
    start_ns, end_ns, active_ns = values[3:6]
    watts = segment.get("watts", constants["dpu_watts"])
    return CommandRun(start_ns, end_ns, start_ns + active_ns, watts, segment.get("moved_bytes", {}))


def _overlap(since_ns: int, until_ns: int, start_ns: int, end_ns: int) -> int:
    return max(0, min(until_ns, end_ns) - max(since_ns, start_ns))
