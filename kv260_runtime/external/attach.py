"""A meter's readings into a session, as a rail whose name says what it covers."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.external.align import Alignment, Level, align_with_rate
from kv260_runtime.external.meter_file import Readings
from kv260_runtime.external.pulse import PULSE_BEGIN, PULSE_END
from kv260_runtime.profile.records import RunFacts, run_facts
from telemetry.errors import NotCovered
from telemetry.figures import external
from telemetry.figures.busy import held_states
from telemetry.figures.power import WATTS, averaging_ns
from telemetry.model import Column, Float64Array, Int64Array, Series, Stream, Window
from telemetry.session.log import SessionLog
from telemetry.session.reader import SessionReader
from telemetry.session.writer import ChunkWriter

CHUNK = 10_000
"""Samples written at once, as a recorder does in about a minute."""
TYPED_PERIOD_NS = 1_000_000_000
"""Nominal: readings further apart than ten of these are not joined by a line."""
LATE_NS = 8_000_000_000
"""How much of the end of the last run is looked at for the meter's rate."""
MARGIN_NS = 2_000_000_000


@dataclass(frozen=True)
class Attached:
    """What was added to a session."""

    stream: Stream
    readings: int
    alignment: Alignment | None = None
    """None for typed readings, which are stamped by the session's own clock."""
    aligned_by: str | None = None


def rail_name(boundary: str) -> str:
    """`power.12-v-input` for `12 V input`: the boundary stands in the name of every figure.

    Raises KvbenchError for a boundary without a letter or digit.
    """
    label = re.sub(r"[^a-z0-9]+", "-", boundary.casefold()).strip("-")
    if not label:
        raise KvbenchError(f"boundary {boundary!r}: say what the meter measures, e.g. '12 V input'", ExitCode.USAGE)
    return f"power.{label}"


def attach_readings(
    session: Path, readings: Readings, source: str, boundary: str, gain_u: float | None = None
) -> Attached:
    """Align a meter's file to the session and add it. Raises KvbenchError in one line where that cannot be done."""
    name = rail_name(boundary)
    with SessionReader(session) as reader:
        _require_new(reader, session, name)
        try:
            pattern, late = load_patterns(reader)
            level = level_of(reader, (pattern, late))
            found = align_with_rate(readings, level, pattern, late)
        except NotCovered as reason:
            raise KvbenchError(f"{source} cannot be aligned to {session}: {reason}", ExitCode.BAD_DATA) from reason
    attributes = {
        "boundary": boundary,
        "source": source,
        # A reading belongs to one averaging time before its stamp, as with the board's own sensors; a meter is taken to
        # average over its own interval, and was aligned by the middle of that.
        "averaging_ns": str(readings.period_ns),
        "offset_ns": str(found.offset_ns),
        "rate": repr(found.rate),
        "correlation": f"{found.correlation:.4f}",
        "aligned_by": level.name,
        **({} if gain_u is None else {"gain_u": repr(gain_u)}),
    }
    stream = Stream(name, external.FILE, readings.period_ns, (Column(WATTS, "W", "gauge"),), attributes)
    _write(session, stream, found.session_ns(readings.t_ns) + readings.period_ns, readings.watts.tolist())
    return Attached(stream, readings.watts.size, found, level.name)


def attach_typed(session: Path, readings: Mapping[int, float], boundary: str) -> Attached:
    """Add readings that were typed in, by their session time. Raises KvbenchError if the rail is there already."""
    name = rail_name(boundary)
    with SessionReader(session) as reader:
        _require_new(reader, session, name)
    stream = Stream(
        name,
        external.TYPED,
        TYPED_PERIOD_NS,
        (Column(WATTS, "W", "gauge"),),
        {"boundary": boundary, "source": "typed in"},
    )
    times = sorted(readings)
    _write(session, stream, np.array(times, np.int64), [readings[t_ns] for t_ns in times])
    return Attached(stream, len(times))


def _require_new(reader: SessionReader, session: Path, name: str) -> None:
    if any(stream.name == name for stream in reader.streams()):
        raise KvbenchError(f"{session} has {name} already; give this meter another --boundary", ExitCode.USAGE)


def _write(session: Path, stream: Stream, t_ns: Int64Array, watts: Sequence[float]) -> None:
    with closing(ChunkWriter(session, [stream])) as writer, writer.transaction():
        for begin in range(0, len(watts), CHUNK):
            times = array("q", t_ns[begin : begin + CHUNK].tolist())
            late = array("q", bytes(8 * len(times)))
            writer.chunk(stream.name, times, late, [array("d", watts[begin : begin + CHUNK])])


def refresh_figures(session: Path) -> None:
    """Store the session's figures anew, so that a replay knows those of the new rail."""
    from kv260_runtime.profile.evaluate import evaluate
    from kv260_runtime.profile.replay import META_KEY, figures_of

    result = evaluate(session)
    with closing(SessionLog.open(session)) as log:
        log.put_meta(META_KEY, figures_of(result))


def load_patterns(reader: SessionReader) -> tuple[Window, Window]:
    """The span to be found among a meter's readings, and a later one to see how its clock runs.

    The first is the pulse if the session has one, else all of its runs. Raises NotCovered for a session of neither.
    """
    facts = [run_facts(record.id, record.result, None, np.empty(0, np.int64)) for record in reader.runs()]
    runs = [window for one in facts if (window := _with_idle(one)) is not None]
    marks = {marker.name: marker.t_ns for marker in reader.markers() if marker.name in (PULSE_BEGIN, PULSE_END)}
    if len(marks) == 2:
        pattern = Window(marks[PULSE_BEGIN], marks[PULSE_END])
    elif runs:
        pattern = Window(runs[0].start_ns, runs[-1].end_ns)
    else:
        raise NotCovered("the session has neither a load pulse nor a run")
    if not runs:
        return pattern, pattern
    ends = [one.window.end_ns for one in facts if one.window is not None]
    return pattern, Window(ends[-1] - LATE_NS, runs[-1].end_ns)


def _with_idle(facts: RunFacts) -> Window | None:
    """A run with the idle around it."""
    if facts.window is None:
        return None
    spans = (facts.window, *facts.idle)
    return Window(min(span.start_ns for span in spans), max(span.end_ns for span in spans))


def level_of(reader: SessionReader, windows: Sequence[Window]) -> Level:
    """What the board saw of its load around some windows: its first power rail, else its first compute unit.

    Raises NotCovered if it recorded neither.
    """
    streams = reader.streams()
    rail = next(
        (one for one in streams if one.name.startswith("power.") and one.kind not in (external.FILE, external.TYPED)),
        None,
    )
    unit = next((one for one in streams if one.name == "cu"), None)
    chosen = rail or unit
    if chosen is None:
        raise NotCovered("the session has neither a power rail of the board nor a compute unit to compare with")
    times, values = [], []
    read_to_ns = windows[0].start_ns - MARGIN_NS
    for window in windows:
        series = reader.series(chosen.name, max(read_to_ns, window.start_ns - MARGIN_NS), window.end_ns + MARGIN_NS)
        read_to_ns = max(read_to_ns, window.end_ns + MARGIN_NS + 1)
        times.append(series.t_ns - (averaging_ns(chosen) or 0))
        values.append(_load(series, is_rail=rail is not None))
    t_ns, levels = np.concatenate(times), np.concatenate(values)
    if t_ns.size < 2:
        raise NotCovered(f"{chosen.name} has no samples around the load pattern")
    return Level(chosen.name, t_ns, levels)


def _load(series: Series, is_rail: bool) -> Float64Array:
    if is_rail:
        return np.asarray(series.values[WATTS], np.float64)
    unit = series.stream.columns[0].name.partition(".")[2]
    return np.asarray(np.nan_to_num(held_states(series, unit)), np.float64)
