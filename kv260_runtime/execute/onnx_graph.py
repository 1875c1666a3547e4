"""A float32 ONNX graph being built, over integers held in floats and kept channels first (NCHW)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kv260_runtime.execute import onnx_wire
from kv260_runtime.execute.fixed import Rounding
from kv260_runtime.execute.specs import Array, TensorSpec

TO_CHANNELS_FIRST = (0, 3, 1, 2)
TO_CHANNELS_LAST = (0, 2, 3, 1)
AXIS_CHANNELS_FIRST = (0, 2, 3, 1)
"""Axis of an NHWC tensor to that of the same data in NCHW."""


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: integers of its fix point, as float32."""

    name: str
    shape: tuple[int, ...]
    """The shape in the XModel (NHWC), whatever the order in the graph."""
    channels_first: bool = False


class OnnxGraph:
    """Collects nodes; every method returns the name or Value of what it added."""

    def __init__(self) -> None:
        """Start empty."""
        self._nodes: list[bytes] = []
        self._initializers: list[bytes] = []
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._scalars: dict[float, str] = {}
        self._reordered: dict[tuple[str, bool], Value] = {}
        self._count = 0

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def node(self, op_type: str, inputs: Sequence[str], **attributes: onnx_wire.Attribute) -> str:
        """Add a node with one output."""
        output = self._fresh(op_type)
        self._nodes.append(onnx_wire.node(op_type, inputs, output, attributes))
        return output

    def constant(self, values: Array) -> str:
        """Add an initializer of float32 or int64."""
        name = self._fresh("constant")
        self._initializers.append(onnx_wire.tensor(name, values))
        return name

    def scalar(self, value: float) -> str:
        """A float32 scalar, added once."""
        if value not in self._scalars:
            self._scalars[value] = self.constant(np.array(value, np.float32))
        return self._scalars[value]

    def input(self, name: str, spec: TensorSpec) -> Value:
        """Declare an int8 input of the whole graph."""
        self._inputs.append(onnx_wire.value_info(name, onnx_wire.INT8, spec.shape))
        ordered = self.node("Transpose", [name], perm=TO_CHANNELS_FIRST) if len(spec.shape) == 4 else name
        return Value(self.node("Cast", [ordered], to=onnx_wire.FLOAT), spec.shape, len(spec.shape) == 4)

    def output(self, value: Value) -> str:
        """Declare an int8 output of the whole graph; returns its name."""
        fixed = self.node("Cast", [value.name], to=onnx_wire.INT8)
        if value.channels_first:
            fixed = self.node("Transpose", [fixed], perm=TO_CHANNELS_LAST)
        self._outputs.append(onnx_wire.value_info(fixed, onnx_wire.INT8, value.shape))
        return fixed

    def float_input(self, name: str, shape: Sequence[int]) -> str:
        """Declare a float32 input as it is, for graphs that compute in float throughout."""
        self._inputs.append(onnx_wire.value_info(name, onnx_wire.FLOAT, shape))
        return name

    def float_output(self, name: str, shape: Sequence[int]) -> None:
        """Declare a float32 output as it is."""
        self._outputs.append(onnx_wire.value_info(name, onnx_wire.FLOAT, shape))

    def channels_first(self, value: Value) -> Value:
        """The same data in NCHW; only for four dimensions."""
        return self._reorder(value, True, TO_CHANNELS_FIRST)

    def channels_last(self, value: Value) -> Value:
        """The same data in the order of the XModel."""
        return self._reorder(value, False, TO_CHANNELS_LAST)

    def _reorder(self, value: Value, channels_first: bool, order: tuple[int, ...]) -> Value:
        if value.channels_first == channels_first:
            return value
        key = (value.name, channels_first)
        if key not in self._reordered:
            name = self.node("Transpose", [value.name], perm=order)
            self._reordered[key] = Value(name, value.shape, channels_first)
        return self._reordered[key]

    def alike(self, values: Sequence[Value]) -> list[Value]:
        """The values in one common order: channels first if all have four dimensions."""
        first = all(len(value.shape) == 4 for value in values)
        return [self.channels_first(value) if first else self.channels_last(value) for value in values]

    def scale(self, name: str, factor: float) -> str:
        """Multiply by a power of two, unless it is 1."""
        return name if factor == 1 else self.node("Mul", [name, self.scalar(factor)])

    def rounded(self, name: str, rounding: Rounding, half_added: bool = False) -> str:
        """Round a sum in units of the output's last bit; `half_added` where it holds the 1/2 already.

        Clip comes first, to low and high + 1/2, so that ONNX Runtime can fuse it into a convolution; the floor of the
        latter is high.
        """
        if rounding.slope is not None:
            name = self.node("LeakyRelu", [name], alpha=rounding.slope.value)
        elif rounding.shift <= 0 and not half_added:
            return self.node("Clip", [name, self.scalar(rounding.low), self.scalar(rounding.high)])
        if not half_added:
            name = self.node("Add", [name, self.scalar(0.5)])
        clipped = self.node("Clip", [name, self.scalar(rounding.low), self.scalar(rounding.high + 0.5)])
        return self.node("Floor", [clipped])

    def serialize(self) -> bytes:
        """The model as ONNX Runtime reads it."""
        return onnx_wire.model(self._nodes, self._initializers, self._inputs, self._outputs)
