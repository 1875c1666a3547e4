"""Every figure by name: its unit, its formula, where the formula comes from and when it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class FigureKind:
    """One row of docs/figures.md."""

    unit: str
    """SI or UCUM: `1` for a count or a share."""
    formula: str
    source: str
    refused: str
    """When there is no such figure."""


_RULES = "measurement_rules.md"

FIGURES: Mapping[str, FigureKind] = MappingProxyType(
    {
        "busy_share": FigureKind(
            "1",
            "Σ sᵢ (tᵢ₊₁ − tᵢ₋₁)/2 / Σ (tᵢ₊₁ − tᵢ₋₁)/2, s = 1 while ap_idle is 0, edges interpolated",
            f"{_RULES}, Compute unit",
            "intervals up to 5 ms cover less than 98 % of the window; status 0xffffffff; state unknown at the start",
        ),
        "busy_share_left_hold": FigureKind(
            "1", "Σ sᵢ (tᵢ₊₁ − tᵢ) / Σ (tᵢ₊₁ − tᵢ)", "c2fdeploy.txt, Eq. 20", "as busy_share"
        ),
        "cu_runs": FigureKind(
            "1",
            "completed (else usage) at the last sample in the window − at the last sample before it",
            f"{_RULES}, Compute unit",
            "no sample before or in the window; the counter went back",
        ),
        "core_share": FigureKind(
            "1",
            "Δbusy / Δtotal of one core, counters interpolated at the edges",
            f"{_RULES}, Counters",
            "samples do not bracket the window; an edge lies in an interval above 3 periods; window under 2 periods",
        ),
        "system_share": FigureKind("1", "mean of core_share over the cores", "c2fdeploy.txt, Eq. 21", "as core_share"),
        "system_share_of_intervals": FigureKind(
            "1",
            "mean over the samples in the window of the mean over the cores of Δbusy / Δtotal since the sample before",
            "c2fdeploy.txt, Eq. 21",
            "no whole interval in the window",
        ),
        "system_share_net": FigureKind(
            "1",
            "system_share − CPU time of the observer's processes / (cores × window)",
            f"{_RULES}, Counters",
            "as system_share; the observer's cost does not bracket the window",
        ),
        "observer_seconds": FigureKind(
            "s",
            "CPU time of one observer process in the window, interpolated at the edges",
            f"{_RULES}, Counters",
            "its samples do not bracket the window",
        ),
        "bytes": FigureKind(
            "B",
            "unwrapped counter of one port and direction, interpolated at the edges",
            f"{_RULES}, Counters",
            "an interval long enough for an unseen turn of the counter; the monitor stopped or was reset",
        ),
        "bandwidth": FigureKind("B/s", "Σ bytes over ports / window", "c2fdeploy.txt, Eq. 22", "as bytes"),
        "bytes_per_execution": FigureKind(
            "B", "Σ bytes over ports in [t_a, t_b] / (b − a)", "c2fdeploy.txt, Eq. 23", "as bytes; as throughput"
        ),
        "idle_bandwidth": FigureKind(
            "B/s",
            "bandwidth over the idle before and after a run, averaged by length",
            f"{_RULES}, Energy and executions",
            "as bytes; no idle long enough",
        ),
        "bytes_above_idle_per_execution": FigureKind(
            "B",
            "bytes_per_execution − idle_bandwidth / throughput",
            "board.md, section 11.5",
            "as bytes_per_execution; as idle_bandwidth",
        ),
        "idle_power": FigureKind(
            "W",
            "power over the idle before and after a run, 2 W trimmed at each end, averaged by length",
            f"{_RULES}, Energy and executions",
            "as energy; no idle was kept",
        ),
        "power": FigureKind(
            "W",
            "energy / window",
            "c2fdeploy.txt, Eq. 28, weighted by time",
            "as energy",
        ),
        "power_ripple": FigureKind(
            "W",
            "sample SD of the readings in the window",
            f"{_RULES}, The power sensor",
            "fewer than two readings in the window",
        ),
        "energy": FigureKind(
            "J",
            "∫ P dt along the line through the readings, each moved W earlier; of a joule counter, its increase",
            f"{_RULES}, The power sensor",
            "intervals up to 10 periods (or averaging times) cover less than 99 % of the window",
        ),
        "energy_per_execution": FigureKind(
            "J", "∫ P dt over [t_a, t_b] / (b − a)", f"{_RULES}, Energy and executions", "as energy; as throughput"
        ),
        "energy_above_idle_per_execution": FigureKind(
            "J",
            "energy_per_execution − P_idle (t_b − t_a) / (b − a)",
            f"{_RULES}, Energy and executions",
            "as energy_per_execution; no idle power",
        ),
        "throughput": FigureKind(
            "1/s",
            "(b − a) / (t_b − t_a); of xdputil, Σ frames of its threads / time",
            f"{_RULES}, Energy and executions",
            "fewer than two completions in the window",
        ),
        "throughput_per_watt": FigureKind(
            "1/J", "throughput / power", "c2fdeploy.txt, Eq. 24", "as throughput; as power"
        ),
        "reciprocal_latency": FigureKind(
            "s",
            "1 / throughput: an equivalent, not a latency anybody measured",
            "c2fdeploy.txt, section 2.6",
            "as throughput",
        ),
        "latency_mean": FigureKind("s", "mean of end − start", "c2fdeploy.txt, Eq. 26", "executions were not timed"),
        "latency": FigureKind(
            "s",
            "quantile of end − start, linear between order statistics",
            f"{_RULES}, Energy and executions",
            "executions were not timed; fewer than 1 / (1 − q) of them",
        ),
        "latency_throughput": FigureKind("1/s", "1 / latency_mean", "c2fdeploy.txt, Eq. 27", "as latency_mean"),
        "temperature": FigureKind(
            "Cel",
            "mean of the readings in the window",
            f"{_RULES}, Energy and executions",
            "no reading in the window",
        ),
    }
)


def kind_of(name: str) -> FigureKind:
    """The row of a figure's name, `.PART` allowed; KeyError for a name that is not in the catalogue."""
    return FIGURES[name.partition(".")[0]]
