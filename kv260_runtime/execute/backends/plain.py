"""Every operator by its own numpy kernel, one after the other; `threads` is left to the BLAS behind numpy."""

from __future__ import annotations

from kv260_runtime.execute.plan import Plan
from kv260_runtime.execute.units import KernelUnit, Unit


def compile_plan(plan: Plan, threads: int) -> list[Unit]:  # noqa: ARG001 - the signature of all backends
    """One unit a step."""
    return [KernelUnit(step) for step in plan.steps]
