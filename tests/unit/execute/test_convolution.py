"""Convolutions against their definition, element by element in rational numbers."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import open_executor
from tests.unit.execute.graphs import WINDOW, Array, Builder, int8
from tests.unit.execute.running import needs_onnxruntime, run_everywhere, units

SLOPES = {"NONE": Fraction(1), "RELU": Fraction(0), "LEAKYRELU": Fraction(26, 256)}


def finished(total: Fraction, nonlinear: str) -> int:
    """Activation, then floor(x + 1/2), saturated."""
    value = total * SLOPES[nonlinear] if total < 0 else total
    return max(-128, min(127, floor(value + Fraction(1, 2))))


def defined(
    image: Array, weights: Array, bias: Array, points: tuple[int, int, int, int], nonlinear: str, window: dict[str, Any]
) -> Array:
    """conv2d-fix as xmodel_execution.md writes it; fix points of input, weights, bias, output."""
    fi, fw, fb, fo = points
    (kernel_w, kernel_h), (stride_w, stride_h) = window["kernel"], window["stride"]
    (dilation_w, dilation_h), (left, right, top, bottom) = window["dilation"], window["pad"]
    padded = np.pad(image[0].astype(int), ((top, bottom), (left, right), (0, 0)))
    rows = (padded.shape[0] - (kernel_h - 1) * dilation_h - 1) // stride_h + 1
    columns = (padded.shape[1] - (kernel_w - 1) * dilation_w - 1) // stride_w + 1
    result = np.empty((1, rows, columns, len(weights)), np.int8)
    for row, column, channel in np.ndindex(result.shape[1:]):
        total = 0
        for y, x in np.ndindex(kernel_h, kernel_w):
            pixel = padded[row * stride_h + y * dilation_h, column * stride_w + x * dilation_w]
            total += int(pixel @ weights[channel, y, x].astype(int))
        exact = total + int(bias[channel]) * Fraction(2) ** max(fi + fw - fb, -1)
        result[0, row, column, channel] = finished(exact / Fraction(2) ** (fi + fw - fo), nonlinear)
    return result


WINDOWS = [
    {"kernel": [1, 1], "stride": [1, 1], "dilation": [1, 1], "pad": [0, 0, 0, 0]},
    {"kernel": [3, 3], "stride": [1, 1], "dilation": [1, 1], "pad": [1, 1, 1, 1]},
    {"kernel": [3, 3], "stride": [2, 2], "dilation": [1, 1], "pad": [1, 0, 1, 0]},
    {"kernel": [5, 2], "stride": [2, 1], "dilation": [1, 2], "pad": [2, 1, 0, 1]},
]
POINTS = [(6, 8, 7, 4), (4, 9, 14, 5), (3, 2, 9, 5), (2, 3, 2, 6), (-1, 5, 3, 1), (6, 7, 13, 2)]
"""Among them a bias whose shift is held at -1, and an output finer than the sum."""


@pytest.mark.parametrize("nonlinear", sorted(SLOPES))
@pytest.mark.parametrize("points", POINTS)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_convolution_equals_its_definition(window: dict[str, Any], points: tuple[int, ...], nonlinear: str) -> None:
    random = np.random.default_rng(list(b"conv") + list(np.abs(points)))
    image, weights, bias = int8(random, (1, 6, 7, 5)), int8(random, (4, *window["kernel"][::-1], 5)), int8(random, (4,))
    expected = defined(image, weights, bias, points, nonlinear, window)  # type: ignore[arg-type]
    graph = Builder()
    graph.input(image.shape, points[0])
    graph.constant(weights, points[1])
    graph.constant(bias, points[2], "b")
    args = {"input": ["x"], "weights": ["w"], "bias": ["b"]}
    graph.add("y", "conv2d-fix", expected.shape, args, points[3], nonlinear=nonlinear, **window)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], expected)


@pytest.mark.parametrize("nonlinear", sorted(SLOPES))
@pytest.mark.parametrize("window", WINDOWS)
def test_a_depthwise_convolution_is_a_convolution_of_each_channel(window: dict[str, Any], nonlinear: str) -> None:
    random = np.random.default_rng(8)
    image, weights, bias = int8(random, (1, 6, 7, 3)), int8(random, (1, *window["kernel"][::-1], 3)), int8(random, (3,))
    points = (4, 6, 12, 4)
    parts = []
    for channel in range(3):
        part = slice(channel, channel + 1)
        alone = defined(image[..., part], weights[..., part], bias[part], points, nonlinear, window)
        parts.append(alone)
    expected = np.concatenate(parts, axis=3)
    graph = Builder()
    graph.input(image.shape, points[0])
    graph.constant(weights, points[1])
    graph.constant(bias, points[2], "b")
    args = {"input": ["x"], "weights": ["w"], "bias": ["b"]}
    graph.add("y", "depthwise-conv2d-fix", expected.shape, args, points[3], nonlinear=nonlinear, **window)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], expected)


@pytest.mark.parametrize("pad", [[0, 0, 0, 0], [1, 0, 0, 1]])
@pytest.mark.parametrize("kernel", [[2, 2], [3, 2]])
def test_a_transposed_convolution_spreads_pixels_through_the_flipped_kernel(kernel: list[int], pad: list[int]) -> None:
    random = np.random.default_rng(9)
    width, height = kernel
    image, weights, bias = int8(random, (1, 3, 4, 5)), int8(random, (2, height, width, 5)), int8(random, (2,))
    full = np.zeros((2 * 2 + height, 3 * 2 + width, 2), int)
    for y, x in np.ndindex(3, 4):
        for ky, kx in np.ndindex(height, width):
            spread = weights[:, ky, kx].astype(int) @ image[0, y, x].astype(int)
            full[y * 2 + height - 1 - ky, x * 2 + width - 1 - kx] += spread
    left, right, top, bottom = pad
    cropped = full[top : full.shape[0] - bottom, left : full.shape[1] - right]
    exact = [(int(total) + int(bias[index[-1]]) * 4) / Fraction(2**9) for index, total in np.ndenumerate(cropped)]
    expected = np.array([finished(value, "RELU") for value in exact], np.int8).reshape(1, *cropped.shape)
    graph = Builder()
    graph.input(image.shape, 6)
    graph.constant(weights, 7)
    graph.constant(bias, 11, "b")
    args = {"input": ["x"], "weights": ["w"], "bias": ["b"]}
    window = {"kernel": kernel, "stride": [2, 2], "pad": pad}
    graph.add("y", "transposed-conv2d-fix", expected.shape, args, 4, nonlinear="RELU", **window)
    np.testing.assert_array_equal(run_everywhere(graph.graph(), {"x": image})["y"], expected)


def wide_graph(depth: int) -> Builder:
    """A pointwise convolution whose largest sum is 128 * 127 * depth."""
    graph = Builder()
    graph.input((1, 2, 2, depth), 6)
    graph.constant(np.full((1, 1, 1, depth), 127, np.int8), 7)
    graph.add("y", "conv2d-fix", (1, 2, 2, 1), {"input": ["x"], "weights": ["w"]}, -5, **WINDOW)
    return graph


@needs_onnxruntime
def test_a_sum_that_float32_cannot_hold_is_left_to_a_wider_type() -> None:
    """1032 * 128 * 127 lies just below 2 ** 24, with the half of the rounding; 1033 * 128 * 127 above."""
    assert units(wide_graph(1000).graph()) == ["SessionUnit"]
    assert units(wide_graph(1040).graph()) == ["KernelUnit"]


def test_wide_sums_agree_everywhere() -> None:
    random = np.random.default_rng(10)
    image = random.integers(60, 128, (1, 2, 2, 1040)).astype(np.int8)
    total = (image.astype(int) * 127).sum(-1)
    expected = np.clip((total + 2**17) >> 18, -128, 127)
    assert expected.min() < 127
    np.testing.assert_array_equal(run_everywhere(wide_graph(1040).graph(), {"x": image})["y"][..., 0], expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": [2, 2]}, "kernel is 2x2, its weights are 1x1"),
        ({"nonlinear": "PRELU"}, "activation 'PRELU' is not supported"),
        ({"nonlinear": "LEAKYRELU", "LEAKYRELU_alpha": 0.01}, "LEAKYRELU_alpha"),
        ({"pad": [1, 0, 0, 0]}, r"gives the shape \[1, 4, 5, 2\], but its tensor is \[1, 4, 4, 2\]"),
        ({"stride": [0, 1]}, "out of range"),
        ({"pad": [0, 0, 0]}, "4 whole numbers expected"),
    ],
)
def test_an_operator_that_does_not_fit_the_rules_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    graph = Builder()
    graph.input((1, 4, 4, 3), 6)
    graph.constant(np.ones((2, 1, 1, 3), np.int8), 7)
    attributes = {**WINDOW, **change}
    graph.add("convolve", "conv2d-fix", (1, 4, 4, 2), {"input": ["x"], "weights": ["w"]}, 4, **attributes)
    with pytest.raises(ModelRejected, match=rf"^small.xmodel: operator 'convolve' \(conv2d-fix\): .*{message}"):
        open_executor(graph.graph(), backend="integer")


def test_weights_that_are_computed_while_running_are_refused() -> None:
    graph = Builder()
    graph.input((1, 4, 4, 3), 6)
    graph.input((2, 1, 1, 3), 6, name="w")
    graph.add("y", "conv2d-fix", (1, 4, 4, 2), {"input": ["x"], "weights": ["w"]}, 4, **WINDOW)
    with pytest.raises(ModelRejected, match="argument 'weights' is computed while running"):
        open_executor(graph.graph(), backend="integer")


def test_relu6_saturates_at_six_and_says_that_no_reference_is_known() -> None:
    graph = Builder()
    graph.input((1, 1, 4, 1), 4)
    graph.constant(np.array([[[[64]]]], np.int8), 4)
    graph.add("y", "conv2d-fix", (1, 1, 4, 1), {"input": ["x"], "weights": ["w"]}, 3, **WINDOW, nonlinear="RELU6")
    image = np.array([-1, 2, 24, 100], np.int8).reshape(1, 1, 4, 1)
    assert run_everywhere(graph.graph(), {"x": image})["y"].ravel().tolist() == [0, 4, 48, 48]
    assert any("RELU6" in note for note in open_executor(graph.graph()).notes)
