"""A short recording for the doctor: what the recorder achieves here, and what a load does to the power."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from kv260_runtime.boards import BoardSession
from telemetry.boards import BoardProfile
from telemetry.clock import Clock
from telemetry.model import Series
from telemetry.recording import RecorderPlan, RecorderReady, Recording
from telemetry.session.log import SessionLog
from telemetry.session.reader import SessionReader

PROBED = ("xrt-cu", "hwmon-power")
PROBE_PERIOD_MS = 1.0


@dataclass(frozen=True)
class Recorded:
    """What a recording found."""

    ready: RecorderReady
    series: Mapping[str, Series]


def record(board: BoardSession, profile: BoardProfile, clock: Clock, activity: Callable[[], None]) -> Recorded:
    """Record all of the profile while `activity` runs. Raises TelemetryError if the recorder does not."""
    with TemporaryDirectory(prefix="kvbench-doctor-") as folder:
        session = Path(folder) / "doctor.kvs"
        SessionLog.create(session, clock).close()
        recording = Recording.start(RecorderPlan(str(board.root), profile, str(session), board.files))
        try:
            activity()
        finally:
            recording.stop()
        with SessionReader(session) as source:
            return Recorded(recording.ready, {stream.name: source.series(stream.name) for stream in source.streams()})


def probing(profile: BoardProfile) -> BoardProfile:
    """The profile's compute units and rails alone, all at 1 kHz."""
    plans = [
        msgspec.structs.replace(plan, period_ms=PROBE_PERIOD_MS) for plan in profile.streams if plan.kind in PROBED
    ]
    return msgspec.structs.replace(profile, streams=tuple(plans))
