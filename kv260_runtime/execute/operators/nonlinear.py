"""The activation that a DPU operator carries with it, as part of its rounding."""

from __future__ import annotations

from kv260_runtime.execute.fixed import Rounding, Slope
from kv260_runtime.execute.node import Node

LEAKY_SLOPE = 26 / 256
"""What the quantiser forces (board.md section 7), where the operator does not state it."""

SHIFTS = range(-16, 33)
MOST_SLOPE_BITS = 16
"""Within these limits sums of up to 2 ** 40 stay far inside 64 bits."""


def rounding_of(node: Node, sum_bits: int) -> Rounding:
    """The rounding of a sum in units of 2 ** -sum_bits to the operator's output, through its `nonlinear`."""
    fix_point = node.fix_point(node.output)
    shift = sum_bits - fix_point
    if shift not in SHIFTS:
        raise node.rejected(f"fix points ask for a shift by {shift} bits")
    name = node.text("nonlinear", "NONE")
    if name in ("", "NONE"):
        return Rounding(shift)
    if name == "RELU":
        return Rounding(shift, low=0)
    if name == "RELU6":
        node.note("RELU6 follows the public model; no reference to compare with is known")
        return Rounding(shift, low=0, high=min(127, int(6 * 2.0**fix_point + 0.5)))
    if name == "LEAKYRELU":
        slope = Slope.of(node.numbers("LEAKYRELU_alpha", (LEAKY_SLOPE,))[0])
        if slope.bits > MOST_SLOPE_BITS:
            raise node.rejected(f"LEAKYRELU_alpha {slope.value} has {slope.bits} fraction bits")
        return Rounding(shift, slope=slope)
    raise node.rejected(f"activation {name!r} is not supported; known: NONE, RELU, RELU6, LEAKYRELU")
