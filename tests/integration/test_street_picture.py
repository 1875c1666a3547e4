"""The street picture through a YOLOv5n with `kvbench run`: three to four persons and a bus, as everybody sees."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.cli.run import load_arrays

pytest.importorskip("cv2", reason="OpenCV is not installed")

pytestmark = pytest.mark.shared

Array = npt.NDArray[Any]

SIZE, CLASSES = 640, 80
ANCHORS = {
    8: [(10, 13), (16, 30), (33, 23)],
    16: [(30, 61), (62, 45), (59, 119)],
    32: [(116, 90), (156, 198), (373, 326)],
}
"""Stride to (width, height) in pixels: YOLOv5's."""

PERSON, BUS = 0, 5
LEAST_SCORE, MOST_OVERLAP = 0.6, 0.45


def candidates(output: Array) -> Array:
    """Rows of (score, class, left, top, right, bottom) of one head, [1, n, n, 3 * (5 + classes)]."""
    cells = output.shape[1]
    stride = SIZE // cells
    shares = 1 / (1 + np.exp(-output.reshape(cells, cells, 3, 5 + CLASSES).astype(np.float64)))
    scores = shares[..., 4:5] * shares[..., 5:]
    row, column = np.mgrid[:cells, :cells]
    x = (shares[..., 0] * 2 - 0.5 + column[..., None]) * stride
    y = (shares[..., 1] * 2 - 0.5 + row[..., None]) * stride
    half = (shares[..., 2:4] * 2) ** 2 * np.array(ANCHORS[stride]) / 2
    corners = np.stack([x - half[..., 0], y - half[..., 1], x + half[..., 0], y + half[..., 1]], -1)
    table = np.concatenate([scores.max(-1)[..., None], scores.argmax(-1)[..., None], corners], -1).reshape(-1, 6)
    return table[table[:, 0] >= LEAST_SCORE]


def overlap(one: Array, other: Array) -> float:
    """Intersection over union."""
    width, height = (min(one[i + 2], other[i + 2]) - max(one[i], other[i]) for i in (2, 3))
    shared = max(0.0, width) * max(0.0, height)
    areas = sum((box[4] - box[2]) * (box[5] - box[3]) for box in (one, other))
    return float(shared / (areas - shared))


def suppressed(table: Array) -> list[Array]:
    """The best of every group of boxes of a class that overlap."""
    kept: list[Array] = []
    for box in table[table[:, 0].argsort()[::-1]]:
        if all(box[1] != other[1] or overlap(box, other) < MOST_OVERLAP for other in kept):
            kept.append(box)
    return kept


def test_three_or_four_persons_and_a_bus_are_seen(shared_dir: Path, tmp_path: Path) -> None:
    model = shared_dir / "xmodels/yolov5n_640_b4096.xmodel"
    picture, output = shared_dir / "images/street_bus_810x1080.jpg", tmp_path / "out.npz"
    assert main(["run", str(model), "--input", str(picture), "--output", str(output)]) == 0
    heads = load_arrays(output)
    assert sorted(values.shape[1] for values in heads.values()) == [20, 40, 80]
    boxes = suppressed(np.concatenate([candidates(values) for values in heads.values()]))
    seen = Counter(int(box[1]) for box in boxes)
    assert seen[BUS] == 1
    assert 3 <= seen[PERSON] <= 4
    assert set(seen) == {PERSON, BUS}
    assert all(-20 < edge < SIZE + 20 for box in boxes for edge in box[2:])
