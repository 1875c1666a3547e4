"""How often a gate with a limit of 1 % finds an injected change, and how often it cries wolf, in virtual time.

    python -m tools.bench.comparisons --comparisons 500

Exit code 1 if an answer comes too rarely or too often, or the plan was wrong by more than 5 points.

Two models run alternately in one session of five runs each, or each in a session of its own; sensor and spread are
those of tools.bench.coverage. Every row stands beside what telemetry.planning predicts for it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kv260_runtime.compare.comparing import Assumptions, compare
from kv260_runtime.compare.sides import Side
from kv260_runtime.profile.result import ModelResult, ProfileResult, RunFigures
from telemetry.comparison import Answer, Limit
from telemetry.planning import found_probability, found_probability_between

from .virtual_session import SENSOR, Load, measured_model, measured_run

LIMIT = 0.01
DRIFT_SD = 0.003
SECONDS = 6.0
MOST_FALSE_ALARMS = 0.05
PLAN_POINTS = 0.05
"""How far the plan's prediction may be off, for 500 comparisons."""


@dataclass(frozen=True)
class Case:
    """What is compared."""

    name: str
    change: float
    """Of the second model's energy, relative."""
    run_sd: float = 0.001
    runs: int = 5
    together: bool = True
    """Both models in one session, or each in its own."""
    least_found: float = 0.0


@dataclass(frozen=True)
class Rates:
    """How often a gate gave each answer."""

    found: float
    passed: float
    predicted: float | None
    """How often the plan says the change is found; None where there is nothing to find."""


CASES = (
    Case("2 %, one session", 0.02, least_found=0.9),
    Case("1 % (at the limit), one session", 0.01),
    Case("no change, one session", 0.0),
    Case("2 %, runs spread by 0.5 %", 0.02, run_sd=0.005),
    Case("2 %, runs spread by 0.5 %, 8 runs", 0.02, run_sd=0.005, runs=8),
    Case("2 %, two sessions", 0.02, together=False),
    Case("no change, two sessions", 0.0, together=False),
)


def answer(case: Case, draw: np.random.Generator) -> Answer:
    """One comparison, from readings to verdict, as `kvbench compare --fail-on energy:+1%` comes to it."""
    load = Load()
    idle_watts, busy_watts = (watts * (1 + case.change) for watts in (load.idle_watts, load.busy_watts))
    loads = (load, replace(load, idle_watts=idle_watts, busy_watts=busy_watts))
    gains = 1 + SENSOR.gain_u * draw.standard_normal(2)
    slots = 2 * case.runs
    if case.together:
        trend = DRIFT_SD * draw.standard_normal() * np.linspace(-0.5, 0.5, slots)
        before, after = (
            measured_model(
                "AB"[model],
                [_run(loads[model], gains[0], trend[slot], case.run_sd, draw) for slot in range(model, slots, 2)],
            )
            for model in (0, 1)
        )
        both = _session("one", before, after)
        sides = Side((both,), (before,)), Side((both,), (after,))
    else:
        levels = DRIFT_SD * draw.standard_normal(2)
        before, after = (
            measured_model("m", [_run(loads[i], gains[i], levels[i], case.run_sd, draw) for _ in range(case.runs)])
            for i in (0, 1)
        )
        sides = Side((_session("A", before),), (before,)), Side((_session("B", after),), (after,))
    [verdict] = compare(*sides, [Limit("energy", LIMIT)], Assumptions(spread=DRIFT_SD)).verdicts
    return verdict.answer


def _session(name: str, *models: ModelResult) -> ProfileResult:
    return ProfileResult(name, {}, {}, models, [])


def _run(load: Load, gain: float, drift: float, run_sd: float, draw: np.random.Generator) -> RunFigures:
    return measured_run(load, 1 + drift + run_sd * draw.standard_normal(), gain, SECONDS, draw)


SESSION_U = math.hypot(SENSOR.gain_u, DRIFT_SD)
"""What all runs of a session share: the sensor's gain and the session's level."""


def rates(case: Case, comparisons: int, seed: int) -> Rates:
    """Answers of many comparisons."""
    draw = np.random.default_rng(seed)
    answers: Sequence[Answer] = [answer(case, draw) for _ in range(comparisons)]
    found, passed = (answers.count(one) / comparisons for one in (Answer.REGRESSION, Answer.PASS))
    return Rates(found, passed, predicted(case))


def predicted(case: Case) -> float | None:
    """What the plan says beforehand."""
    if case.change <= LIMIT:
        return None
    if case.together:
        return found_probability(case.change, LIMIT, math.sqrt(2) * case.run_sd, case.runs)
    return found_probability_between(case.change, LIMIT, case.run_sd, case.runs, SESSION_U)


def good(case: Case, got: Rates, comparisons: int) -> bool:
    """Whether a case came out as it should, with allowance for chance where there are fewer than 500 comparisons."""
    if got.predicted is None:
        return got.found <= MOST_FALSE_ALARMS
    chance = math.sqrt(got.predicted * (1 - got.predicted)) * (1 / math.sqrt(comparisons) - 1 / math.sqrt(500))
    off = abs(got.found - got.predicted)
    return got.found >= case.least_found and off <= PLAN_POINTS + max(2.6 * chance, 0.0)


def main() -> int:
    """Print one line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{'limit 1 %':<38} {'found':>7} {'passed':>7} {'planned':>8}")
    as_it_should = True
    for case in CASES:
        got = rates(case, arguments.comparisons, arguments.seed)
        planned = "-" if got.predicted is None else f"{got.predicted:.1%}"
        print(f"{case.name:<38} {got.found:>7.1%} {got.passed:>7.1%} {planned:>8}")
        as_it_should &= good(case, got, arguments.comparisons)
    return 0 if as_it_should else 1


if __name__ == "__main__":
    sys.exit(main())
