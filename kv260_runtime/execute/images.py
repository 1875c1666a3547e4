"""From a picture file to a model's input: read, resize, normalise, quantise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kv260_runtime.accelerators.tensors import quantise
from kv260_runtime.errors import ExitCode, KvbenchError, ModelRejected
from kv260_runtime.execute.specs import Array, TensorSpec

BORDER_GREY = 114
"""What YOLO networks were trained to see around a letterboxed picture."""


@dataclass(frozen=True)
class Preprocessing:
    """real = (pixel - mean) * scale, per channel in the order that the model sees."""

    mean: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1 / 255,)
    bgr: bool = False
    letterbox: bool = True
    """Keep the aspect ratio and fill with grey; else stretch to the input's size."""


def load_image(path: Path, spec: TensorSpec, how: Preprocessing) -> Array:
    """The picture as an array of the spec's shape and type: quantised by its fix point, or float32.

    Raises KvbenchError for a file that is no picture or a missing OpenCV, ModelRejected for an input of another shape.
    """
    if len(spec.shape) != 4 or spec.shape[3] not in (1, 3):
        raise ModelRejected(f"input {spec.name!r} is {list(spec.shape)}, which no picture fits; give an .npz")
    height, width, channels = spec.shape[1:]
    pixels = resized(_read(path, channels, how.bgr), height, width, how.letterbox)
    real = (pixels.astype(np.float64) - np.array(how.mean)) * np.array(how.scale)
    batch = np.broadcast_to(real, spec.shape)
    if spec.fix_point is None:
        return batch.astype(spec.dtype)
    return quantise(batch, spec.fix_point, spec.dtype)


def resized(pixels: Array, height: int, width: int, letterbox: bool) -> Array:
    """Bilinear resizing to height x width; letterboxed, the picture is centred in grey."""
    import cv2

    if not letterbox:
        return _three_axes(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR))
    factor = min(height / pixels.shape[0], width / pixels.shape[1])
    rows, columns = (max(1, round(side * factor)) for side in pixels.shape[:2])
    small = _three_axes(cv2.resize(pixels, (columns, rows), interpolation=cv2.INTER_LINEAR))
    top, left = (height - rows) // 2, (width - columns) // 2
    framed = np.full((height, width, pixels.shape[2]), BORDER_GREY, np.uint8)
    framed[top : top + rows, left : left + columns] = small
    return framed


def _three_axes(pixels: Array) -> Array:
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _read(path: Path, channels: int, bgr: bool) -> Array:
    try:
        import cv2
    except ImportError:
        message = f"{path}: reading a picture needs OpenCV (pip install 'kvbench[images]'); or give an .npz"
        raise KvbenchError(message, ExitCode.UNAVAILABLE) from None
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise KvbenchError(f"{path}: cannot be read: {error.strerror}", ExitCode.NO_INPUT) from error
    try:
        found = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR) if data.size else None
    except cv2.error:
        # OpenCV's own limits, e.g. on the number of pixels that a header may claim.
        found = None
    if found is None:
        raise KvbenchError(f"{path}: is neither an .npz nor a picture that OpenCV can read", ExitCode.BAD_DATA)
    pixels = _three_axes(np.asarray(found))
    return pixels if bgr or channels == 1 else pixels[..., ::-1]
