"""Between float and fixed point: fix2float, float2fix and fix."""

from __future__ import annotations

from dataclasses import dataclass

from kv260_runtime.accelerators.tensors import quantise
from kv260_runtime.execute.fixed import dequantise
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.specs import Array

FIX_POINTS = range(-64, 65)


@dataclass(frozen=True)
class FixedToFloat:
    """fix2float: x * 2^-fp."""

    fix_point: int

    def run(self, values: Array) -> Array:
        """float32; exact."""
        return dequantise(values, self.fix_point)


@dataclass(frozen=True)
class FloatToFixed:
    """float2fix: r(x * 2^fp)."""

    fix_point: int
    dtype: str

    def run(self, values: Array) -> Array:
        """int8, or uint8 where the file says unsigned."""
        return quantise(values, self.fix_point, self.dtype)


@dataclass(frozen=True)
class Fix:
    """fix: r(x * 2^fp) * 2^-fp, still float32."""

    fix_point: int
    dtype: str

    def run(self, values: Array) -> Array:
        """float32 values of a grid."""
        return dequantise(quantise(values, self.fix_point, self.dtype), self.fix_point)


def fix2float(node: Node) -> Kernel:
    """Plan fix2float."""
    node.gives(node.input().shape)
    return FixedToFloat(_fix_point(node))


def float2fix(node: Node) -> Kernel:
    """Plan float2fix."""
    return FloatToFixed(_fix_point(node), _checked_type(node))


def fix(node: Node) -> Kernel:
    """Plan fix."""
    return Fix(_fix_point(node), _checked_type(node))


def _fix_point(node: Node) -> int:
    fix_point = node.integer("fix_point")
    if fix_point not in FIX_POINTS:
        raise node.rejected(f"fix_point {fix_point} is out of range")
    return fix_point


def _checked_type(node: Node) -> str:
    node.gives(node.input().shape)
    bits, mode = node.integer("bit_width"), node.text("round_mode", "DPU_ROUND")
    if bits not in (8, 16, 32) or not node.flag("if_signed", True):
        raise node.rejected(f"bit_width {bits} or if_signed is not supported; known: 8, 16, 32 signed bits")
    if mode != "DPU_ROUND":
        raise node.rejected(f"round_mode {mode!r} is not supported; known: DPU_ROUND")
    return f"int{bits}"
