"""Memory of tensors: the runner's own buffers, and arrays of the caller as the vendor's binding takes them.

An output buffer is computed when it is read. Once it has been, somebody may hold a view of it, so every later
execution fills it before it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from virtual_board import glog
from virtual_board.results import Array
from virtual_board.xir_api import Tensor

ELEMENT_FORMATS = "bfh"
"""int8, float32, int16: the only formats the binding takes."""
SOURCE = "runner_py_module.cpp:94"


class TensorBuffer:
    """Memory of one tensor; `numpy.asarray(buffer)` is a view of it."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._array: Array | None = None
        self._pending: Callable[[], Array] | None = None

    def get_tensor(self) -> Tensor:
        """The tensor it holds."""
        return self._tensor

    def is_watched(self) -> bool:
        """Whether somebody may hold a view of the memory. Not of the vendor's."""
        return self._array is not None

    def put(self, pending: Callable[[], Array]) -> None:
        """What an execution left here: computed now if somebody may look, else when somebody does."""
        self._pending = pending
        if self._array is not None:
            self._memory()

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        array = self._memory()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self._memory())  # type: ignore[arg-type]  # arrays are buffers

    def _memory(self) -> Array:
        values = None if self._pending is None else self._pending()
        if self._array is None:
            self._array = np.zeros(self._tensor.dims, stored_type(self._tensor))
        if values is not None:
            np.copyto(self._array, values)
            self._pending = None
        return self._array


def stored_type(tensor: Tensor) -> np.dtype[Any]:
    """How numpy names what the tensor holds: the vendor says `xint8` for a fixed-point int8."""
    return np.dtype(tensor.dtype.lstrip("x"))


def check_array(array: Any) -> memoryview:  # noqa: ANN401  (anything with a buffer)
    """Abort on a format the binding lacks, ValueError on read-only memory; the binding checks nothing else."""
    view = memoryview(array)
    if view.readonly:
        raise ValueError("buffer source array is read-only")
    if view.format not in ELEMENT_FORMATS:
        glog.fatal(SOURCE, f"Check failed: unknown format: {view.format}")
    return view


def taken(array: Any, tensor: Tensor) -> bytes:  # noqa: ANN401
    """An input array as the accelerator gets it.

    float32 is multiplied by 2^fix_point and converted as C++ does on the board's processor: truncated toward zero,
    held in 32 bits, of which the lowest eight are kept (board facts, 5.2).
    """
    values = _elements(array, tensor)
    if values.dtype == stored_type(tensor):
        return values.tobytes()
    _require_conversion(values, tensor)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.trunc(values * np.float32(2.0 ** tensor.get_attr("fix_point")))
    held = np.clip(np.nan_to_num(scaled.astype(np.float64), posinf=2.0**31, neginf=-(2.0**31)), -(2**31), 2**31 - 1)
    kept: Array = held.astype(np.int64).astype(np.int8)
    return kept.tobytes()


def give(values: Array, array: Any, tensor: Tensor) -> None:  # noqa: ANN401
    """Write an output into an array of the caller; into float32 as the real value."""
    elements = _elements(array, tensor)
    if elements.dtype == values.dtype:
        elements[:] = values.reshape(-1)
        return
    _require_conversion(elements, tensor)
    elements[:] = values.reshape(-1) * np.float32(2.0 ** -tensor.get_attr("fix_point"))


def _elements(array: Any, tensor: Tensor) -> Array:  # noqa: ANN401
    """As many elements as the tensor has, from the beginning; what would be undefined on the board aborts here."""
    view = check_array(array)
    count = tensor.get_element_num()
    if not view.c_contiguous:
        _undefined(tensor, "the array is not C-contiguous, and the board's runner takes it as if it were")
    if view.nbytes // view.itemsize < count:
        _undefined(tensor, f"the array has fewer than {count} elements, and the board's runner goes beyond its end")
    return np.frombuffer(view.cast("B"), view.format)[:count]


def _require_conversion(elements: Array, tensor: Tensor) -> None:
    if elements.dtype != np.float32 or stored_type(tensor) != np.int8:
        _undefined(tensor, f"the array holds {elements.dtype}, the tensor {tensor.dtype}")


def _undefined(tensor: Tensor, why: str) -> NoReturn:
    glog.fatal(SOURCE, f"virtual_board: {tensor.name}: {why}")
