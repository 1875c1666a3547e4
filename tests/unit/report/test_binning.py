"""Samples thinned out to bins keep what they amount to, and show nothing where nothing was seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.profile.binning import counter_rates, extremes, interval_means, level_means

MS = 1_000_000
steps = st.lists(st.integers(1, 40 * MS), min_size=2, max_size=60)
edges_within = st.lists(st.integers(1, 50 * MS), min_size=1, max_size=20)


def cumulated(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@given(steps, edges_within, st.integers(0, 2**62))
def test_bins_that_cover_all_samples_hold_all_that_accrued(lengths, widths, origin):
    t_ns = cumulated(lengths) + origin
    edges = cumulated(widths)
    edges = np.unique(origin + edges * int(t_ns[-1] - origin) // int(edges[-1]))
    amounts = np.arange(len(lengths), dtype=float) + 1

    means = interval_means(t_ns, amounts, np.ones(len(lengths), bool), edges)

    assert np.sum(means * np.diff(edges) / 1e9) == pytest.approx(amounts.sum(), rel=1e-6)


@given(steps, st.floats(-50, 50))
def test_a_constant_level_is_that_level_in_every_bin(lengths, level):
    t_ns = cumulated(lengths)
    edges = np.linspace(0, t_ns[-1], 7).astype(np.int64)
    edges = np.unique(edges)

    means = level_means(t_ns, np.full(t_ns.size, level), np.inf, edges)

    assert means == pytest.approx(np.full(edges.size - 1, level), rel=1e-6, abs=1e-6)


def test_a_bin_with_too_little_in_it_shows_nothing():
    t_ns = np.array([0, 10, 100, 110]) * MS
    edges = np.array([0, 10, 50, 90, 110]) * MS

    means = level_means(t_ns, np.array([1.0, 1.0, 3.0, 3.0]), 20 * MS, edges)

    assert means[0] == 1.0
    assert np.isnan(means[1]) and np.isnan(means[2])
    assert means[3] == 3.0


def test_before_and_after_all_samples_there_is_nothing():
    means = level_means(np.array([50, 60]) * MS, np.array([2.0, 2.0]), np.inf, np.array([0, 40, 50, 60, 99]) * MS)

    assert np.isnan(means[[0, 1, 3]]).all()
    assert means[2] == 2.0


def test_a_sample_that_is_unknown_ends_the_line_on_both_sides():
    t_ns = np.arange(5) * MS

    means = level_means(t_ns, np.array([1.0, 1.0, np.nan, 1.0, 1.0]), np.inf, t_ns)

    assert np.isnan(means).tolist() == [False, True, True, False]


def test_a_stream_of_one_sample_has_no_bins():
    assert np.isnan(level_means(np.array([5]), np.array([1.0]), np.inf, np.array([0, 5, 10]))).all()


def test_a_counter_that_wraps_goes_on_at_its_rate():
    t_ns = np.arange(9) * 100 * MS
    counts = (np.arange(9) * 100 + 2**32 - 250) % 2**32

    rates = counter_rates(t_ns, counts, 2**32, 300 * MS, t_ns[::2])

    assert rates == pytest.approx([1000.0] * 4)


def test_a_counter_that_fell_is_not_seen_there():
    rates = counter_rates(np.arange(4) * MS, np.array([5, 7, 0, 2]), None, 2 * MS, np.arange(4) * MS)

    assert rates[[0, 2]] == pytest.approx([2000.0, 2000.0])
    assert np.isnan(rates[1])


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(-9, 9)), min_size=1, max_size=40))
def test_extremes_are_those_of_the_samples_in_each_bin(samples):
    samples = sorted(samples)
    t_ns, values = np.array([t for t, _ in samples]), np.array([value for _, value in samples])
    edges = np.arange(0, 101, 10)

    low, high = extremes(t_ns, values, edges)

    for place in range(10):
        inside = values[(t_ns >= edges[place]) & (t_ns < edges[place + 1])]
        assert np.isnan(low[place]) if inside.size == 0 else (low[place], high[place]) == (inside.min(), inside.max())
