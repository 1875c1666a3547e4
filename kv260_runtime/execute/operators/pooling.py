"""Pooling of the DPU: maximum, and an average that multiplies by a fraction near 1/n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kv260_runtime.execute.fixed import Rounding
from kv260_runtime.execute.geometry import Window, check_size, image_shape, slide
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.onnx_graph import OnnxGraph, Value
from kv260_runtime.execute.operators.nonlinear import rounding_of
from kv260_runtime.execute.specs import Array

AVERAGE_FACTORS = {
    (3, 3): (7, 6),
    (5, 5): (10, 8),
    (6, 6): (7, 8),
    (7, 7): (21, 10),
    (14, 14): (21, 12),
}
"""Kernel to (M, S): the DPU's average is sum * M / 2^S (xmodel_execution.md, Executing)."""


def average_factor(kernel: tuple[int, int]) -> tuple[int, int]:
    """(M, S) of a kernel (height, width); outside the table the best M / 2^S with S < ceil(log2(128 n))."""
    if kernel in AVERAGE_FACTORS:
        return AVERAGE_FACTORS[kernel]
    area = kernel[0] * kernel[1]
    candidates = [(round(2**shift / area), shift) for shift in range((128 * area - 1).bit_length())]
    return min(candidates, key=lambda pair: abs(pair[0] / 2 ** pair[1] - 1 / area))


@dataclass(frozen=True, eq=False)
class MaximumPooling:
    """pool-fix MAX; the border holds -128."""

    window: Window
    rounding: Rounding
    shape: tuple[int, ...]

    def run(self, image: Array) -> Array:
        """The maximum over all taps, requantised."""
        padded = self.window.padded(image, -128)
        rows, columns = self.shape[1], self.shape[2]
        best: Array | None = None
        for tap in self.window.taps():
            seen = self.window.patch(padded, tap, range(rows), columns)
            best = seen.copy() if best is None else np.maximum(best, seen, out=best)
        assert best is not None
        return best if self.rounding == Rounding(0) else self.rounding.apply(best)

    def is_exact(self) -> bool:
        """Comparisons are exact, and so is a shift of 8 bits."""
        return self.rounding.is_exact(128)

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """MaxPool, whose border never wins, then requantise."""
        window = self.window
        name = onnx.node(
            "MaxPool",
            [onnx.channels_first(image).name],
            kernel_shape=window.kernel,
            strides=window.stride,
            pads=window.pad,
        )
        if self.rounding != Rounding(0):
            name = onnx.rounded(onnx.scale(name, 2.0**-self.rounding.shift), self.rounding)
        return Value(name, self.shape, channels_first=True)


@dataclass(frozen=True, eq=False)
class AveragePooling:
    """pool-fix AVG: r(sum * M / 2^S * 2^(fo-fi)), over a border of zeros."""

    window: Window
    factor: int
    rounding: Rounding
    shape: tuple[int, ...]

    def run(self, image: Array) -> Array:
        """Sum over taps times the factor, rounded once."""
        weights = np.full((1, *self.window.kernel, image.shape[3]), self.factor, np.int64)
        return slide(image, self.window, weights, lambda x, w: x * w[0], self.rounding.apply)

    def is_exact(self) -> bool:
        """The largest sum is n * M * 128."""
        return self.rounding.is_exact(self.window.area * self.factor * 128)

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """A depthwise Conv with one weight: a plain sum, where AveragePool would divide by n."""
        channels = self.shape[3]
        weight = self.factor * 2.0**-self.rounding.shift
        names = [
            onnx.channels_first(image).name,
            onnx.constant(np.full((channels, 1, *self.window.kernel), weight, np.float32)),
            onnx.constant(np.full(channels, 0.5, np.float32)),
        ]
        window = self.window
        total = onnx.node(
            "Conv", names, group=channels, kernel_shape=window.kernel, strides=window.stride, pads=window.pad
        )
        return Value(onnx.rounded(total, self.rounding, half_added=True), self.shape, channels_first=True)


def pool_fix(node: Node) -> Kernel:
    """Plan pool-fix."""
    window, image = Window.of(node), image_shape(node)
    check_size(node, window.output_size(image[1], image[2]), image[3])
    kind, bits = node.text("type"), node.fix_point(node.input())
    if kind == "MAX":
        if any(pad >= window.kernel[index % 2] for index, pad in enumerate(window.pad)):
            raise node.rejected("pad is as large as the kernel")
        return MaximumPooling(window, rounding_of(node, bits), node.output.shape)
    if kind == "AVG":
        factor, shift = average_factor(window.kernel)
        return AveragePooling(window, factor, rounding_of(node, bits + shift), node.output.shape)
    raise node.rejected(f"type {kind!r} is not supported; known: MAX, AVG")
