"""Sums, means and quantiles that do not depend on who computes them."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.figures import repeatable

numbers = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=80)


@given(numbers, st.randoms(use_true_random=False))
def test_a_sum_does_not_depend_on_order(values, draw):
    shuffled = draw.sample(values, len(values))

    assert repeatable.total(np.array(values)) == repeatable.total(np.array(shuffled)) == math.fsum(values)


def test_a_sum_of_many_pieces_is_as_good_as_one():
    draw = random.Random(1)
    values = np.array([draw.gauss(0, 1) for _ in range(repeatable.AT_ONCE * 2 + 5)])

    assert repeatable.total(values) == pytest.approx(math.fsum(values.tolist()), rel=1e-12)


def test_nothing_sums_to_0():
    assert repeatable.total(np.array([])) == 0.0


@given(numbers)
def test_mean_and_spread_are_those_of_the_standard_library(values):
    assert repeatable.mean(np.array(values)) == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-6)
    assert repeatable.sample_sd(np.array(values)) == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-6)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=80), st.floats(0, 1))
def test_a_quantile_is_linear_between_order_statistics(values, share):
    found = repeatable.quantile(np.array(values), share)

    assert found == pytest.approx(float(np.quantile(values, share)), rel=1e-9, abs=1e-6)
    assert min(values) <= found <= max(values)


def test_a_weighted_mean_leans_to_the_heavier_value():
    assert repeatable.weighted_mean([1.0, 4.0], [2.0, 1.0]) == 2.0
