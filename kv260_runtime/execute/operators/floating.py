"""Float operators of the CPU and of quantised, uncompiled files, in numpy.

Sums are kept in float64, which is exact on the grids that `fix` leaves behind, and rounded to float32 once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kv260_runtime.execute.geometry import Window, check_size, slide
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.specs import Array

HARD_SIGMOID_GAIN = 2731 / 16384
"""The DPU's 1/6 (board.md section 7)."""


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A numpy function of float64 inputs, rounded to float32."""

    function: Callable[..., Array]

    def run(self, *inputs: Array) -> Array:
        """Apply the function."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self.function(*(values.astype(np.float64) for values in inputs)).astype(np.float32)


def relu(node: Node) -> Kernel:  # noqa: ARG001 - every planner takes the node
    """Plan relu."""
    return Elementwise(lambda x: np.maximum(x, 0))


def relu6(node: Node) -> Kernel:  # noqa: ARG001
    """Plan relu6."""
    return Elementwise(lambda x: np.clip(x, 0, 6))


def leaky_relu(node: Node) -> Kernel:
    """Plan leaky-relu."""
    alpha = node.numbers("alpha")[0]
    return Elementwise(lambda x: np.where(x < 0, x * alpha, x))


def sigmoid(node: Node) -> Kernel:  # noqa: ARG001
    """Plan sigmoid."""
    return Elementwise(lambda x: 1 / (1 + np.exp(-x)))


def tanh(node: Node) -> Kernel:  # noqa: ARG001
    """Plan tanh."""
    return Elementwise(np.tanh)


def exponential(node: Node) -> Kernel:  # noqa: ARG001
    """Plan exp."""
    return Elementwise(np.exp)


def hard_sigmoid(node: Node) -> Kernel:  # noqa: ARG001
    """Plan hard-sigmoid: relu6(x + 3) * 2731 / 16384."""
    return Elementwise(lambda x: np.clip(x + 3, 0, 6) * HARD_SIGMOID_GAIN)


def hard_swish(node: Node) -> Kernel:  # noqa: ARG001
    """Plan hard-swish: x * hard-sigmoid(x)."""
    return Elementwise(lambda x: x * np.clip(x + 3, 0, 6) * HARD_SIGMOID_GAIN)


def _pairwise(function: Callable[[Array, Array], Array]) -> Callable[[Node], Kernel]:
    def plan(node: Node) -> Kernel:
        shapes = [spec.shape for spec in node.inputs()]
        if len(shapes) != 2 or np.broadcast_shapes(*shapes) != node.output.shape:
            raise node.rejected(f"inputs {[list(shape) for shape in shapes]} do not give {list(node.output.shape)}")
        return Elementwise(function)

    return plan


add = _pairwise(np.add)
subtract = _pairwise(np.subtract)
multiply = _pairwise(np.multiply)
divide = _pairwise(np.divide)
minimum = _pairwise(np.minimum)
maximum = _pairwise(np.maximum)


def softmax(node: Node) -> Kernel:
    """Plan softmax."""
    axis = node.integer("axis", -1)

    def compute(values: Array) -> Array:
        raised: Array = np.exp(values - values.max(axis, keepdims=True))
        shares: Array = raised / raised.sum(axis, keepdims=True)
        return shares

    return Elementwise(compute)


def matmul(node: Node) -> Kernel:
    """Plan matmul of two inputs, with an optional constant bias."""
    if len(node.inputs()) != 2:
        raise node.rejected(f"has {len(node.inputs())} inputs, 2 expected")
    bias = node.constant("bias")[1].astype(np.float64) if node.has("bias") else 0.0
    flip_left, flip_right = node.flag("transpose_a"), node.flag("transpose_b")

    def compute(left: Array, right: Array) -> Array:
        a = left.swapaxes(-1, -2) if flip_left else left
        return a @ (right.swapaxes(-1, -2) if flip_right else right) + bias

    return Elementwise(compute)


def conv2d(node: Node) -> Kernel:
    """Plan conv2d."""
    window, image = Window.of(node), node.input().shape
    weights = node.constant("weights")[1].astype(np.float64)
    bias = node.constant("bias")[1].astype(np.float64) if node.has("bias") else 0.0
    if weights.shape[1:] != (*window.kernel, image[3]):
        raise node.rejected(f"weights {list(weights.shape)} do not fit the kernel and the input {list(image)}")
    check_size(node, window.output_size(image[1], image[2]), weights.shape[0])
    return Elementwise(lambda x: slide(x, window, weights, lambda p, w: p @ w.T, lambda total: total + bias))


def depthwise_conv2d(node: Node) -> Kernel:
    """Plan depthwise-conv2d."""
    window, image = Window.of(node), node.input().shape
    weights = node.constant("weights")[1].astype(np.float64)
    bias = node.constant("bias")[1].astype(np.float64) if node.has("bias") else 0.0
    if weights.shape != (1, *window.kernel, image[3]):
        raise node.rejected(f"weights {list(weights.shape)} do not fit the kernel and the input {list(image)}")
    check_size(node, window.output_size(image[1], image[2]), image[3])
    return Elementwise(lambda x: slide(x, window, weights, lambda p, w: p * w[0], lambda total: total + bias))


def maxpool2d(node: Node) -> Kernel:
    """Plan maxpool2d."""
    window = _pooling_window(node)

    def compute(image: Array) -> Array:
        padded = window.padded(image, -np.inf)
        rows, columns = window.output_size(image.shape[1], image.shape[2])
        taps = (window.patch(padded, tap, range(rows), columns) for tap in window.taps())
        best: Array = np.stack(list(taps)).max(0)
        return best

    return Elementwise(compute)


def avgpool2d(node: Node) -> Kernel:
    """Plan avgpool2d: the plain mean; the quantiser puts the DPU's factor into an operator of its own."""
    window, channels = _pooling_window(node), node.input().shape[3]
    if any(window.pad):
        raise node.rejected("an average over a border is not supported")
    weights = np.full((1, *window.kernel, channels), 1.0)
    return Elementwise(lambda x: slide(x, window, weights, lambda p, w: p * w[0], lambda total: total / window.area))


def _pooling_window(node: Node) -> Window:
    image = node.input().shape
    window = Window.of(node)
    if node.flag("global"):
        window = replace(window, kernel=(image[1], image[2]), pad=(0, 0, 0, 0))
    check_size(node, window.output_size(image[1], image[2]), image[3])
    return window
