"""Drives one profile: a recorder for the whole session, runs one after another, each judged before the next."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kv260_runtime.accelerators.vendor import FINGERPRINT_VARIABLE
from kv260_runtime.boards import BoardSession
from kv260_runtime.errors import BoardUnavailable, ExitCode, KvbenchError
from kv260_runtime.external import pulse
from kv260_runtime.profile.evaluate import measured_run, question_of
from kv260_runtime.profile.identity import identify
from kv260_runtime.profile.plan import Order, PlannedRun, plan_runs
from kv260_runtime.profile.progress import Progress
from kv260_runtime.profile.records import observation_json
from kv260_runtime.profile.result import scheduling
from kv260_runtime.profile.subjects import Subject, require_dpu
from kv260_runtime.profile.verdict import why_excluded
from kv260_runtime.workloads import Observation, RunContext, RunRequest, open_workload
from telemetry.attached import OWN, AttachedRecording, record
from telemetry.boards import BoardProfile
from telemetry.clock import Clock
from telemetry.errors import RecorderEnded, SessionError, TelemetryError
from telemetry.files import SystemFiles
from telemetry.realtime import spare_cpu
from telemetry.recording import RecorderPlan, Recording
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.reader import SessionReader

SMOKE_NS = 5_000_000_000
"""A smoke run loads, warms up and proves that the model runs; it need not be longer."""
OVERHEAD_NS = 1_500_000_000
"""What starting and ending a run takes, for the estimate of the time left."""
COST_PERIOD_NS = 500_000_000


@dataclass(frozen=True)
class ProfileOptions:
    """What the user asked for."""

    runs: int
    smoke: int
    duration_ns: int
    idle_ns: int
    trim_ns: int
    executions: int | None
    order: Order
    repeats: int
    """How many excluded runs of one model may be repeated."""
    session: Path
    pulse: bool = False
    """Whether a load pulse comes first, by which a meter's clock is found."""

    def as_json(self) -> dict[str, Any]:
        """For the session's metadata."""
        return {
            "runs": self.runs,
            "smoke": self.smoke,
            "duration_seconds": self.duration_ns / 1e9,
            "idle_seconds": self.idle_ns / 1e9,
            "trim_seconds": self.trim_ns / 1e9,
            "executions": self.executions,
            "order": self.order,
            "repeats": self.repeats,
            "pulse": self.pulse,
        }


class ProfileJob:
    """One session from its file's creation to its closing."""

    def __init__(
        self,
        options: ProfileOptions,
        subjects: Sequence[Subject],
        board: BoardSession,
        profile: BoardProfile,
        clock: Clock,
        progress: Progress,
        on_tick: Callable[[str], None] | None = None,
    ) -> None:
        """`on_tick` is called with the phase a few times a second."""
        self._on_tick = on_tick
        self._options = options
        self._subjects = subjects
        self._board = board
        self._profile = profile
        self._clock = clock
        self._progress = progress
        self._repeats = [options.repeats] * len(subjects)
        self._cost_due_ns = 0
        self._fingerprint = ""
        self.finished = 0
        """Runs that were written down with a verdict, whichever."""
        self.begun = False
        """Whether any run began; without one there is nothing to report."""

    def run(self) -> None:
        """Make all runs. A KeyboardInterrupt ends the job after the present run is written down as interrupted.

        Raises KvbenchError or TelemetryError if the session cannot be written or the recorder does not live; the
        session is then left only if a run of it had ended (`finished`).
        """
        self._log = SessionLog.create(self._options.session, self._clock)
        try:
            self._record()
        except (KvbenchError, TelemetryError):
            if not self.finished:
                self._log.discard()
            raise
        except KeyboardInterrupt:
            if not self.begun:
                self._log.discard()
            raise
        finally:
            self._log.close()

    def _record(self) -> None:
        self._describe()
        self._recording = self._start_recorder()
        try:
            if self._options.pulse:
                self._make_pulse()
            self._make_runs()
        except KeyboardInterrupt:
            self._log.put_meta("interrupted", True)
            raise
        finally:
            self._recording.stop()

    def _describe(self) -> None:
        environment = self._environment()
        identity = identify(self._board, SystemFiles(), environment)
        self._log.put_meta("identity", identity)
        self._fingerprint = str(identity.get("dpu", {}).get("fingerprint") or "")
        for subject in self._subjects:
            require_dpu(subject, self._fingerprint, environment)
        self._log.put_meta("plan", {**self._options.as_json(), "workload": self._subjects[0].spec.kind})
        self._log.put_meta("models", [subject.as_json() for subject in self._subjects])

    def _start_recorder(self) -> Recording | AttachedRecording:
        plan = RecorderPlan(
            root=str(self._board.root),
            board=self._profile,
            session=str(self._options.session),
            files=self._board.files,
            cpu=spare_cpu(),
        )
        try:
            recording, manner = record(plan)
        except SessionError:
            raise
        except TelemetryError as error:
            raise KvbenchError(str(error), ExitCode.UNAVAILABLE) from error
        self._log.put_meta("missing_sensors", dict(recording.ready.missing))
        ready, attached = recording.ready, isinstance(recording, AttachedRecording)
        about = {"attached": attached, "manner": manner, "realtime": ready.realtime, "streams": ready.streams}
        about["cpu"] = ready.cpu
        self._log.put_meta("recorder", about)
        if manner != OWN:
            self._progress.note(manner)
        for note in scheduling(about):
            self._progress.note(note)
        for kind, reason in recording.ready.missing.items():
            self._progress.note(f"no {kind}: {reason}")
        return recording

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, **self._board.environment, FINGERPRINT_VARIABLE: self._fingerprint}

    def _make_pulse(self) -> None:
        """The load pattern by which a meter's clock is found."""
        self._progress.begin("load pulse", pulse.LENGTH_NS)
        pulse.emit(
            self._load,
            pulse.cores_to_spin(self._board.emulated),
            self._clock,
            lambda marker: self._log.marker(None, marker),
            self._tick,
        )
        self._progress.end("done")

    def _load(self, duration_ns: int) -> None:
        """The first model for about so long; a command of its own length is left out, and the cores are the load."""
        spec = self._subjects[0].spec
        if spec.kind == "command":
            self._clock.sleep_until_ns(self._clock.now_ns() + duration_ns)
            return
        context = RunContext(self._clock, self._environment(), self._tick)
        observed = open_workload(spec).run(RunRequest(duration_ns), context)
        if observed.failure is not None:
            self._progress.note(f"the load pulse lacks the model: {observed.failure}")

    def _make_runs(self) -> None:
        options = self._options
        queue = [(planned, 0) for planned in plan_runs(len(self._subjects), options.runs, options.smoke, options.order)]
        while queue:
            self._progress.expect(sum(self._length_ns(planned) for planned, _ in queue))
            planned, attempt = queue.pop(0)
            if self._make_run(planned, attempt):
                continue
            lost = self._board.lost()
            if lost is not None:
                raise BoardUnavailable(f"{self._board.label} is gone: {lost}")
            if self._may_repeat(planned):
                # At once, so that a repeated run keeps its neighbours of the other models.
                queue.insert(0, (planned, attempt + 1))
            elif planned.phase == "smoke":
                name = self._subjects[planned.model].name
                self._progress.note(f"{name} does not run: no formal run is tried")
                queue = [(later, tries) for later, tries in queue if later.model != planned.model]

    def _may_repeat(self, planned: PlannedRun) -> bool:
        if self._repeats[planned.model] == 0:
            return False
        self._repeats[planned.model] -= 1
        return True

    def _length_ns(self, planned: PlannedRun) -> int:
        return self._request(planned).duration_ns + 2 * self._options.idle_ns + OVERHEAD_NS

    def _request(self, planned: PlannedRun) -> RunRequest:
        options = self._options
        smoke = planned.phase == "smoke"
        return RunRequest(
            duration_ns=min(options.duration_ns, SMOKE_NS) if smoke else options.duration_ns,
            executions=None if smoke else options.executions,
            idle_ns=options.idle_ns,
        )

    def _make_run(self, planned: PlannedRun, attempt: int) -> bool:
        """One run, judged and written down; True if it counts."""
        subject = self._subjects[planned.model]
        info = RunInfo(subject.name, planned.phase, planned.index, attempt, {"trim_ns": self._options.trim_ns})
        run_id = self._log.start_run(info)
        self.begun = True
        try:
            self._progress.begin(_label(subject.name, planned, attempt), self._length_ns(planned))
            observed = open_workload(subject.spec).run(
                self._request(planned), RunContext(self._clock, self._environment(), self._tick)
            )
        except KeyboardInterrupt:
            self._log.end_run(run_id, "excluded", "interrupted", None)
            self._progress.end("interrupted")
            raise
        try:
            reason = self._judge(run_id, observed, planned)
        except RecorderEnded as error:
            self._end(run_id, str(error), observed)
            raise
        self._end(run_id, reason, observed)
        self._progress.end(f"excluded: {reason}" if reason else "kept" if planned.phase == "formal" else "done")
        return reason is None

    def _end(self, run_id: int, reason: str | None, observed: Observation) -> None:
        self._log.end_run(run_id, "excluded" if reason else "kept", reason, observation_json(observed))
        self.finished += 1

    def _judge(self, run_id: int, observed: Observation, planned: PlannedRun) -> str | None:
        """Write down what was observed, then compute the run's figures as anyone reading the file would."""
        for marker in observed.markers:
            self._log.marker(run_id, marker)
        if observed.end_ns is not None:
            self._log.executions(run_id, observed.start_ns, observed.end_ns)
        self._note_cost()
        if observed.failure is not None or planned.phase == "smoke":
            return observed.failure
        died = self._recording.poll()
        if died is not None:
            raise RecorderEnded(died)
        self._recording.flush()
        self._log.end_run(run_id, "excluded", None, observation_json(observed))
        with SessionReader(self._options.session) as source:
            record = next(record for record in source.runs() if record.id == run_id)
            subject = self._subjects[planned.model].as_json()
            measured = measured_run(question_of(source, record, subject))
        return why_excluded(observed, measured, self._recording.ready.streams)

    def _tick(self, phase: str) -> None:
        self._progress.phase(phase)
        if self._on_tick is not None:
            self._on_tick(phase)
        if self._clock.now_ns() >= self._cost_due_ns:
            self._note_cost()

    def _note_cost(self) -> None:
        """Note what this process has used so far; the recorder notes its own."""
        now_ns = self._clock.now_ns()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        self._log.observer_cost(now_ns, usage.ru_utime + usage.ru_stime)
        self._cost_due_ns = now_ns + COST_PERIOD_NS


def _label(name: str, planned: PlannedRun, attempt: int) -> str:
    again = f" (repeat {attempt})" if attempt else ""
    return f"{name} {planned.phase} {planned.index + 1}{again}"
