"""What an executor takes and gives: specs of XIR tensors; activations are NHWC."""

from __future__ import annotations

import numpy as np

from kv260_runtime.accelerators import Array, TensorSpec
from kv260_runtime.errors import ModelRejected
from kv260_runtime.xmodel import Tensor

__all__ = ["Array", "TensorSpec", "is_fixed", "spec_of"]

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


def is_fixed(spec: TensorSpec) -> bool:
    """Whether the values are integers with a fix point."""
    return spec.fix_point is not None and np.dtype(spec.dtype).kind in "iu"


def spec_of(tensor: Tensor, source: str) -> TensorSpec:
    """The spec of an XIR tensor; ModelRejected for a data type no operator here computes with."""
    dtype = NUMPY_TYPES.get(tensor.dtype)
    if dtype is None:
        raise ModelRejected(f"{source}: tensor {tensor.name!r} is of type {tensor.dtype}, which cannot be executed")
    return TensorSpec(tensor.name, tensor.shape, dtype, tensor.fix_point)
