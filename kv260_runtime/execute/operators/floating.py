"""Float operators of the CPU and of quantised, uncompiled files, in numpy.

Sums are kept in float64, which is exact on the grids that `fix` leaves behind, and rounded to float32 once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kv260_runtime.execute.geometry import Window, check_size, image_shape, slide
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


def _plan(function: Callable[..., Array], inputs: int = 1) -> Callable[[Node], Kernel]:
    """A planner of operators whose inputs are broadcast together."""

    def plan(node: Node) -> Kernel:
        if len(node.inputs()) != inputs:
            raise node.rejected(f"has {len(node.inputs())} inputs, {inputs} expected")
        node.elementwise()
        return Elementwise(function)

    return plan


relu = _plan(lambda x: np.maximum(x, 0))
relu6 = _plan(lambda x: np.clip(x, 0, 6))
sigmoid = _plan(lambda x: 1 / (1 + np.exp(-x)))
tanh = _plan(np.tanh)
exponential = _plan(np.exp)
hard_sigmoid = _plan(lambda x: np.clip(x + 3, 0, 6) * HARD_SIGMOID_GAIN)
hard_swish = _plan(lambda x: x * np.clip(x + 3, 0, 6) * HARD_SIGMOID_GAIN)
add = _plan(np.add, 2)
subtract = _plan(np.subtract, 2)
multiply = _plan(np.multiply, 2)
divide = _plan(np.divide, 2)
minimum = _plan(np.minimum, 2)
maximum = _plan(np.maximum, 2)


def leaky_relu(node: Node) -> Kernel:
    """Plan leaky-relu."""
    alpha = node.numbers("alpha")[0]
    return _plan(lambda x: np.where(x < 0, x * alpha, x))(node)


def softmax(node: Node) -> Kernel:
    """Plan softmax."""
    axis, shape = node.integer("axis", -1), node.input().shape
    if not -len(shape) <= axis < len(shape):
        raise node.rejected(f"axis {axis} does not fit the input {list(shape)}")
    node.gives(shape)

    def compute(values: Array) -> Array:
        raised: Array = np.exp(values - values.max(axis, keepdims=True))
        shares: Array = raised / raised.sum(axis, keepdims=True)
        return shares

    return Elementwise(compute)


def matmul(node: Node) -> Kernel:
    """Plan matmul of two inputs, with an optional constant bias."""
    shapes = [spec.shape for spec in node.inputs()]
    if len(shapes) != 2 or min(len(shape) for shape in shapes) < 2:
        raise node.rejected(f"needs two matrices, its inputs are {[list(shape) for shape in shapes]}")
    bias = node.constant("bias")[1].astype(np.float64) if node.has("bias") else np.zeros(1)
    flips = node.flag("transpose_a"), node.flag("transpose_b")

    def compute(left: Array, right: Array) -> Array:
        a, b = (x.swapaxes(-1, -2) if flip else x for x, flip in zip((left, right), flips, strict=True))
        product: Array = a @ b + bias
        return product

    try:
        shape = compute(*(np.broadcast_to(np.float64(0), shape) for shape in shapes)).shape
    except ValueError:
        raise node.rejected(f"inputs {[list(shape) for shape in shapes]} cannot be multiplied") from None
    node.gives(shape)
    return Elementwise(compute)


def conv2d(node: Node) -> Kernel:
    """Plan conv2d."""
    window, image = Window.of(node), image_shape(node)
    weights = node.constant("weights")[1].astype(np.float64)
    bias = _bias(node, weights.shape[0])
    if weights.shape[1:] != (*window.kernel, image[3]):
        raise node.rejected(f"weights {list(weights.shape)} do not fit the kernel and the input {list(image)}")
    check_size(node, window.output_size(image[1], image[2]), weights.shape[0])
    return Elementwise(lambda x: slide(x, window, weights, lambda p, w: p @ w.T, lambda total: total + bias))


def depthwise_conv2d(node: Node) -> Kernel:
    """Plan depthwise-conv2d."""
    window, image = Window.of(node), image_shape(node)
    weights = node.constant("weights")[1].astype(np.float64)
    bias = _bias(node, image[3])
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
    window, channels = _pooling_window(node), image_shape(node)[3]
    if any(window.pad):
        raise node.rejected("an average over a border is not supported")
    weights = np.full((1, *window.kernel, channels), 1.0)
    return Elementwise(lambda x: slide(x, window, weights, lambda p, w: p * w[0], lambda total: total / window.area))


def _bias(node: Node, channels: int) -> Array:
    values = node.constant("bias")[1].astype(np.float64) if node.has("bias") else np.zeros(channels)
    if values.shape != (channels,):
        raise node.rejected(f"the bias has the shape {list(values.shape)}, {channels} channels expected")
    return values


def _pooling_window(node: Node) -> Window:
    image = image_shape(node)
    window = Window.of(node)
    if node.flag("global"):
        window = replace(window, kernel=(image[1], image[2]), pad=(0, 0, 0, 0))
    check_size(node, window.output_size(image[1], image[2]), image[3])
    return window
