"""How often the accuracy interval of energy per execution covers the truth, over sessions in virtual time.

    python -m tools.bench.coverage --sessions 2000

Exit code 1 if an interval covers too rarely, too often, or is too wide.

Each session has five runs (run SD 0.1 %), a drift of SD 0.3 % and a sensor gain of SD 0.15 %, both drawn once per
session, behind a sensor that averages over 8.8 ms and shows steps of 10 mW. "Drift" can be read in three ways, and each
is run:

- level: the board's own power differs from session to session; the truth is that of the session.
- trend: the power changes linearly over the session; the truth is its mean over the session.
- reference: as `level`, but the truth is the mean over all sessions, and the budget carries a component for it.

The ideal is an interval whose maker knows every standard deviation: z times the true standard error.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace

import numpy as np

from kv260_runtime.profile.result import Summary
from telemetry.stats import t_quantile
from telemetry.uncertainty import Budget, Component

from .virtual_session import ENERGY, SENSOR, Load, measured_model, measured_run

RUNS = 5
RUN_SD = 0.001
DRIFT_SD = 0.003
SECONDS = 10.0
READINGS = ("level", "trend", "reference")
LOWEST, HIGHEST = 0.935, 0.965
"""Bounds on the coverage of intervals of 95 %, for 2,000 sessions."""
WIDEST = 1.15
"""Of the median half-width, relative to the ideal."""


@dataclass(frozen=True)
class Coverage:
    """What a number of sessions came to."""

    reading: str
    sessions: int
    accuracy: float
    """Share of accuracy intervals that hold the truth."""
    repeatability: float
    """The same of repeatability intervals, for comparison."""
    width: float
    """Median half-width of the accuracy interval over the ideal one's."""

    @property
    def good(self) -> bool:
        """Whether it is within the bounds, with allowance for chance where there are fewer than 2,000 sessions."""
        chance = math.sqrt(0.95 * 0.05) * (1 / math.sqrt(self.sessions) - 1 / math.sqrt(2000))
        allowed = max(2.6 * chance, 0.0)
        return LOWEST - allowed <= self.accuracy <= HIGHEST + allowed and self.width <= WIDEST


def session(reading: str, draw: np.random.Generator) -> tuple[Summary, float]:
    """Energy per execution of one session with its intervals, and the truth."""
    load = Load()
    gain = 1 + SENSOR.gain_u * draw.standard_normal()
    drift = DRIFT_SD * draw.standard_normal()
    levels = drift * np.linspace(-0.5, 0.5, RUNS) if reading == "trend" else np.full(RUNS, drift)
    factors = 1 + levels + RUN_SD * draw.standard_normal(RUNS)
    found = measured_model("m", [measured_run(load, factor, gain, SECONDS, draw) for factor in factors])
    truth = load.joules * (1.0 if reading == "reference" else 1 + float(levels.mean()))
    return found.summaries[ENERGY], truth


def budget_of(one: Summary, reading: str) -> Budget:
    """The session's own budget, with what earlier sessions say of their spread where the truth is their mean."""
    if one.accuracy is None:
        raise ValueError(one.accuracy_unknown)
    if reading != "reference":
        return one.accuracy
    sessions = Component("sessions", "B", DRIFT_SD * one.mean, math.inf, "spread of earlier sessions")
    return replace(one.accuracy, components=(*one.accuracy.components, sessions))


def coverage(reading: str, sessions: int, seed: int) -> Coverage:
    """Run a number of sessions."""
    draw = np.random.default_rng(seed)
    held, repeated, widths = 0, 0, []
    for _ in range(sessions):
        one, truth = session(reading, draw)
        budget = budget_of(one, reading)
        held += budget.interval.low <= truth <= budget.interval.high
        repeated += one.repeatability is not None and one.repeatability.low <= truth <= one.repeatability.high
        widths.append(budget.expanded / truth)
    shared = SENSOR.gain_u**2 + (DRIFT_SD**2 if reading == "reference" else 0.0)
    ideal = t_quantile(0.975, math.inf) * math.sqrt(RUN_SD**2 / RUNS + shared)
    return Coverage(reading, sessions, held / sessions, repeated / sessions, float(np.median(widths)) / ideal)


def main() -> int:
    """Print one line per reading of drift."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drift", choices=READINGS, nargs="+", default=READINGS)
    arguments = parser.parse_args()
    print(f"{'drift':<10} {'accuracy':>9} {'repeatability':>14} {'width/ideal':>12}")
    results = []
    for reading in arguments.drift:
        found = coverage(reading, arguments.sessions, arguments.seed)
        results.append(found)
        print(f"{reading:<10} {found.accuracy:>9.2%} {found.repeatability:>14.2%} {found.width:>12.3f}")
    return 0 if all(found.good for found in results) else 1


if __name__ == "__main__":
    sys.exit(main())
