"""pytest-benchmark's JSON: its own comparison reads it, and the statistics are those of the runs."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.report import renderer
from kv260_runtime.report.pytest_benchmark import stats


def benchmarks(result):
    return json.loads(renderer("pytest-benchmark")(result))["benchmarks"]


def test_a_benchmark_is_a_model_and_a_round_is_a_run_that_counts(result):
    found = benchmarks(result)

    assert [one["name"] for one in found] == ["a", "b"]
    assert found[0]["stats"]["rounds"] == 2
    assert found[0]["stats"]["data"] == list(result.models[0].summaries["reciprocal_latency"].values)
    assert found[0]["stats"]["mean"] == pytest.approx(0.020, rel=1e-12)
    assert found[0]["extra_info"]["energy_per_execution.som [J]"] == pytest.approx(0.18, rel=1e-9)


def test_the_file_says_that_the_board_was_emulated(result):
    machine = json.loads(renderer("pytest-benchmark")(result))["machine_info"]

    assert machine["emulated"] is True
    assert machine["dpu"]["architecture"] == "DPUCZDX8G_ISA1_B4096"


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30))
def test_statistics_agree_with_the_values_they_are_of(seconds):
    found = stats(seconds, 7)

    assert found["min"] <= found["q1"] <= found["median"] <= found["q3"] <= found["max"]
    assert found["min"] <= found["ld15iqr"] <= found["hd15iqr"] <= found["max"]
    assert found["mean"] == pytest.approx(statistics.fmean(seconds), rel=1e-12)
    assert found["stddev"] == (statistics.stdev(seconds) if len(seconds) > 1 else 0.0)
    assert found["ops"] == pytest.approx(1 / found["mean"])
    assert found["outliers"] == f"{found['stddev_outliers']};{found['iqr_outliers']}"


def test_pytest_benchmark_compares_two_such_files(result, tmp_path):
    pytest.importorskip("pytest_benchmark")
    for name in ("before.json", "after.json"):
        (tmp_path / name).write_text(renderer("pytest-benchmark")(result))

    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", "before.json", "after.json", "--columns=mean,rounds"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    shown = [line.split() for line in done.stdout.splitlines() if line.startswith(("a (", "b ("))]
    assert len(shown) == 4, done.stdout
    assert {(line[2], line[-1]) for line in shown} == {("20.0000", "2")}
