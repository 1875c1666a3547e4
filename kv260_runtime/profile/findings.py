"""What is worth telling about a run and about a session: every check of telemetry.findings, asked where it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from kv260_runtime.profile.figures import Question
from kv260_runtime.profile.result import ModelResult, RunFigures
from telemetry.errors import NotCovered
from telemetry.figures import busy, cpu, external, memory, power, suspicion
from telemetry.figures.figure import Figure
from telemetry.findings import Finding, conditions, counting, runs, sampling
from telemetry.model import Series, Window

Check = Callable[[], "Finding | None"]

HEADLINES = ("throughput", "energy_per_execution.")
"""Figures whose values over runs are looked at for trends and outliers."""


def run_findings(question: Question, measured: RunFigures) -> tuple[Finding, ...]:
    """All findings of one run; a check whose samples are not there is silent, since a figure already says so."""
    if question.facts.window is None:
        return ()
    found = []
    for check in _checks(question, measured.figures):
        try:
            finding = check()
        except NotCovered:
            continue
        if finding is not None:
            found.append(finding)
    return tuple(found)


def _checks(question: Question, figures: Mapping[str, Figure]) -> Iterator[Check]:
    yield lambda: conditions.host_slower(question.facts.host_slower)
    yield from _counting(question, figures)
    yield from _sampling(question, figures)
    yield from _compute_units(question, figures)
    for rail in _sampled_rails(question):
        yield from _rail(question, rail, figures)
    if question.names("frequency"):
        yield lambda: _clocks(question, figures)


def _sampled_rails(question: Question) -> list[str]:
    """Power rails that were sampled, not read from a display now and then."""
    streams = question.source.streams()
    return [one.name for one in streams if one.name.startswith("power.") and one.kind != external.TYPED]


def _clocks(question: Question, figures: Mapping[str, Figure]) -> Finding | None:
    series = question.series("frequency")
    changed = suspicion.changed_clocks(series, question.steady())
    governor = series.stream.attributes.get("governor")
    celsius = {name.partition(".")[2]: one.value for name, one in figures.items() if name.startswith("temperature.")}
    return conditions.throttled(changed, governor, celsius) or conditions.clocks_changed(changed, governor)


def _counting(question: Question, figures: Mapping[str, Figure]) -> Iterator[Check]:
    facts, dpu_runs = question.facts, question.dpu_runs
    executions = facts.executions
    units = [one for name, one in figures.items() if name.startswith("cu_runs.")]
    if len(units) == 1 and dpu_runs and executions is not None:
        # Where single executions are timed, the window holds all of them and nothing else.
        in_flight = 0 if facts.timed else question.threads + 1
        yield lambda: counting.counts_disagree(executions, dpu_runs, units[0], in_flight)
    rate, seconds = facts.printed_per_second, facts.seconds
    if rate is not None and seconds is not None and executions is not None:
        yield lambda: counting.frames_disagree(executions, rate, seconds)
    moved = figures.get("bytes_per_execution.total")
    if moved is not None:
        yield lambda: counting.coarse_edges(moved.value, _edge_doubt_bytes(question, moved.value))
    if moved is not None and question.static_bytes:
        yield lambda: counting.traffic_below_static(
            moved.value, question.static_bytes or 0, 2 * _edge_doubt_bytes(question, moved.value)
        )


def _edge_doubt_bytes(question: Question, per_execution_bytes: float) -> float:
    series = question.series("apm")
    return memory.edge_doubt_bytes(series, question.span(series.stream.period_ns), per_execution_bytes)


def _sampling(question: Question, figures: Mapping[str, Figure]) -> Iterator[Check]:
    rails = _sampled_rails(question)
    periods = {stream.name: stream.period_ns for stream in question.source.streams()}
    for name, one in figures.items():
        stream = _stream_behind(name)
        if stream in periods:
            yield _late(stream, one, periods[stream])
        if name in rails:
            yield _few(name, one)
    observers = [one for name, one in figures.items() if name.startswith("observer_seconds.")]
    if observers:
        yield lambda: sampling.observer_costly(observers, question.cpu_window().seconds)
    if "system_share" in figures and "system_share_of_intervals" in figures:
        both = figures["system_share"].value, figures["system_share_of_intervals"].value
        yield lambda: sampling.estimates_apart("CPU share", both[0], both[1], "the mean of intervals (Eq. 21)")


def _stream_behind(figure_name: str) -> str:
    """The stream whose lateness a figure reports, for one figure of each stream; else the empty string."""
    if figure_name.startswith("busy_share."):
        return "cu"
    if figure_name == "bandwidth.total":
        return "apm"
    return figure_name if figure_name.startswith("power.") else ""


def _late(stream: str, one: Figure, period_ns: int) -> Check:
    return lambda: sampling.late_ticks(stream, one.quality, period_ns)


def _few(name: str, one: Figure) -> Check:
    return lambda: sampling.few_samples(name, one.quality)


def _compute_units(question: Question, figures: Mapping[str, Figure]) -> Iterator[Check]:
    units = [name.removeprefix("busy_share.") for name in figures if name.startswith("busy_share.")]
    if not units:
        return
    series = question.series("cu")
    for unit in units:
        yield from _unit(question, series, unit)


def _unit(question: Question, series: Series, unit: str) -> Iterator[Check]:
    yield lambda: sampling.lateness_leans(busy.lateness_by_state(series, unit, question.steady()))
    yield lambda: conditions.lost_interrupt(unit, suspicion.lost_interrupts(series, unit, question.steady()))
    for window in question.facts.idle:
        yield _idle(question, series, unit, window)


def _idle(question: Question, series: Series, unit: str, window: Window) -> Check:
    def check() -> Finding | None:
        cores = cpu.cores(question.series("cpu")) if question.names("cpu") else []
        return conditions.idle_not_idle(busy.busy_share(series, unit, window), _system(question, window), len(cores))

    return check


def _system(question: Question, window: Window) -> Figure | None:
    try:
        return cpu.system_share(question.series("cpu"), window)
    except NotCovered:
        return None


def _rail(question: Question, rail: str, figures: Mapping[str, Figure]) -> Iterator[Check]:
    series = question.series(rail)
    units = [name.removeprefix("busy_share.") for name in figures if name.startswith("busy_share.")]
    if units:
        yield lambda: conditions.stuck_sensor(
            rail, suspicion.stuck_power(series, question.series("cu"), units[0], question.steady())
        )
    if len(question.facts.idle) == 2:
        trim_ns = power.least_trim_ns(series.stream)
        before, after = (window.trimmed(trim_ns) for window in question.facts.idle)
        yield lambda: conditions.idle_drift(
            power.mean_watts(series, before).value, power.mean_watts(series, after).value
        )


def session_findings(models: Sequence[ModelResult]) -> tuple[Finding, ...]:
    """Trends and outliers over the kept runs of each model, and findings that runs have in common, told once."""
    found = [finding for model in models for finding in _over_runs(model)]
    # One model alone, since models that draw different power are warm and cool in turn; one finding, since they share
    # the board.
    warmed = [finding for model in models if (finding := conditions.warming(_temperatures(model))) is not None]
    return (*found, *warmed[:1], *_told_once(models))


def _temperatures(model: ModelResult) -> dict[str, Sequence[float]]:
    """Mean of each sensor in each kept run."""
    named = {name: one.values for name, one in model.summaries.items() if name.startswith("temperature.")}
    return {name.partition(".")[2]: values for name, values in named.items()}


def _over_runs(model: ModelResult) -> Iterator[Finding]:
    for name, summary in model.summaries.items():
        if not name.startswith(HEADLINES):
            continue
        label = f"{name} of {model.name}"
        for check in (runs.slow_first_run, runs.drift_over_runs, runs.outlier_run):
            finding = check(label, summary.values)
            if finding is not None:
                yield finding


def _told_once(models: Sequence[ModelResult]) -> Iterator[Finding]:
    """The first finding of each code among a model's kept runs, with the number of runs that have it."""
    for model in models:
        kept = [run for run in model.runs if run.kept and run.phase == "formal"]
        codes: dict[str, list[Finding]] = {}
        for run in kept:
            for code in dict.fromkeys(finding.code for finding in run.measured.findings):
                first = next(finding for finding in run.measured.findings if finding.code == code)
                codes.setdefault(code, []).append(first)
        for same in codes.values():
            first = same[0]
            where = f"{model.name}, {len(same)} of {len(kept)} runs"
            yield Finding(first.code, first.severity, f"{where}: {first.text}", first.advice)
