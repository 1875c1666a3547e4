"""A recording by the running service: its samples, written into one's own session file as they come."""

from __future__ import annotations

import queue
import sys
import threading
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from telemetry.client import Connection, socket_path
from telemetry.clock import Clock, SystemClock
from telemetry.errors import SensorNotFound, SessionError, TelemetryError
from telemetry.model import Column, Gap, Marker, Stream
from telemetry.protocol import RecorderPlan, RecorderReady, StreamSummary
from telemetry.recording import Recording
from telemetry.session import ChunkWriter, SessionLog
from telemetry.session.packing import typecode
from telemetry.session.schema import fold_log

COMMIT_NS = 500_000_000
"""As the recorder's own."""
ANSWER_SECONDS = 10.0
OWN = "own recorder"
UNWRITTEN = "the session file could not be written"


def record(plan: RecorderPlan) -> tuple[Recording | AttachedRecording, str]:
    """Record as planned and say how: attached to the service that owns this board's sensors, else by a recorder.

    Raises as Recording.start does.
    """
    path = socket_path(Path(plan.root))
    if path.exists():
        try:
            attached = AttachedRecording(plan, path)
        except SensorNotFound as error:
            # Left behind by a service that was killed, or another user's; the recorder tells what it could not have.
            return Recording.start(plan), f"{OWN}: {error}"
        return attached, f"attached to kv260-telemetry, process {attached.ready.pid}"
    return Recording.start(plan), OWN


@dataclass
class _Pending:
    """Samples of one stream that wait to be committed."""

    t_ns: array[int]
    late_ns: array[int]
    columns: list[array[Any]]
    gaps: list[Gap] = field(default_factory=list)


class AttachedRecording:
    """What Recording is, without a process of its own: a thread receives, packs and commits."""

    def __init__(self, plan: RecorderPlan, path: Path, clock: Clock | None = None) -> None:
        """Attach; SensorNotFound, saying why, if there is no service that records what the plan asks for."""
        if plan.session is None:
            raise SensorNotFound("a recording without a session has nothing to attach for")
        self._clock = clock or SystemClock()
        self._session = Path(plan.session)
        self._connection = Connection(path, ANSWER_SECONDS)
        try:
            status = self._connection.ask("status")
            _refuse_another(status, plan)
            streams = [_stream(told) for told in self._connection.ask("subscribe", "*")["streams"]]
            self._writer = ChunkWriter(self._session, streams)
            self._log = SessionLog.open(self._session)
        except BaseException:
            self._connection.close()
            raise
        self._connection.wait_without_limit()
        self.ready = RecorderReady(
            [stream.name for stream in streams], dict(status["missing"]), status["realtime"], status["pid"]
        )
        self.summary: dict[str, StreamSummary] = {}
        self._streams = {stream.name: stream for stream in streams}
        self._pending: dict[str, _Pending] = {}
        self._counts = {stream.name: [0, 0, 0] for stream in streams}
        self._answers: queue.Queue[str | None] = queue.Queue()
        """For each flush: None, or why it failed."""
        self._commit_ns = self._clock.now_ns()
        self._stopping = False
        self._ended: str | None = None
        self._unwritten: str | None = None
        self._thread = threading.Thread(target=self._run, name="attached", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Return when all that was sampled up to now can be read from the session; SessionError if it cannot."""
        try:
            self._connection.send("flush")
        except TelemetryError:
            self._thread.join(ANSWER_SECONDS)  # which is about to say why
            raise
        try:
            failure = self._answers.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise TelemetryError(f"the service has not answered for {ANSWER_SECONDS} s") from None
        if failure is not None:
            raise SessionError(failure)

    def stop(self) -> None:
        """End the recording with all samples up to now in the file; idempotent."""
        if self._stopping:
            return
        failure = None
        if self.poll() is None:
            try:
                self.flush()
            except TelemetryError as error:
                failure = error
        self._stopping = True
        self._connection.close()
        self._thread.join(ANSWER_SECONDS)
        self._writer.close()
        self._log.close()
        self.summary = {name: StreamSummary(*counts) for name, counts in self._counts.items()}
        if failure is not None:
            raise failure

    def poll(self) -> str | None:
        """None while it records, else one line on why it does not."""
        return self._ended

    def _run(self) -> None:
        try:
            while True:
                self._heed(self._connection.receive())
                if self._clock.now_ns() - self._commit_ns >= COMMIT_NS:
                    self._commit()
        except TelemetryError as error:
            if not self._stopping:
                self._ended = str(error)
        except Exception as error:  # noqa: BLE001 - the top of a thread
            self._ended = f"attached recording: {error!r}"
        self._answers.put(self._ended or "stopped")

    def _heed(self, message: Mapping[str, Any]) -> None:
        if "samples" in message:
            self._add(message)
        elif "mark" in message:
            self._log.marker(None, Marker(message["t_ns"], message["mark"]))
        elif "stream" in message:
            self._describe(_stream(message["stream"]))
        elif message.get("ok"):  # of a flush: nothing else is asked here
            self._commit()
            self._answers.put(self._unwritten)
        else:
            self._answers.put(str(message.get("reason", message)))

    def _add(self, message: Mapping[str, Any]) -> None:
        stream = self._streams[message["samples"]]
        columns = [array(typecode(column), values) for column, values in _columns(stream, message["columns"])]
        batch = _Pending(array("q", message["t_ns"]), array("q", message["late_ns"]), columns)
        batch.gaps += [Gap(*gap) for gap in message["gaps"]]
        pending = self._pending.setdefault(stream.name, batch)
        if pending is not batch:
            pending.t_ns += batch.t_ns
            pending.late_ns += batch.late_ns
            pending.gaps += batch.gaps
            for mine, more in zip(pending.columns, batch.columns, strict=True):
                mine += more

    def _describe(self, stream: Stream) -> None:
        """Take on a stream that has appeared, or appears again with the service's next recorder."""
        known = self._streams.get(stream.name)
        if known is None:
            self._streams[stream.name] = stream
            self._counts[stream.name] = [0, 0, 0]
            self._writer.add_stream(stream)
        elif known.columns != stream.columns:
            raise TelemetryError(f"the service was reloaded and stream {stream.name} has other columns now")

    def _commit(self) -> None:
        """Write what is pending in one transaction, or give it up and say so at the next flush."""
        self._commit_ns = self._clock.now_ns()
        taken, self._pending = self._pending, {}
        try:
            with self._writer.transaction():
                for name, batch in taken.items():
                    if batch.t_ns:
                        self._writer.chunk(name, batch.t_ns, batch.late_ns, batch.columns)
                    for gap in batch.gaps:
                        self._writer.gap(name, gap)
            if self._writer.log_is_long:
                fold_log(self._session)
        except SessionError as error:
            self._unwritten = str(error)
            print(error, file=sys.stderr, flush=True)
            self._pending = {name: _given_up(batch) for name, batch in taken.items()}
            return
        self._unwritten = None
        for name, batch in taken.items():
            self._counts[name][0] += len(batch.t_ns)
            self._counts[name][1] += sum(gap.missed for gap in batch.gaps)
            self._counts[name][2] += sum(map((1_000_000).__lt__, batch.late_ns))


def _given_up(batch: _Pending) -> _Pending:
    """What could not be written, as one gap to be confessed once the file can be written again."""
    spans = [(gap.start_ns, gap.end_ns, gap.missed) for gap in batch.gaps]
    if batch.t_ns:
        spans.append((batch.t_ns[0], batch.t_ns[-1], len(batch.t_ns)))
    starts, ends, counts = zip(*spans, strict=True)
    gap = Gap(min(starts), max(ends), UNWRITTEN, sum(counts))
    return _Pending(array("q"), array("q"), [array(column.typecode) for column in batch.columns], [gap])


def _refuse_another(status: Mapping[str, Any], plan: RecorderPlan) -> None:
    """SensorNotFound if the service records another board, or reads it in another way."""
    if (status["board"], status["files"]) != (plan.board.name, plan.files):
        raise SensorNotFound(
            f"the running kv260-telemetry records {status['board']}, not {plan.board.name}"
            + ("" if status["files"] == plan.files else f", through {status['files'] or 'the plain files'}")
        )
    with suppress(OSError):
        if not Path(status["root"]).samefile(plan.root):
            raise SensorNotFound(f"the running kv260-telemetry records the board at {status['root']}")


def _stream(told: Mapping[str, Any]) -> Stream:
    columns = tuple(Column(**column) for column in told["columns"])
    return Stream(told["name"], told["kind"], told["period_ns"], columns, told["attributes"])


def _columns(stream: Stream, columns: Sequence[Sequence[Any]]) -> zip[tuple[Column, Sequence[Any]]]:
    return zip(stream.columns, columns, strict=True)
