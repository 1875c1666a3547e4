"""A session as a picture needs it: every stream thinned out to equal bins, with the runs it was made in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kv260_runtime.profile.binning import counter_rates, extremes, interval_means, level_means
from kv260_runtime.profile.records import run_facts
from telemetry.figures import busy
from telemetry.figures.counters import column_of
from telemetry.figures.power import averaging_ns
from telemetry.model import Float64Array, Gap, Int64Array, Marker, Series, Stream, Window
from telemetry.session.reader import RunRecord, SessionReader

SAMPLES_AT_ONCE = 100_000
"""Streams are read in pieces of about this many samples, so that memory does not grow with the session."""
LONGEST_IN_PERIODS = 10
"""Samples of a level further apart are not joined by a line."""
LONGEST_COUNTER_IN_PERIODS = 3
MARGIN_IN_PERIODS = 12
WIDTHS_MS = (1, 2, 5)
"""Bins are this many milliseconds wide, times a power of ten."""


@dataclass(frozen=True)
class Track:
    """One quantity over the bins of a timeline."""

    name: str
    """`power.RAIL`, `busy.CU`, `core.CPU`, `memory.read`, `memory.write`, `executions`, `temperature.SENSOR`, ..."""
    unit: str
    mean: Float64Array
    """NaN where nothing was seen, shape (bins,)."""
    low: Float64Array | None = None
    """Least sample of each bin, for levels."""
    high: Float64Array | None = None


@dataclass(frozen=True)
class Band:
    """One run on the time axis."""

    run_id: int
    model: str
    phase: str
    index: int
    attempt: int
    kept: bool
    reason: str | None
    whole: Window
    """From its start, loading included, to its end."""
    window: Window | None
    """What was measured; None if the run never began or never ended."""
    idle: tuple[Window, ...]
    markers: tuple[Marker, ...]


@dataclass(frozen=True)
class Timeline:
    """All tracks over the same bins."""

    start_ns: int
    bin_ns: int
    bins: int
    tracks: tuple[Track, ...]
    bands: tuple[Band, ...]
    gaps: Mapping[str, tuple[Gap, ...]] = field(default_factory=dict)
    """Stream name to the spans it has no samples for."""
    executions: Mapping[int, tuple[Int64Array | None, Int64Array]] = field(default_factory=dict)
    """Run id to begins (None if unknown) and ends of its executions; only as many runs as were asked for."""

    @property
    def end_ns(self) -> int:
        """Where the last bin ends."""
        return self.start_ns + self.bins * self.bin_ns

    @property
    def edges_ns(self) -> Int64Array:
        """Edges of the bins, shape (bins + 1,)."""
        return self.start_ns + np.arange(self.bins + 1, dtype=np.int64) * self.bin_ns


def bin_width_ns(span: Window, most_bins: int, least_ns: int) -> int:
    """The narrowest round width that gives at most `most_bins` bins and is at least `least_ns`.

    >>> bin_width_ns(Window(0, 3_600_000_000_000), 1200, 100_000_000) // 1_000_000
    5000
    """
    needed = max((span.end_ns - span.start_ns) / most_bins, least_ns)
    scale = 1_000_000
    while True:
        for step in WIDTHS_MS:
            if step * scale >= needed:
                return step * scale
        scale *= 10


def read_timeline(source: SessionReader, most_bins: int, least_bin_ns: int, most_executions: int = 0) -> Timeline:
    """The whole session in at most `most_bins` bins; single executions of the first runs, as many as are asked for.

    Streams are read in pieces, so memory does not grow with the session's length.
    """
    bands = tuple(_band(source, record) for record in source.runs())
    span = _span(source, bands)
    bin_ns = bin_width_ns(span, most_bins, least_bin_ns)
    start_ns = span.start_ns // bin_ns * bin_ns
    bins = max(1, -(-(span.end_ns - start_ns) // bin_ns))
    edges = start_ns + np.arange(bins + 1, dtype=np.int64) * bin_ns
    tracks = [track for stream in source.streams() for track in _tracks(source, stream, edges)]
    rates = _execution_rates(source, bands, edges)
    return Timeline(
        start_ns=start_ns,
        bin_ns=bin_ns,
        bins=bins,
        tracks=(*tracks, *([rates] if rates is not None else [])),
        bands=bands,
        gaps={stream.name: tuple(source.gaps(stream.name)) for stream in source.streams()},
        executions=_first_executions(source, bands, most_executions),
    )


def _span(source: SessionReader, bands: tuple[Band, ...]) -> Window:
    spans = [band.whole for band in bands]
    sampled = source.span()
    if sampled is not None:
        spans.append(sampled)
    if not spans:
        return Window(0, 1)
    return Window(min(span.start_ns for span in spans), max(span.end_ns for span in spans))


def _band(source: SessionReader, record: RunRecord) -> Band:
    nothing = np.empty(0, np.int64)
    facts = run_facts(record.id, record.result, None, nothing)
    known_end_ns = max([window.end_ns for window in (facts.window, *facts.idle) if window], default=record.started_ns)
    return Band(
        run_id=record.id,
        model=record.info.model,
        phase=record.info.phase,
        index=record.info.index,
        attempt=record.info.attempt,
        kept=record.status == "kept",
        reason=record.reason,
        whole=Window(record.started_ns, max(record.ended_ns or 0, known_end_ns)),
        window=facts.window,
        idle=facts.idle,
        markers=tuple(source.markers(record.id)),
    )


Drawn = tuple[Float64Array, "Float64Array | None", "Float64Array | None"]
"""Mean, least and greatest of each bin."""


@dataclass(frozen=True)
class _Recipe:
    """How one track is made of one stream."""

    name: str
    unit: str
    draw: Callable[[Series, Int64Array], Drawn]


def _tracks(source: SessionReader, stream: Stream, edges: Int64Array) -> Iterator[Track]:
    recipes = list(_recipes(stream))
    if not recipes:
        return
    pieces: list[list[Drawn]] = [[] for _ in recipes]
    bins_at_once = max(1, SAMPLES_AT_ONCE * stream.period_ns // int(edges[1] - edges[0]))
    margin_ns = MARGIN_IN_PERIODS * stream.period_ns + (averaging_ns(stream) or 0)
    cuts = [*range(0, edges.size - 1, bins_at_once), edges.size - 1]
    for first, last in pairwise(cuts):
        part = edges[first : last + 1]
        series = source.series(stream.name, int(part[0]) - margin_ns, int(part[-1]) + margin_ns)
        for drawn, recipe in zip(pieces, recipes, strict=True):
            drawn.append(recipe.draw(series, part))
    for recipe, drawn in zip(recipes, pieces, strict=True):
        mean, low, high = (_joined([piece[place] for piece in drawn]) for place in range(3))
        if mean is not None:
            yield Track(recipe.name, recipe.unit, mean, low, high)


def _joined(parts: list[Float64Array | None]) -> Float64Array | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None


def _recipes(stream: Stream) -> Iterator[_Recipe]:
    """What is drawn of a stream, told by its columns (their names are those of telemetry.readers)."""
    for column in stream.columns:
        kind, _, part = column.name.partition(".")
        if column.name == "watts":
            yield _Recipe(stream.name, "W", _level("watts", averaging_ns(stream) or 0))
        elif column.name == "joules":
            yield _Recipe(f"power.{stream.name.partition('.')[2]}", "W", _rate(["joules"]))
        elif kind == "status":
            yield _Recipe(f"busy.{part}", "1", _busy(part))
        elif kind == "busy" and column.kind == "counter":
            yield _Recipe(f"core.{part}", "1", _share(part))
        elif column.kind == "gauge":
            yield _Recipe(f"{stream.name}.{part or kind}", column.unit, _level(column.name, 0))
    for way in ("read", "write"):
        ports = [column.name for column in stream.columns if column.name.startswith(f"{way}.") and column.unit == "B"]
        if ports:
            yield _Recipe(f"memory.{way}", "B/s", _rate(ports))


def _level(name: str, delay_ns: int) -> Callable[[Series, Int64Array], Drawn]:
    """A gauge, each reading moved `delay_ns` earlier (measurement_rules.md, The power sensor)."""

    def draw(series: Series, edges: Int64Array) -> Drawn:
        t_ns, values = series.t_ns - delay_ns, np.asarray(series.values[name], np.float64)
        longest_ns = LONGEST_IN_PERIODS * series.stream.period_ns
        return level_means(t_ns, values, longest_ns, edges), *extremes(t_ns, values, edges)

    return draw


def _busy(unit: str) -> Callable[[Series, Int64Array], Drawn]:
    def draw(series: Series, edges: Int64Array) -> Drawn:
        states = busy.held_states(series, unit)
        return level_means(series.t_ns, states, busy.MAX_INTERVAL_NS, edges), None, None

    return draw


def _rates(series: Series, name: str, edges: Int64Array) -> Float64Array:
    wrap = column_of(series, name).wrap
    longest_ns = LONGEST_COUNTER_IN_PERIODS * series.stream.period_ns
    return counter_rates(series.t_ns, series.values[name], wrap, longest_ns, edges)


def _rate(names: list[str]) -> Callable[[Series, Int64Array], Drawn]:
    """The sum of counters, per second."""

    def draw(series: Series, edges: Int64Array) -> Drawn:
        return np.sum([_rates(series, name, edges) for name in names], axis=0), None, None

    return draw


def _share(core: str) -> Callable[[Series, Int64Array], Drawn]:
    """Busy time of a core over its time."""

    def draw(series: Series, edges: Int64Array) -> Drawn:
        used, passed = (_rates(series, f"{name}.{core}", edges) for name in ("busy", "total"))
        return np.divide(used, passed, out=np.full_like(used, np.nan), where=passed > 0), None, None

    return draw


def _execution_rates(source: SessionReader, bands: tuple[Band, ...], edges: Int64Array) -> Track | None:
    """Executions per second from their completions; nothing between runs."""
    ends = [source.executions(band.run_id)[1] for band in bands]
    if not any(one.size > 1 for one in ends):
        return None
    t_ns = np.concatenate(ends)
    run = np.repeat(np.arange(len(ends)), [one.size for one in ends])
    same_run = np.diff(run) == 0
    return Track("executions", "1/s", interval_means(t_ns, np.ones(t_ns.size - 1), same_run, edges))


def _first_executions(
    source: SessionReader, bands: tuple[Band, ...], most: int
) -> dict[int, tuple[Int64Array | None, Int64Array]]:
    """Whole runs only, in order, while there is room."""
    found = {}
    for band in bands if most else ():
        started, ended = source.executions(band.run_id)
        if ended.size > most:
            break
        most -= ended.size
        if ended.size:
            found[band.run_id] = (started, ended)
    return found
