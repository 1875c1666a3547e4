"""What a profile comes to: values only, computed by `evaluate`, written by `kv260_runtime.report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from telemetry.comparison import Comparison
from telemetry.figures.figure import Figure
from telemetry.figures.within_run import BatchMeans
from telemetry.findings import Finding
from telemetry.stats import Interval
from telemetry.uncertainty import Budget


def scheduling(recorder: Mapping[str, Any]) -> Iterator[str]:
    """What the system did not grant the recorder, one line each; nothing where a session does not tell."""
    realtime, cpu = str(recorder.get("realtime") or ""), str(recorder.get("cpu") or "")
    if realtime.startswith("SCHED_OTHER"):
        reason = realtime.partition(": ")[2]
        yield f"recorder: no real-time priority ({reason}); on a busy machine its samples come late, see kvbench doctor"
    if cpu.startswith("any: "):
        yield f"recorder: not pinned to a CPU of its own ({cpu.partition(': ')[2]})"


@dataclass(frozen=True)
class RunFigures:
    """The figures of one run, and why others are absent."""

    figures: Mapping[str, Figure]
    absent: Mapping[str, str]
    """Figure name to the reason it does not exist."""
    findings: tuple[Finding, ...] = ()
    within: Mapping[str, BatchMeans] = field(default_factory=dict)
    """What the run alone tells of the error of its figures; to be taken relative to the batches' own mean."""
    seconds: float | None = None
    """Length of the window that shares, rates and energies are about."""


@dataclass(frozen=True)
class RunOutcome:
    """One run with what came of it."""

    run_id: int
    model: str
    phase: str
    index: int
    attempt: int
    kept: bool
    reason: str | None
    """Why the run does not count."""
    boundary: str
    measured: RunFigures


@dataclass(frozen=True)
class Summary:
    """One figure over the kept formal runs of one model."""

    name: str
    unit: str
    mean: float
    sd: float | None
    """Sample standard deviation over runs; None for a single run."""
    values: tuple[float, ...]
    """One value a run, unrounded, in the order of runs."""
    source: str
    repeatability: Interval | None = None
    """Where the mean of the next runs will fall; None for a single run."""
    accuracy: Budget | None = None
    """Where the truth is, and what that rests on."""
    accuracy_unknown: str | None = None
    """Why there is no accuracy."""


@dataclass(frozen=True)
class ModelResult:
    """One model's figures."""

    subject: Mapping[str, Any]
    """As recorded: name, path, digest, static facts."""
    runs: tuple[RunOutcome, ...]
    summaries: Mapping[str, Summary]
    absent: Mapping[str, str]
    """Figures that no kept run has, with the reason most runs give."""

    @property
    def name(self) -> str:
        """The model's name in this session."""
        return str(self.subject["name"])

    @property
    def kept(self) -> int:
        """How many formal runs count."""
        return sum(run.kept and run.phase == "formal" for run in self.runs)

    @property
    def excluded(self) -> tuple[RunOutcome, ...]:
        """Formal and smoke runs that failed or were measured badly, in order."""
        return tuple(run for run in self.runs if not run.kept and run.reason)


@dataclass(frozen=True)
class Change:
    """How one figure of one model differs from the first model's."""

    name: str
    model: str
    ratio: float
    """Mean of this model / mean of the first."""
    paired: Comparison | None = None
    """The ratio over pairs of runs of the same number, with its interval."""
    pairs: int = 0
    unpaired: str | None = None
    """Why there is no such interval."""


@dataclass(frozen=True)
class ProfileResult:
    """A whole session."""

    session: str
    """Path of the session file."""
    identity: Mapping[str, Any]
    plan: Mapping[str, Any]
    models: Sequence[ModelResult]
    changes: Sequence[Change]
    findings: Sequence[Finding] = ()
    missing_sensors: Mapping[str, str] = field(default_factory=dict)
    """Sensor kind to why the recorder could not open it."""
    recorder: Mapping[str, Any] = field(default_factory=dict)
    """Whether it was our own or a running service that was attached to, and under which scheduling policy it ran."""
    streams: Sequence[Mapping[str, Any]] = ()
    """What was recorded: name, kind and attributes (chip, what a rail covers) of each stream."""
    interrupted: bool = False
    created_ns: int | None = None
    """When the session was made, in nanoseconds since 1970 (UTC)."""
