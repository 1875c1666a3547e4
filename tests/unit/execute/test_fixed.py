"""Rounding as the DPU does it, in integers and, where it is claimed to be exact, in float32."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.accelerators.tensors import quantise
from kv260_runtime.execute.fixed import FLOAT32_EXACT, Rounding, Slope, dequantise

LEAKY = Slope.of(26 / 256)
roundings = st.builds(
    Rounding,
    shift=st.integers(-4, 20),
    low=st.sampled_from([-128, 0]),
    slope=st.sampled_from([None, LEAKY, Slope(6554, 16)]),
)


def exactly(rounding: Rounding, total: int) -> int:
    """The definition, in rational numbers."""
    value = Fraction(total)
    if rounding.slope is not None and value < 0:
        value *= Fraction(rounding.slope.numerator, 2**rounding.slope.bits)
    value /= Fraction(2) ** rounding.shift
    return max(rounding.low, min(rounding.high, floor(value + Fraction(1, 2))))


def in_float32(rounding: Rounding, total: int) -> int:
    """What the ONNX operators compute, one rounding to float32 after each."""
    value = np.float32(total * 2.0**-rounding.shift)
    if rounding.slope is not None and value < 0:
        value = np.float32(value * np.float32(rounding.slope.value))
    value = np.float32(value + np.float32(0.5))
    return int(np.floor(np.clip(value, np.float32(rounding.low), np.float32(rounding.high + 0.5))))


@given(roundings, st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=20))
def test_rounding_equals_its_definition_in_rational_numbers(rounding: Rounding, totals: list[int]) -> None:
    got = rounding.apply(np.array(totals, np.int64))
    assert got.dtype == np.int8
    assert got.tolist() == [exactly(rounding, total) for total in totals]


@given(roundings, st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=5))
def test_float64_sums_round_like_int64_sums(rounding: Rounding, totals: list[int]) -> None:
    wide = np.array(totals, np.int64)
    assert np.array_equal(rounding.apply(wide), rounding.apply(wide.astype(np.float64)))


@given(roundings, st.integers(1, 2**25), st.floats(-1, 1))
def test_float32_is_exact_wherever_it_is_claimed_to_be(rounding: Rounding, bound: int, share: float) -> None:
    total = int(bound * share)
    if rounding.is_exact(bound):
        assert in_float32(rounding, total) == exactly(rounding, total)


@pytest.mark.parametrize("shift", range(3, 11))
def test_float32_is_exact_around_every_tie_of_a_leaky_relu(shift: int) -> None:
    """Around each half of the negative side, where a product rounded the wrong way would cross it."""
    rounding = Rounding(shift, slope=LEAKY)
    assert rounding.is_exact(1 << 22)
    for half in range(-259, 2, 2):
        near = floor(Fraction(half, 2) * 2**shift * Fraction(128, 13))
        for total in range(near - 2, near + 3):
            assert in_float32(rounding, total) == exactly(rounding, total)


def test_a_leaky_relu_with_more_fraction_bits_is_not_claimed_to_be_exact() -> None:
    assert not Rounding(11, slope=LEAKY).is_exact(1000)
    assert not Rounding(0, slope=Slope(6554, 18)).is_exact(1000)


@pytest.mark.parametrize("shift", [-2, 0, 1, 9])
def test_the_bound_of_exactness_is_where_float32_runs_out_of_integers(shift: int) -> None:
    rounding = Rounding(shift)
    unit = max(shift, 1)
    largest = (FLOAT32_EXACT - (1 << (unit - 1))) >> (unit - shift)
    assert rounding.is_exact(largest)
    assert not rounding.is_exact(largest + 1)


def test_ties_go_up() -> None:
    totals = np.array([5, -5, -7, 7, 3, -3])
    assert Rounding(1).apply(totals).tolist() == [3, -2, -3, 4, 2, -1]


def test_a_slope_is_the_exact_fraction_of_the_attribute() -> None:
    assert Slope(13, 7) == LEAKY
    assert Slope.of(0.1015625).value == 0.1015625


def test_quantising_rounds_half_up_and_saturates() -> None:
    real = np.array([0.5, -0.5, 0.49999997, 1.25, 300, -300], np.float32)
    assert quantise(real, 0).tolist() == [1, 0, 0, 1, 127, -128]
    assert quantise(real, 1).tolist() == [1, -1, 1, 3, 127, -128]
    assert quantise(np.array([40.0, -7.0]), -2).tolist() == [10, -2]
    assert quantise(np.array([np.nan, np.inf, -np.inf]), 3).tolist() == [0, 127, -128]


def test_dequantising_and_quantising_gives_the_same_integers_back() -> None:
    values = np.arange(-128, 128).astype(np.int8)
    for fix_point in (-2, 0, 6, 12):
        assert dequantise(values, fix_point).dtype == np.float32
        assert np.array_equal(quantise(dequantise(values, fix_point), fix_point), values)
