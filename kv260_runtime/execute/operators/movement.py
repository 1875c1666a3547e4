"""Operators that move values: copies, reshapes, concatenation, slices, nearest upsampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from kv260_runtime.execute.fixed import Rounding
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.onnx_graph import AXIS_CHANNELS_FIRST, OnnxGraph, Value
from kv260_runtime.execute.operators.nonlinear import rounding_of
from kv260_runtime.execute.specs import Array


@dataclass(frozen=True)
class Copy:
    """upload, download, identity."""

    def run(self, values: Array) -> Array:
        """The same array."""
        return values

    def is_exact(self) -> bool:
        """Nothing is computed."""
        return True

    def emit(self, _: OnnxGraph, values: Value) -> Value:
        """No node."""
        return values


@dataclass(frozen=True)
class Reshape:
    """reshape(-fix), flatten, squeeze: the same values in the same order (NHWC)."""

    shape: tuple[int, ...]

    def run(self, values: Array, *_: Array) -> Array:
        """A view where numpy can give one. A second input would be the shape, which the output tensor knows."""
        return values.reshape(self.shape)

    def is_exact(self) -> bool:
        """Nothing is computed."""
        return True

    def emit(self, onnx: OnnxGraph, values: Value) -> Value:
        """Back to the order of the XModel, then Reshape."""
        plain = onnx.channels_last(values)
        return Value(onnx.node("Reshape", [plain.name, onnx.constant(np.array(self.shape, np.int64))]), self.shape)


@dataclass(frozen=True)
class Concat:
    """concat-fix: inputs of another fix point than the output are requantised."""

    axis: int
    roundings: tuple[Rounding, ...]
    shape: tuple[int, ...]

    def run(self, *inputs: Array) -> Array:
        """Join along the axis."""
        parts = [
            values if rounding == Rounding(0) else rounding.apply(values)
            for values, rounding in zip(inputs, self.roundings, strict=True)
        ]
        return np.concatenate(parts, self.axis)

    def is_exact(self) -> bool:
        """Shifts of 8 bits are exact."""
        return all(rounding.is_exact(128) for rounding in self.roundings)

    def emit(self, onnx: OnnxGraph, *inputs: Value) -> Value:
        """Requantise where needed, Concat."""
        values = onnx.alike(inputs)
        names = []
        for value, rounding in zip(values, self.roundings, strict=True):
            scaled = onnx.scale(value.name, 2.0**-rounding.shift)
            names.append(value.name if rounding == Rounding(0) else onnx.rounded(scaled, rounding))
        first = values[0].channels_first
        axis = AXIS_CHANNELS_FIRST[self.axis] if first else self.axis
        return Value(onnx.node("Concat", names, axis=axis), self.shape, first)


@dataclass(frozen=True)
class NearestUpsampling:
    """upsample-fix NEAREST by whole factors, requantised."""

    factors: tuple[int, int]
    """(height, width)."""
    rounding: Rounding
    shape: tuple[int, ...]

    def run(self, image: Array) -> Array:
        """Repeat rows and columns."""
        values = image if self.rounding == Rounding(0) else self.rounding.apply(image)
        return values.repeat(self.factors[0], 1).repeat(self.factors[1], 2)

    def is_exact(self) -> bool:
        """Shifts of 8 bits are exact."""
        return self.rounding.is_exact(128)

    def emit(self, onnx: OnnxGraph, image: Value) -> Value:
        """Requantise where needed, Resize."""
        name = onnx.channels_first(image).name
        if self.rounding != Rounding(0):
            name = onnx.rounded(onnx.scale(name, 2.0**-self.rounding.shift), self.rounding)
        scales = onnx.constant(np.array([1, 1, *self.factors], np.float32))
        resized = onnx.node(
            "Resize",
            [name, "", scales],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        return Value(resized, self.shape, channels_first=True)


@dataclass(frozen=True, eq=False)
class Moved:
    """Any other movement, as a numpy function."""

    function: Callable[..., Array]

    def run(self, *inputs: Array) -> Array:
        """Apply the function."""
        return self.function(*inputs)


def copy(node: Node) -> Kernel:
    """Plan upload, download and identity."""
    node.gives(node.input().shape)
    return Copy()


def reshape(node: Node) -> Kernel:
    """Plan reshape(-fix), flatten and squeeze: the shape is that of the output tensor."""
    shape = node.output.shape
    if prod(shape) != prod(node.input().shape):
        raise node.rejected(f"would reshape {list(node.input().shape)} to {list(shape)}")
    return Reshape(shape)


def concat_fix(node: Node) -> Kernel:
    """Plan concat-fix."""
    axis = _concat_axis(node)
    return Concat(axis, tuple(rounding_of(node, node.fix_point(spec)) for spec in node.inputs()), node.output.shape)


def concat(node: Node) -> Kernel:
    """Plan concat of float tensors."""
    axis = _concat_axis(node)
    return Moved(lambda *inputs: np.concatenate(inputs, axis))


def stack(node: Node) -> Kernel:
    """Plan stack."""
    shapes, axis = {spec.shape for spec in node.inputs()}, node.integer("axis")
    shape = next(iter(shapes))
    if len(shapes) > 1 or not 0 <= axis <= len(shape):
        raise node.rejected(f"axis {axis} does not fit the inputs {[list(spec.shape) for spec in node.inputs()]}")
    node.gives((*shape[:axis], len(node.inputs()), *shape[axis:]))
    return Moved(lambda *inputs: np.stack(inputs, axis))


def transpose(node: Node) -> Kernel:
    """Plan transpose."""
    order = node.integers("order", len(node.input().shape))
    if sorted(order) != list(range(len(order))):
        raise node.rejected(f"order {order} is no permutation")
    node.gives([node.input().shape[axis] for axis in order])
    return Moved(lambda values: np.ascontiguousarray(values.transpose(order)))


def strided_slice(node: Node) -> Kernel:
    """Plan strided_slice(-fix)."""
    begin = node.integers("begin")
    end, strides = node.integers("end", len(begin)), node.integers("strides", len(begin), default=[1] * len(begin))
    shape = node.input().shape
    if len(begin) != len(shape) or 0 in strides:
        raise node.rejected(f"begin {begin} and strides {strides} do not fit the input {list(shape)}")
    cut = tuple(slice(*bounds) for bounds in zip(begin, end, strides, strict=True))
    node.gives([len(range(*part.indices(size))) for part, size in zip(cut, shape, strict=True)])
    return Moved(lambda values: np.ascontiguousarray(values[cut]))


def upsample_fix(node: Node) -> Kernel:
    """Plan upsample-fix: NEAREST by whole factors."""
    image, output, mode = node.input(), node.output, node.text("mode", "NEAREST")
    if mode != "NEAREST":
        raise node.rejected(f"mode {mode!r} is not supported; known: NEAREST")
    if node.flag("align_corners") or node.flag("half_pixel_centers"):
        raise node.rejected("align_corners and half_pixel_centers are not supported")
    if len(image.shape) != 4 or len(output.shape) != 4 or 0 in image.shape:
        raise node.rejected(f"cannot enlarge {list(image.shape)} to {list(output.shape)}")
    factors = (output.shape[1] // image.shape[1], output.shape[2] // image.shape[2])
    node.gives((image.shape[0], image.shape[1] * factors[0], image.shape[2] * factors[1], image.shape[3]))
    return NearestUpsampling(factors, rounding_of(node, node.fix_point(image)), output.shape)


def _concat_axis(node: Node) -> int:
    shapes, axis = [spec.shape for spec in node.inputs()], node.integer("axis")
    rank = len(shapes[0])
    if not -rank <= axis < rank or any(len(shape) != rank for shape in shapes):
        raise node.rejected(f"axis {axis} does not fit the inputs {[list(shape) for shape in shapes]}")
    axis %= rank
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) != 1:
        raise node.rejected(f"inputs {[list(shape) for shape in shapes]} do not join along axis {axis}")
    node.gives((*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]))
    return axis
