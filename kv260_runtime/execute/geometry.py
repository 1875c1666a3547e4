"""How a window slides over an image: kernel, stride, dilation, padding, and the numpy loops over its taps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kv260_runtime.execute.node import Node
from kv260_runtime.execute.specs import Array

BLOCK_BYTES = 8 << 20
"""Output rows are computed in blocks of about this size, so that wide sums stay in the cache."""


@dataclass(frozen=True)
class Window:
    """Pairs are (height, width); the file writes them the other way round."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)
    pad: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Rows and columns added: top, left, bottom, right (the order of ONNX)."""

    @classmethod
    def of(cls, node: Node) -> Window:
        """From kernel, stride, dilation = [w, h] and pad = [left, right, top, bottom], which is final."""
        width, height = node.integers("kernel", 2)
        across, down = node.integers("stride", 2)
        wide, high = node.integers("dilation", 2, default=(1, 1))
        left, right, top, bottom = node.integers("pad", 4, default=(0, 0, 0, 0))
        if min(width, height, across, down, wide, high) < 1 or min(left, right, top, bottom) < 0:
            raise node.rejected("kernel, stride, dilation or pad is out of range")
        return cls((height, width), (down, across), (high, wide), (top, left, bottom, right))

    @property
    def area(self) -> int:
        """Taps of the window."""
        return self.kernel[0] * self.kernel[1]

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the result of sliding over an image."""
        sizes = []
        for axis, size in enumerate((height, width)):
            reach = (self.kernel[axis] - 1) * self.dilation[axis] + 1
            sizes.append((size + self.pad[axis] + self.pad[axis + 2] - reach) // self.stride[axis] + 1)
        return sizes[0], sizes[1]

    def transposed_size(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of the result of spreading an image (transposed convolution)."""
        sizes = []
        for axis, size in enumerate((height, width)):
            spread = (size - 1) * self.stride[axis] + (self.kernel[axis] - 1) * self.dilation[axis] + 1
            sizes.append(spread - self.pad[axis] - self.pad[axis + 2])
        return sizes[0], sizes[1]

    def padded(self, image: Array, value: float) -> Array:
        """An NHWC image with its border; the image itself if there is none."""
        top, left, bottom, right = self.pad
        if not any(self.pad):
            return image
        return np.pad(image, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)

    def taps(self) -> Iterator[tuple[int, int]]:
        """Row and column of each tap of the kernel."""
        for row in range(self.kernel[0]):
            for column in range(self.kernel[1]):
                yield row, column

    def patch(self, padded: Array, tap: tuple[int, int], rows: range, columns: int) -> Array:
        """What one tap sees: for output rows `rows` and all `columns`, a view of the padded image."""
        top = rows.start * self.stride[0] + tap[0] * self.dilation[0]
        left = tap[1] * self.dilation[1]
        bottom = top + (len(rows) - 1) * self.stride[0] + 1
        right = left + (columns - 1) * self.stride[1] + 1
        return padded[:, top : bottom : self.stride[0], left : right : self.stride[1], :]


def row_blocks(height: int, row_bytes: int) -> Iterator[range]:
    """Ranges of output rows whose sums take about BLOCK_BYTES."""
    step = max(1, BLOCK_BYTES // max(row_bytes, 1))
    for start in range(0, height, step):
        yield range(start, min(start + step, height))


def slide(
    image: Array,
    window: Window,
    weights: Array,
    multiply: Callable[[Array, Array], Array],
    finish: Callable[[Array], Array],
) -> Array:
    """Convolve: for each block of output rows, sum `multiply(patch, weights of the tap)` over all taps, then `finish`.

    `image` is NHWC, `weights` [oc, kh, kw, ...] of the type that sums are kept in.
    """
    padded = window.padded(image, 0)
    rows, columns = window.output_size(image.shape[1], image.shape[2])
    blocks = []
    channels = max(weights.shape[0], weights.shape[-1])
    for block in row_blocks(rows, image.shape[0] * columns * channels * weights.itemsize):
        total: Array | None = None
        for tap in window.taps():
            patch = window.patch(padded, tap, block, columns).astype(weights.dtype)
            product = multiply(patch, weights[:, tap[0], tap[1]])
            total = product if total is None else np.add(total, product, out=total)
        assert total is not None
        blocks.append(finish(total))
    return np.concatenate(blocks, axis=1) if len(blocks) > 1 else blocks[0]


def spread(image: Array, window: Window, weights: Array) -> Array:
    """Transposed convolution: out[y * s + kh-1-ky] += image[y] @ weights[ky] (the kernel is flipped), then crop by pad.

    `weights` [oc, kh, kw, ic] of the type that sums are kept in, as is the result.
    """
    top, left, bottom, right = window.pad
    rows, columns = window.transposed_size(image.shape[1], image.shape[2])
    full = np.zeros((image.shape[0], rows + top + bottom, columns + left + right, weights.shape[0]), weights.dtype)
    for row, column in window.taps():
        mirrored = (window.kernel[0] - 1 - row, window.kernel[1] - 1 - column)
        seen = window.patch(full, mirrored, range(image.shape[1]), image.shape[2])
        seen += image.astype(weights.dtype) @ weights[:, row, column].T
    return full[:, top : top + rows, left : left + columns]


def image_shape(node: Node) -> tuple[int, int, int, int]:
    """Shape of an input that must be an image: [batch, height, width, channels], none of them 0."""
    shape = node.input().shape
    if len(shape) != 4 or 0 in shape:
        raise node.rejected(f"the input {list(shape)} is no image")
    return shape[0], shape[1], shape[2], shape[3]


def check_size(node: Node, expected: tuple[int, int], channels: int) -> None:
    """Refuse an operator whose attributes do not give the shape of its output tensor."""
    node.gives((node.input().shape[0], *expected, channels))
