"""Checks and conversions that the vendor's bindings leave out: dtype, shape, contiguity, rounding, saturation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kv260_runtime.accelerators import Array, Runner, TensorSpec
from kv260_runtime.errors import ModelRejected


def spec_of(tensor: Any) -> TensorSpec:  # noqa: ANN401  (a vendor object)
    """A vendor tensor as a TensorSpec. The vendor says `xint8` for a fixed-point int8."""
    fix_point = int(tensor.get_attr("fix_point")) if tensor.has_attr("fix_point") else None
    return TensorSpec(
        name=str(tensor.name),
        shape=tuple(int(n) for n in tensor.dims),
        dtype=str(tensor.dtype).lower().lstrip("x"),
        fix_point=fix_point,
    )


def checked_inputs(specs: Sequence[TensorSpec], tensors: Mapping[str, Array]) -> list[Array]:
    """The arrays in the order of `specs`, C-contiguous and of the stored type.

    The vendor's binding aborts the process on a wrong type and reads out of bounds on a wrong shape.
    Raises ModelRejected naming the tensor.
    """
    unknown = sorted(set(tensors) - {spec.name for spec in specs})
    if unknown:
        raise ModelRejected(f"no input is called {unknown[0]!r}; inputs: {', '.join(spec.name for spec in specs)}")
    return [_checked(spec, tensors) for spec in specs]


def _checked(spec: TensorSpec, tensors: Mapping[str, Array]) -> Array:
    if spec.name not in tensors:
        raise ModelRejected(f"input {spec.name!r} is missing; it has shape {list(spec.shape)} and type {spec.dtype}")
    array = np.asarray(tensors[spec.name])
    if array.dtype.name != spec.dtype:
        raise ModelRejected(f"input {spec.name!r} has type {array.dtype.name}, the model stores {spec.dtype}")
    if array.shape != spec.shape:
        raise ModelRejected(f"input {spec.name!r} has shape {list(array.shape)}, the model needs {list(spec.shape)}")
    return np.ascontiguousarray(array)


def quantise(real: Array, fix_point: int, dtype: str = "int8") -> Array:
    """Real values to stored integers: floor(x * 2**fix_point + 0.5), saturated (board.md section 7, DPU_ROUND).

    The vendor's own conversion truncates toward zero and wraps. In float64 the scaled value and the added half are
    exact for every float32. A NaN becomes 0, as the saturating conversion of the board's CPU has it.
    """
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        scaled = np.floor(np.asarray(real, dtype=np.float64) * 2.0**fix_point + 0.5)
    stored: Array = np.clip(np.where(np.isnan(scaled), 0, scaled), limits.min, limits.max).astype(dtype)
    return stored


def load_real(runner: Runner, reals: Mapping[str, Array]) -> None:
    """Load real values, quantised to each input's fix point (`quantise`); float inputs get them as they are.

    Raises ModelRejected as `load` does, and for an integer input without a fix point.
    """
    specs = {spec.name: spec for spec in runner.inputs}
    runner.load({name: _stored(specs[name], real) if name in specs else real for name, real in reals.items()})


def _stored(spec: TensorSpec, real: Array) -> Array:
    if np.dtype(spec.dtype).kind == "f":
        return np.asarray(real).astype(spec.dtype)
    if spec.fix_point is None:
        raise ModelRejected(f"input {spec.name!r} stores {spec.dtype} without a fix point: load stored values")
    return quantise(real, spec.fix_point, spec.dtype)


def random_inputs(specs: Sequence[TensorSpec], seed: int, count: int) -> list[dict[str, Array]]:
    """`count` sets of full-range random inputs; DPU power depends on the data, so the seed belongs in the session.

    Integers cover their whole range as the vendor's benchmark does; floats are standard normal.
    """
    generator = np.random.default_rng(seed)
    return [{spec.name: _random(spec, generator) for spec in specs} for _ in range(count)]


def _random(spec: TensorSpec, generator: np.random.Generator) -> Array:
    dtype = np.dtype(spec.dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, size=spec.shape, dtype=dtype, endpoint=True)
    return generator.standard_normal(spec.shape).astype(dtype)
