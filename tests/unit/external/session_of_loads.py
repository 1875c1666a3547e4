"""A session file of the load in `loads`: a pulse, three runs of one model, seen by the board's own rail."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np

from kv260_runtime.external.pulse import PULSE_BEGIN, PULSE_END
from kv260_runtime.profile.records import observation_json
from kv260_runtime.workloads import Observation
from telemetry.model import Column, Marker, Stream, Window
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.writer import ChunkWriter
from tests.unit.external import loads
from tests.unit.external.loads import MS, SECOND

EPOCH_NS = 1000 * SECOND
PERIOD_NS = 20 * MS
"""Of one execution."""
RAIL = Stream(
    "power.som",
    "hwmon-power",
    10 * MS,
    (Column("watts", "W", "gauge"),),
    {"averaging_ns": "10000000", "boundary": "SOM 5 V rail", "gain_u": "0.0015"},
)


def write_session(path: Path, pulse: bool = True, rail: bool = True) -> Path:
    """The session, with its load pulse marked or not, with the board's rail recorded or not."""
    log = SessionLog.create(path)
    log.put_meta("models", [{"name": "m", "static": None}])
    if pulse:
        log.marker(None, Marker(EPOCH_NS, PULSE_BEGIN))
        log.marker(None, Marker(EPOCH_NS + 15 * SECOND, PULSE_END))
    for index, (begin, end) in enumerate(loads.RUNS):
        _write_run(log, index, Window(EPOCH_NS + begin * SECOND, EPOCH_NS + end * SECOND))
    t = np.arange(0, loads.END, 0.01)
    writer = ChunkWriter(path, [RAIL] if rail else [])
    if rail:
        times = array("q", (EPOCH_NS + np.rint(t * SECOND)).astype(np.int64).tolist())
        writer.chunk(RAIL.name, times, array("q", [0] * len(times)), [array("d", loads.rail_watts(t, 0.01).tolist())])
    writer.close()
    log.close()
    return path


def _write_run(log: SessionLog, index: int, window: Window) -> None:
    run_id = log.start_run(RunInfo("m", "formal", index, 0, {"trim_ns": SECOND}))
    ends = np.arange(window.start_ns + PERIOD_NS, window.end_ns + 1, PERIOD_NS)
    log.executions(run_id, ends - PERIOD_NS, ends)
    observed = Observation(
        boundary="synthetic",
        window=window,
        executions=len(ends),
        idle_kind="synthetic",
        idle=(
            Window(window.start_ns - 3 * SECOND, window.start_ns),
            Window(window.end_ns, window.end_ns + 3 * SECOND),
        ),
    )
    log.end_run(run_id, "kept", None, observation_json(observed))
