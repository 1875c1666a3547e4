"""Ratios of two sides figure by figure, and what the limits say of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kv260_runtime.compare import checks
from kv260_runtime.compare.metrics import resolve
from kv260_runtime.compare.sides import Side
from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.profile.intervals import paired_values
from kv260_runtime.profile.result import ModelResult, ProfileResult
from telemetry.comparison import Answer, Comparison, Limit, between_groups, judge, within_session
from telemetry.errors import NotCovered
from telemetry.stats import mean
from telemetry.uncertainty import OF_IDLE, PER_RAIL

SESSION_SPREAD = 0.003
"""Relative SD between sessions of one model on one board, where nothing shows it: what is measured again on another day
differs by temperature, supply and placement in memory. A session more on either side replaces it."""


@dataclass(frozen=True)
class Assumptions:
    """What is not in the sessions."""

    spread: float = SESSION_SPREAD
    same_board: bool = False
    """Both sides were measured on the same unit, hence with the same sensor."""


@dataclass(frozen=True)
class MetricResult:
    """One figure on both sides."""

    metric: str
    unit: str
    before: float
    """Mean over runs."""
    after: float
    comparison: Comparison | None
    unknown: str | None = None
    """Why there is no interval."""


@dataclass(frozen=True)
class Verdict:
    """What one limit says."""

    limit: Limit
    """With the full name of the figure."""
    answer: Answer
    reason: str | None = None
    """Why nothing can be said, where that is so."""


@dataclass(frozen=True)
class CompareResult:
    """A whole comparison."""

    before: Side
    after: Side
    paired: bool
    method: str
    metrics: Mapping[str, MetricResult]
    verdicts: Sequence[Verdict] = ()
    warnings: Sequence[str] = ()
    refused: Sequence[str] = field(default_factory=tuple)
    """Why it should not have been compared, where that was forced."""

    @property
    def exit_code(self) -> ExitCode:
        """The worst answer."""
        answers = {verdict.answer for verdict in self.verdicts}
        if Answer.REGRESSION in answers:
            return ExitCode.REGRESSION
        return ExitCode.INCONCLUSIVE if Answer.INCONCLUSIVE in answers else ExitCode.OK


def compare(
    before: Side, after: Side, limits: Sequence[Limit] = (), assumed: Assumptions = Assumptions(), force: bool = False
) -> CompareResult:
    """Every figure that both sides have, and the limits judged.

    Raises KvbenchError if the two must not be compared (unless `force`), a limit's metric is not measured, or the sides
    share some sessions but not all.
    """
    for side in (before, after):
        if side.kept == 0:
            raise KvbenchError(f"{side.label}: no run counts (kvbench report names the reasons)", ExitCode.NOT_MEASURED)
    refused = list(checks.refusals(before, after))
    if refused and not force:
        raise KvbenchError(f"not comparable: {refused[0]} (--force compares all the same)", ExitCode.USAGE)
    paired = _is_paired(before, after)
    names = _common(before, after)
    chosen = [Limit(resolve(limit.metric, names), limit.change) for limit in limits]
    metrics = {name: _metric(name, before, after, paired, assumed) for name in names}
    return CompareResult(
        before,
        after,
        paired,
        _method(before, after, paired, assumed),
        metrics,
        [_verdict(limit, metrics[limit.metric]) for limit in chosen],
        [*checks.warnings(before, after), *([] if paired else _sensor_warnings(chosen, before, after, assumed))],
        refused,
    )


def _is_paired(before: Side, after: Side) -> bool:
    """One session, or the same ones in the same order, hold both models."""
    first, second = ([session.session for session in side.sessions] for side in (before, after))
    if first == second:
        return True
    if set(first) & set(second):
        raise KvbenchError(
            "the sides share some sessions but not all: give the same ones in the same order on both, or none twice",
            ExitCode.USAGE,
        )
    return False


def _common(before: Side, after: Side) -> list[str]:
    """Figures that every session of both sides has, in the order of the first."""
    others = [model.summaries for model in (*before.models[1:], *after.models)]
    return [name for name in before.models[0].summaries if all(name in other for other in others)]


def _metric(name: str, before: Side, after: Side, paired: bool, assumed: Assumptions) -> MetricResult:
    first, second = before.values(name), after.values(name)
    one = MetricResult(
        metric=name,
        unit=before.models[0].summaries[name].unit,
        before=mean([value for session in first for value in session]),
        after=mean([value for session in second for value in session]),
        comparison=None,
    )
    try:
        found = _pairs(name, before, after) if paired else _groups(name, before, after, assumed)
    except (NotCovered, ValueError) as reason:
        return MetricResult(one.metric, one.unit, one.before, one.after, None, str(reason))
    return MetricResult(one.metric, one.unit, one.before, one.after, found)


def _pairs(name: str, before: Side, after: Side) -> Comparison:
    pairs = [paired_values(name, *models) for models in zip(before.models, after.models, strict=True)]
    first = [value for pair in pairs for value in pair[0]]
    second = [value for pair in pairs for value in pair[1]]
    if len(first) < 2:
        raise NotCovered(f"{len(first)} pairs of runs, 2 needed: measure more runs")
    return within_session(first, second)


def _groups(name: str, before: Side, after: Side, assumed: Assumptions) -> Comparison:
    first, second = before.values(name), after.values(name)
    for side in (first, second):
        if len(side) == 1 and len(side[0]) < 2:
            raise NotCovered("a session with a single run does not show how runs spread: measure more runs")
    if len(first) != len(second) and any(len(session) < 2 for session in (*first, *second)):
        raise NotCovered("a session with a single run does not show how sessions spread beyond their runs")
    sensor_u = 0.0 if same_sensor(before, after, assumed) else shared_uncertainty(name, before.models[0])
    return between_groups(first, second, sensor_u, assumed.spread)


def same_sensor(before: Side, after: Side, assumed: Assumptions) -> bool:
    """Whether one sensor measured both: it is said so, or all sessions come from one boot of one machine."""
    sessions = (*before.sessions, *after.sessions)
    boots = {_boot(session) for session in sessions}
    return assumed.same_board or (len(boots) == 1 and None not in boots)


def _boot(session: ProfileResult) -> str | None:
    found = session.identity.get("boot_id")
    return None if found is None else str(found)


def shared_uncertainty(name: str, model: ModelResult) -> float:
    """Relative standard uncertainty that all runs of a session share: the components of type B. 0 if none is known."""
    budget = model.summaries[name].accuracy
    if budget is None or not budget.value:
        return 0.0
    return math.sqrt(math.fsum(part.standard**2 for part in budget.components if part.kind == "B")) / abs(budget.value)


def _sensor_warnings(limits: Sequence[Limit], before: Side, after: Side, assumed: Assumptions) -> Iterator[str]:
    """Limits on figures whose sensor may differ between the sides by an amount that nobody states."""
    if same_sensor(before, after, assumed):
        return
    for metric in dict.fromkeys(limit.metric for limit in limits):
        reason = before.models[0].summaries[metric].accuracy_unknown
        if metric.partition(".")[0] in (*PER_RAIL, *OF_IDLE) and reason is not None:
            yield f"{metric}: a difference between two sensors would look like a change ({reason}); see --same-board"


def _method(before: Side, after: Side, paired: bool, assumed: Assumptions) -> str:
    if paired:
        return "runs of one session in pairs, Student's t on the logarithms of their ratios"
    counts = [len(side.sessions) for side in (before, after)]
    spread = (
        f"{100 * assumed.spread:g} % between sessions assumed"
        if max(counts) == 1
        else "spread between sessions as shown"
    )
    sensor = "one sensor" if same_sensor(before, after, assumed) else "two sensors, each with its own error"
    return f"{counts[0]} and {counts[1]} sessions, Welch on logarithms, {spread}, {sensor}"


def _verdict(limit: Limit, one: MetricResult) -> Verdict:
    if one.comparison is None:
        return Verdict(limit, Answer.INCONCLUSIVE, one.unknown)
    return Verdict(limit, judge(one.comparison.ratio, limit.change))
