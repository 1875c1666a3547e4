"""What differs between two results, and by how much."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kv260_runtime.verify.comparing import compare

INTS = np.array([[1, -128, 127], [0, 5, 6]], np.int8)
FLOATS = np.array([0.0, 1.0, np.inf, np.nan], np.float32)


def test_equal_results_have_no_difference():
    compared = compare({"a": INTS, "b": FLOATS}, {"a": INTS.copy(), "b": FLOATS.copy()})

    assert [tensor.is_equal for tensor in compared] == [True, True]
    assert [tensor.elements for tensor in compared] == [6, 4]


def test_differing_integers_are_counted_measured_and_located():
    given = INTS.copy()
    given[0, 1], given[1, 2] = 127, 5

    (tensor,) = compare({"a": given}, {"a": INTS})

    assert (tensor.differing, tensor.largest, tensor.first) == (2, 255.0, (0, 1))


@pytest.mark.parametrize(("apart", "differing"), [(9e-7, 0), (2e-6, 1)])
def test_floats_have_the_tolerance_of_the_vendors_softmax(apart, differing):
    (tensor,) = compare({"b": FLOATS + np.float32([apart, 0, 0, 0])}, {"b": FLOATS})

    assert tensor.differing == differing


def test_a_value_that_is_not_finite_differs_from_one_that_is():
    (tensor,) = compare({"b": np.float32([np.nan, 1, 2, np.nan])}, {"b": FLOATS})

    assert (tensor.differing, tensor.largest, tensor.first) == (2, None, (0,))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "gives no such tensor"),
        ({"a": INTS[:1]}, r"gives int8 \[1, 3\], int8 \[2, 3\] expected"),
        ({"a": INTS.astype(np.float32)}, "gives float32"),
        ({"a": INTS, "z": INTS}, "not expected"),
    ],
)
def test_what_cannot_be_compared_is_not_equal(given, words):
    last = compare(given, {"a": INTS})[-1]

    assert not last.is_equal
    assert last.fault is not None
    assert re.search(words, last.fault)
