"""Sessions and results of known content for tests of reports."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.profile.records import observation_json
from kv260_runtime.profile.result import ProfileResult
from kv260_runtime.profile.timeline import Timeline, read_timeline
from kv260_runtime.workloads import Observation
from telemetry.model import Marker, Window
from telemetry.session.log import RunInfo, SessionLog
from telemetry.session.reader import SessionReader
from tests.unit.profile import synthetic

HOSTILE = "</script><script>alert(1)</script>|*_`&\"'"
IDENTITY = {
    "label": "virtual KV260",
    "emulated": True,
    "kernel": "6.1",
    "machine": "aarch64",
    "dpu": {"architecture": "DPUCZDX8G_ISA1_B4096", "frequency_mhz": 300},
}
EXCLUDED_NS = 1045 * synthetic.SECOND
"""After all other runs."""


def write_session(path: Path, models: tuple[str, ...] = ("a", "b"), reason: str = "the worker died") -> None:
    """Two kept runs of each model, and one of the first that was excluded after it had begun to idle."""
    synthetic.write_session(path, synthetic.Truth(), runs=2, models=models)
    clock = synthetic.LogClock()
    clock.t_ns = EXCLUDED_NS
    with closing(SessionLog.open(path, clock)) as log:
        log.put_meta("identity", IDENTITY)
        log.put_meta("missing_sensors", {"thermal": reason})
        run_id = log.start_run(RunInfo(models[0], "formal", 1, 1, {"trim_ns": synthetic.SECOND}))
        log.marker(1, Marker(1002 * synthetic.SECOND, "begin"))
        idle = Window(EXCLUDED_NS, EXCLUDED_NS + synthetic.SECOND)
        clock.t_ns = idle.end_ns + synthetic.SECOND
        observed = Observation(boundary="synthetic", failure=reason, idle_kind="runner created", idle=(idle,))
        log.end_run(run_id, "excluded", reason, observation_json(observed))


def result_and_timeline(path: Path, bins: int = 400, executions: int = 10_000) -> tuple[ProfileResult, Timeline]:
    """Both views of a session that a format may be given."""
    with SessionReader(path) as source:
        return evaluate(path), read_timeline(source, bins, 10_000_000, executions)
