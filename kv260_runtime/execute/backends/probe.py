"""Asks this machine's ONNX Runtime whether its convolutions are plain float32 sums, before anything relies on it."""

from __future__ import annotations

from functools import cache

import numpy as np

from kv260_runtime.execute.backends.sessions import open_session
from kv260_runtime.execute.geometry import Window, slide
from kv260_runtime.execute.onnx_graph import OnnxGraph
from kv260_runtime.execute.specs import Array

CHANNELS_IN, CHANNELS_OUT, SIZE = 112, 32, 10


@cache
def sums_are_plain(threads: int) -> bool:
    """Whether a 3x3 and a 1x1 convolution of odd integers, with sums just below 2 ** 24, come out exact.

    Winograd's transforms, bfloat16 products, or any other fast mathematics would lose the last bits.
    """
    random = np.random.default_rng(24)
    image = (random.integers(50, 64, (1, SIZE, SIZE, CHANNELS_IN)) * 2 + 1).astype(np.float32)
    pointwise = random.integers(50, 64, (CHANNELS_OUT, 1, 1, CHANNELS_IN)) * 2 + 1
    square = random.integers(50, 64, (CHANNELS_OUT, 3, 3, CHANNELS_IN)) * 2 + 1
    onnx = OnnxGraph()
    onnx.float_input("image", (1, CHANNELS_IN, SIZE, SIZE))
    for weights in (pointwise, square):
        size = SIZE - weights.shape[1] + 1
        kernel = onnx.constant(weights.transpose(0, 3, 1, 2).astype(np.float32))
        onnx.float_output(onnx.node("Conv", ["image", kernel]), (1, CHANNELS_OUT, size, size))
    found = open_session(onnx.serialize(), threads).run(None, {"image": image.transpose(0, 3, 1, 2)})
    expected = [_exact(image, weights) for weights in (pointwise, square)]
    return all(np.array_equal(a.transpose(0, 2, 3, 1), b) for a, b in zip(found, expected, strict=True))


def _exact(image: Array, weights: Array) -> Array:
    window = Window((weights.shape[1], weights.shape[2]), (1, 1))
    return slide(image, window, weights.astype(np.int64), lambda x, w: x @ w.T, lambda total: total)
