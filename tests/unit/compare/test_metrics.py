"""Words for figures."""

from __future__ import annotations

import pytest

from kv260_runtime.compare.metrics import resolve, worse
from kv260_runtime.errors import ExitCode, KvbenchError

NAMES = (
    "throughput",
    "reciprocal_latency",
    "latency.p50",
    "latency.p95",
    "energy_per_execution.som",
    "power.som",
    "bytes_per_execution.read",
    "bytes_per_execution.total",
    "busy_share.DPU_1",
)


@pytest.mark.parametrize(
    ("word", "figure"),
    [
        ("energy", "energy_per_execution.som"),
        ("energy.som", "energy_per_execution.som"),
        ("energy_per_execution.som", "energy_per_execution.som"),
        ("throughput", "throughput"),
        ("latency", "reciprocal_latency"),
        ("latency.p95", "latency.p95"),
        ("memory", "bytes_per_execution.total"),
        ("busy", "busy_share.DPU_1"),
    ],
)
def test_short_words_and_full_names_mean_one_figure(word, figure):
    assert resolve(word, NAMES) == figure


def test_latency_is_the_measured_one_where_there_is_one():
    assert resolve("latency", (*NAMES, "latency_mean")) == "latency_mean"


def test_two_rails_are_never_mixed():
    with pytest.raises(KvbenchError, match=r"may mean energy_per_execution\.12-v-input, energy_per_execution\.som"):
        resolve("energy", (*NAMES, "energy_per_execution.12-v-input"))


@pytest.mark.parametrize(
    ("word", "complaint", "code"),
    [
        ("enrgy", "did you mean 'energy'", ExitCode.USAGE),
        ("zzz", "known: throughput, latency", ExitCode.USAGE),
        ("cpu", "not measured on both sides", ExitCode.NOT_MEASURED),
        ("energy.ddr", "not measured on both sides", ExitCode.NOT_MEASURED),
        ("bytes_per_execution", "may mean", ExitCode.USAGE),
    ],
)
def test_other_words_are_refused_in_one_line(word, complaint, code):
    with pytest.raises(KvbenchError, match=complaint) as caught:
        resolve(word, NAMES)
    assert caught.value.exit_code == code


def test_less_throughput_and_more_energy_are_worse():
    assert (worse("throughput"), worse("throughput_per_watt.som"), worse("energy_per_execution.som")) == (-1, -1, 1)
