"""How many runs of which length would find a change, judged by sessions that exist."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from kv260_runtime.compare.comparing import Assumptions, shared_uncertainty
from kv260_runtime.compare.metrics import resolve, worse
from kv260_runtime.compare.sides import Side
from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.profile.intervals import paired_values
from kv260_runtime.report.words import formal
from telemetry.comparison import Limit
from telemetry.errors import NotCovered
from telemetry.planning import Spread, found_probability_between, plan
from telemetry.stats import mean, sample_sd

LENGTHS_SECONDS = (10.0, 20.0, 30.0, 60.0, 120.0, 300.0)
"""Run lengths that are tried, beside that of the session."""


@dataclass(frozen=True)
class PlannedLength:
    """One way to find the change."""

    duration_seconds: float
    """As `kvbench profile --duration` takes it, trims included."""
    runs: int
    """Of each model."""
    probability: float
    """How often they find the change in one session with both models in turn."""
    probability_between: float
    """The same with each model in a session of its own."""
    total_seconds: float
    """Both models, idle before and after each run included."""


@dataclass(frozen=True)
class PlanResult:
    """How to find a change of one figure."""

    metric: str
    change: float
    limit: float
    spread: Spread
    rows: Sequence[PlannedLength]
    note: str | None = None


@dataclass(frozen=True)
class Wanted:
    """`METRIC:X%` taken apart; without a sign X is a change for the worse."""

    metric: str
    change: float
    signed: bool


def parse_wanted(text: str) -> Wanted:
    """`energy:2%` as a Wanted. Raises KvbenchError for anything else."""
    match = re.fullmatch(r"([\w.-]+):([+-]?)(\d+(?:\.\d+)?)%", text)
    if match is None or float(match[3]) == 0 or (match[2] == "-" and float(match[3]) >= 100):
        raise KvbenchError(f"--plan {text!r}: write METRIC:X%, e.g. energy:2%", ExitCode.USAGE)
    return Wanted(match[1], float(match[3]) / 100 * (-1 if match[2] == "-" else 1), bool(match[2]))


def make_plan(
    wanted: Wanted, before: Side, after: Side | None, limits: Sequence[Limit], assumed: Assumptions
) -> PlanResult:
    """Fewest runs of each length that put the whole interval beyond the limit of that figure (0 without one).

    Raises KvbenchError if the sessions do not show how runs spread, or the change does not exceed the limit.
    """
    names = set(before.models[0].summaries)
    if after is not None:
        names &= set(after.models[0].summaries)
    metric = resolve(wanted.metric, names)
    change = wanted.change if wanted.signed else worse(metric) * wanted.change
    limit = next((one.change for one in limits if resolve(one.metric, names) == metric), math.copysign(0.0, change))
    planned = before.sessions[0].plan
    trims, idle = 2 * float(planned.get("trim_seconds", 0)), 2 * float(planned.get("idle_seconds", 0))
    own = float(planned.get("duration_seconds", 0))
    lengths = sorted({*LENGTHS_SECONDS, own} - {0.0})
    try:
        spread = spread_of(metric, before, after)
        rows = plan(change, limit, spread, [seconds - trims for seconds in lengths if seconds > trims])
    except (NotCovered, ValueError) as reason:
        raise KvbenchError(f"--plan {metric}: {reason}", ExitCode.USAGE) from reason
    sensor_u = 0.0 if assumed.same_board else shared_uncertainty(metric, before.models[0])
    session_u = math.hypot(sensor_u, assumed.spread)
    found = []
    for one in rows:
        between = found_probability_between(change, limit, spread.of_runs_of(one.seconds), one.runs, session_u)
        duration = one.seconds + trims
        found.append(PlannedLength(duration, one.runs, one.probability, between, 2 * one.runs * (duration + idle)))
    note = None if spread.within > 0 else "longer runs are not assumed to spread less: nothing shows that they do"
    return PlanResult(metric, change, limit, spread, found, note)


def spread_of(metric: str, before: Side, after: Side | None) -> Spread:
    """How runs of the sessions at hand spread. Pairs of one session show it without what drifts for both.

    Raises NotCovered for fewer than two runs or pairs.
    """
    sides = [before] if after is None else [before, after]
    if after is not None and before.sessions[0].session == after.sessions[0].session:
        first, second = paired_values(metric, before.models[0], after.models[0])
        runs = _spread_of_ratios(first, second) / math.sqrt(2)
    else:
        sessions = [values for side in sides for values in side.values(metric)]
        runs = math.sqrt(mean([_spread_of_ratios([1.0] * len(values), values) ** 2 for values in sessions]))
    counted = [run.measured for side in sides for model in side.models for run in formal(model) if run.kept]
    inside = [one.within[metric] for one in counted if metric in one.within]
    relative = [(batches.standard_error / batches.mean) ** 2 for batches in inside if batches.mean]
    lengths = [one.seconds for one in counted if one.seconds]
    if not lengths:
        raise NotCovered("no run has a known length")
    return Spread(runs, math.sqrt(mean(relative)) if relative else 0.0, mean(lengths))


def _spread_of_ratios(before: Sequence[float], after: Sequence[float]) -> float:
    if len(before) < 2 or min(*before, *after) <= 0:
        raise NotCovered("two runs with positive values are needed to see how runs spread")
    return sample_sd([math.log(b / a) for a, b in zip(before, after, strict=True)])
