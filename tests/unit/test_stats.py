"""Small statistics against scipy and against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from telemetry import stats

VALUES = st.lists(st.floats(0.01, 1e6), min_size=2, max_size=20)


@given(VALUES)
def test_mean_and_spread_agree_with_numpy(values: list[float]) -> None:
    assert stats.mean(values) == pytest.approx(float(np.mean(values)))
    assert stats.sample_sd(values) == pytest.approx(float(np.std(values, ddof=1)), abs=1e-9 * max(values))


@given(st.floats(0.001, 0.999), st.floats(0.5, 100_000))
def test_student_t_agrees_with_scipy(probability: float, degrees: float) -> None:
    expected = float(reference.t.ppf(probability, degrees))
    assert stats.t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-7, abs=1e-8)
    assert stats.t_cdf(expected, degrees) == pytest.approx(probability, abs=1e-8)


def test_student_t_of_infinite_degrees_is_the_normal() -> None:
    assert stats.t_quantile(0.975, math.inf) == pytest.approx(1.959963984540054, rel=1e-12)


@pytest.mark.parametrize(("probability", "degrees"), [(0.0, 4), (1.0, 4), (0.5, 0), (0.5, math.nan)])
def test_student_t_refuses_what_has_no_quantile(probability: float, degrees: float) -> None:
    with pytest.raises(ValueError, match="no Student t quantile"):
        stats.t_quantile(probability, degrees)


def test_repeatability_of_five_runs_is_the_textbook_interval() -> None:
    found = stats.repeatability([9.86, 9.87, 9.86, 9.85, 9.87])
    assert found.value == pytest.approx(9.862)
    assert found.half_width == pytest.approx(2.776445 * 0.0083666 / math.sqrt(5), rel=1e-5)


@given(st.floats(0.9, 1.1), st.floats(1.01, 1.03))
def test_a_gain_error_common_to_both_models_cancels_in_a_paired_ratio(gain: float, change: float) -> None:
    before = [1.0, 1.01, 0.99, 1.02]
    after = [value * change * noise for value, noise in zip(before, (1.001, 0.999, 1.0, 1.0), strict=True)]
    plain = stats.paired_ratio(before, after)
    scaled = stats.paired_ratio([gain * value for value in before], [gain * value for value in after])
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert plain.low < change < plain.high


def test_statistics_of_too_few_or_unfit_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        stats.mean([])
    with pytest.raises(ValueError, match="fewer than two"):
        stats.sample_sd([1.0])
    with pytest.raises(ValueError, match="relative to 0"):
        stats.relative_change(0.0, 1.0)
    with pytest.raises(ValueError, match="cannot be paired"):
        stats.paired_ratio([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="not positive"):
        stats.paired_ratio([1.0, 0.0], [1.0, 1.0])


def test_relative_change_is_the_papers_table_6() -> None:
    assert stats.relative_change(5.087, 8.735) == pytest.approx(0.717, abs=5e-4)
    assert stats.relative_change(9.862, 0.1778) == pytest.approx(-0.982, abs=5e-4)
