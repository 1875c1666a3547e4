"""Weights that are the same on every machine: int8 drawn from a hash, scaled so that activations keep their size."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

PEAK = 127
BIAS_PEAK = 16
BIAS_FIX_POINT = 6

Int8 = npt.NDArray[np.int8]


def weight_scale(fan_in: int) -> tuple[int, int]:
    """(peak, fix point) of uniform int8 weights of variance 2 / fan_in, which keeps a ReLU network level."""
    real_peak = math.sqrt(6 / fan_in)
    fix_point = math.floor(math.log2(PEAK / real_peak))
    return round(real_peak * 2**fix_point), fix_point


@lru_cache(maxsize=4)
def draw(name: str, count: int, peak: int) -> Int8:
    """`count` int8 values, uniform in [-peak, peak], fixed by `name`."""
    raw = np.frombuffer(hashlib.shake_256(name.encode()).digest(count), np.uint8)
    return ((raw.astype(np.uint16) * (2 * peak + 1) >> 8).astype(np.int16) - peak).astype(np.int8)
