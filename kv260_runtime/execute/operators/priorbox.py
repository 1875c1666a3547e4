"""priorbox: the anchor boxes of an SSD detector, which depend on shapes only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.specs import Array


@dataclass(frozen=True, eq=False)
class PriorBoxes:
    """[1, 2, 4 n]: corners (left, top, right, bottom) as fractions of the image, then the variances."""

    boxes: Array

    def run(self) -> Array:
        """The boxes."""
        return self.boxes


def box_sizes(node: Node) -> Array:
    """float32 (width, height) in pixels per cell: the smallest square, one between it and the next, the aspect ratios.

    Every step is rounded to float32, as the vendor's operator does.
    """
    ratios = [np.float32(1)]
    for ratio in map(np.float32, node.numbers("aspect_ratio", default=())):
        for candidate in (ratio, 1 / ratio) if node.flag("flip", True) else (ratio,):
            if all(abs(candidate - known) > 1e-6 for known in ratios):
                ratios.append(candidate)
    roots = np.sqrt(np.array(ratios[1:], np.float32))
    largest = np.array(node.numbers("max_sizes", default=()), np.float32)
    sizes = []
    for index, smallest in enumerate(np.array(node.numbers("min_sizes"), np.float32)):
        between = np.sqrt(smallest * largest[index : index + 1])
        sizes.append(np.concatenate([[smallest], between, smallest * roots]))
        sizes.append(np.concatenate([[smallest], between, smallest / roots]))
    widths, heights = np.concatenate(sizes[::2]), np.concatenate(sizes[1::2])
    return np.stack([widths, heights], axis=1).astype(np.float32)


def priorbox(node: Node) -> Kernel:
    """Plan priorbox of a feature map and an image (both NHWC); only their shapes are read."""
    shapes = [spec.shape for spec in node.inputs()]
    if len(shapes) != 2 or any(len(shape) != 4 or 0 in shape for shape in shapes):
        raise node.rejected(f"needs a feature map and an image, its inputs are {[list(shape) for shape in shapes]}")
    feature, image = shapes
    node.reads = []
    steps = node.numbers("step", default=(0.0,))
    offset = node.numbers("offset", default=(0.5,))[0]
    across = (np.arange(feature[2]) + offset) * (steps[0] or image[2] / feature[2])
    down = (np.arange(feature[1]) + offset) * (steps[-1] or image[1] / feature[1])
    half = box_sizes(node).astype(np.float64) / 2
    node.gives((1, 2, feature[1] * feature[2] * len(half) * 4))
    corners = np.empty((feature[1], feature[2], len(half), 4))
    corners[..., 0] = across[None, :, None] - half[:, 0]
    corners[..., 1] = down[:, None, None] - half[:, 1]
    corners[..., 2] = across[None, :, None] + half[:, 0]
    corners[..., 3] = down[:, None, None] + half[:, 1]
    corners /= np.array([image[2], image[1], image[2], image[1]])
    if node.flag("clip"):
        corners = corners.clip(0, 1)
    variances = np.array(node.numbers("variance"), np.float32)
    spread = np.broadcast_to(variances if len(variances) == 4 else np.repeat(variances[:1], 4), corners.shape)
    boxes = np.stack([corners.astype(np.float32).ravel(), spread.ravel()])[None]
    return PriorBoxes(boxes)
