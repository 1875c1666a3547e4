"""Sums, products and the hard sigmoid of the DPU: one output element from one element of each input."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import mul

import numpy as np

from kv260_runtime.execute.fixed import FLOAT32_EXACT, Rounding
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.onnx_graph import OnnxGraph, Value
from kv260_runtime.execute.operators.nonlinear import SHIFTS, rounding_of
from kv260_runtime.execute.specs import Array

ALIGNED_BITS = 7
"""Addends keep this many bits below the coarsest fix point; what is finer is cut off, not rounded."""

HARD_SIGMOID_SLOPE = 2731
HARD_SIGMOID_LIMIT = 2.0**32


@dataclass(frozen=True, eq=False)
class Sum:
    """eltwise-fix ADD: m = min(fi); sum of floor(x * 2^(7-(fi-m))) / 2^7, activation, / 2^(m-fo), rounded."""

    finer: tuple[int, ...]
    """fi - m of each input."""
    rounding: Rounding
    shape: tuple[int, ...]

    def run(self, *inputs: Array) -> Array:
        """One input only requantises."""
        total = np.zeros(inputs[0].shape, np.int64)
        for values, finer in zip(inputs, self.finer, strict=True):
            wide = values.astype(np.int64)
            total += wide << (ALIGNED_BITS - finer) if finer <= ALIGNED_BITS else wide >> (finer - ALIGNED_BITS)
        return self.rounding.apply(total)

    def is_exact(self) -> bool:
        """Each addend has at most 14 bits; those that lose bits stay with `run`."""
        return max(self.finer) <= ALIGNED_BITS and self.rounding.is_exact(len(self.finer) << (7 + ALIGNED_BITS))

    def emit(self, onnx: OnnxGraph, *inputs: Value) -> Value:
        """Scale each addend to the output's last bit, Add, round."""
        values = onnx.alike(inputs)
        shift = self.rounding.shift - ALIGNED_BITS
        factors = [2.0 ** -(finer + shift) for finer in self.finer]
        names = [onnx.scale(value.name, factor) for value, factor in zip(values, factors, strict=True)]
        total = reduce(lambda left, right: onnx.node("Add", [left, right]), names)
        rounded = onnx.rounded(total, replace(self.rounding, shift=max(self.finer) + shift))
        return Value(rounded, self.shape, values[0].channels_first)


@dataclass(frozen=True, eq=False)
class Product:
    """eltwise-fix MUL and depthwise-fix MUL: r(product / 2^(sum fi - fo)); a factor may be [1, 1, 1, c]."""

    count: int
    rounding: Rounding
    shape: tuple[int, ...]

    def run(self, *inputs: Array) -> Array:
        """Multiply with numpy's broadcasting."""
        return self.rounding.apply(reduce(mul, (values.astype(np.int64) for values in inputs)))

    def is_exact(self) -> bool:
        """int8 factors give 7 bits each."""
        return self.rounding.is_exact(1 << (7 * self.count))

    def emit(self, onnx: OnnxGraph, *inputs: Value) -> Value:
        """Mul, scale, round."""
        values = onnx.alike(inputs)
        product = reduce(lambda left, right: onnx.node("Mul", [left, right]), (value.name for value in values))
        scaled = onnx.scale(product, 2.0**-self.rounding.shift)
        return Value(onnx.rounded(scaled, self.rounding), self.shape, values[0].channels_first)


@dataclass(frozen=True, eq=False)
class HardSigmoid:
    """hard-sigmoid-fix: r(min(2^32, max(0, x*2731 + 3*2731*2^hsigmoid_in)) / 2^shift_hsigmoid)."""

    offset: float
    shift: int
    shape: tuple[int, ...]

    @cached_property
    def table(self) -> Array:
        """The output of each input, by its bits."""
        inputs = np.arange(256).astype(np.uint8).view(np.int8).astype(np.float64)
        line = np.clip(inputs * HARD_SIGMOID_SLOPE + self.offset, 0, HARD_SIGMOID_LIMIT)
        return np.clip(np.floor(line * 2.0**-self.shift + 0.5), -128, 127).astype(np.int8)

    def run(self, values: Array) -> Array:
        """Look the 256 possible inputs up."""
        return self.table[np.ascontiguousarray(values).view(np.uint8)]

    def is_exact(self) -> bool:
        """The line and the added 1/2, in units of 2 ** -shift, must stay below 2 ** 24."""
        largest = 128 * HARD_SIGMOID_SLOPE + self.offset
        return self.shift >= 1 and self.offset >= 1 and largest + 2.0 ** (self.shift - 1) <= FLOAT32_EXACT

    def emit(self, onnx: OnnxGraph, values: Value) -> Value:
        """Mul, Add with the 1/2, Clip, Floor; the limit of 2^32 cannot be reached."""
        scale = 2.0**-self.shift
        line = onnx.node("Mul", [values.name, onnx.scalar(HARD_SIGMOID_SLOPE * scale)])
        raised = onnx.node("Add", [line, onnx.scalar(self.offset * scale + 0.5)])
        rounded = onnx.rounded(raised, Rounding(self.shift, low=0), half_added=True)
        return Value(rounded, self.shape, values.channels_first)


def eltwise_fix(node: Node) -> Kernel:
    """Plan eltwise-fix."""
    inputs, kind = node.inputs(), node.text("type")
    bits = [node.fix_point(spec) for spec in inputs]
    if any(spec.shape != node.output.shape for spec in inputs):
        raise node.rejected(f"inputs of the shapes {[list(spec.shape) for spec in inputs]} do not match")
    if kind == "ADD":
        coarsest = min(bits)
        rounding = rounding_of(node, coarsest + ALIGNED_BITS)
        return Sum(tuple(bit - coarsest for bit in bits), rounding, node.output.shape)
    if kind == "MUL":
        return _product(node)
    raise node.rejected(f"type {kind!r} is not supported; known: ADD, MUL")


def depthwise_fix(node: Node) -> Kernel:
    """Plan depthwise-fix."""
    if (kind := node.text("type")) != "MUL":
        raise node.rejected(f"type {kind!r} is not supported; known: MUL")
    return _product(node)


def _product(node: Node) -> Kernel:
    inputs = node.inputs()
    node.elementwise()
    rounding = rounding_of(node, sum(node.fix_point(spec) for spec in inputs))
    return Product(len(inputs), rounding, node.output.shape)


def hard_sigmoid_fix(node: Node) -> Kernel:
    """Plan hard-sigmoid-fix."""
    node.gives(node.input().shape)
    inside, shift = node.integer("hsigmoid_in"), node.integer("shift_hsigmoid")
    if inside not in SHIFTS or shift not in SHIFTS:
        raise node.rejected(f"hsigmoid_in {inside} or shift_hsigmoid {shift} is out of range")
    return HardSigmoid(3 * HARD_SIGMOID_SLOPE * 2.0**inside, shift, node.output.shape)
