"""What an executor takes and gives: named tensors of a shape, a numpy type and, for fixed point, a fix point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kv260_runtime.errors import ModelRejected
from kv260_runtime.xmodel import Tensor

Array = npt.NDArray[Any]

NUMPY_TYPES = {
    "xint8": "int8",
    "int8": "int8",
    "xuint8": "uint8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float32": "float32",
    "float64": "float64",
}
"""Data types of XIR tensors to those of numpy; x marks fixed point with a fix point per tensor."""


@dataclass(frozen=True)
class TensorSpec:
    """One tensor; activations are NHWC."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """numpy's name of the type: `int8`, `float32`."""
    fix_point: int | None = None
    """Fraction bits: real value = integer * 2 ** -fix_point; None for a float tensor."""

    @property
    def is_fixed(self) -> bool:
        """Whether the values are integers with a fix point."""
        return self.fix_point is not None and np.dtype(self.dtype).kind in "iu"


def spec_of(tensor: Tensor, source: str) -> TensorSpec:
    """The spec of an XIR tensor; ModelRejected for a data type no operator here computes with."""
    dtype = NUMPY_TYPES.get(tensor.dtype)
    if dtype is None:
        raise ModelRejected(f"{source}: tensor {tensor.name!r} is of type {tensor.dtype}, which cannot be executed")
    return TensorSpec(tensor.name, tensor.shape, dtype, tensor.fix_point)
