"""Runs of operators that float32 provably computes exactly become ONNX Runtime sessions; the rest stays in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kv260_runtime.execute.backends import BackendUnavailable
from kv260_runtime.execute.backends.probe import sums_are_plain
from kv260_runtime.execute.backends.sessions import Session, open_session
from kv260_runtime.execute.kernels import FloatKernel, Kernel
from kv260_runtime.execute.onnx_graph import OnnxGraph, Value
from kv260_runtime.execute.plan import Plan, Step
from kv260_runtime.execute.specs import Array, TensorSpec, is_fixed
from kv260_runtime.execute.units import KernelUnit, Unit


class SessionUnit:
    """A piece of the plan as one ONNX Runtime session, int8 at its edges. Sessions may be run by several threads."""

    def __init__(self, session: Session, feeds: Mapping[str, str], outputs: tuple[str, ...]) -> None:
        """`feeds` maps tensors to the session's input names; its outputs are in the order of `outputs`."""
        self._session = session
        self._feeds = tuple(feeds.values())
        self.inputs = tuple(feeds)
        self.outputs = outputs

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Run the session."""
        return self._session.run(None, dict(zip(self._feeds, arrays, strict=True)))


def compile_plan(plan: Plan, threads: int) -> list[Unit]:
    """Group the steps and build one session for each group that float32 can compute."""
    if not sums_are_plain(threads):
        raise BackendUnavailable("this ONNX Runtime does not add plainly in float32, so it is of no use here")
    units: list[Unit] = []
    for steps, in_float in _groups(plan):
        if in_float:
            units.append(_session_unit(plan, steps, threads))
        else:
            units += [KernelUnit(step) for step in steps]
    return units


def _groups(plan: Plan) -> list[tuple[list[Step], bool]]:
    """Steps by (level, kind) in an order that respects their dependencies: the level rises where the kind changes."""
    integers = {name for name, spec in _specs(plan).items() if is_fixed(spec) and spec.dtype == "int8"}
    level: dict[str, int] = {}
    kind: dict[str, bool] = {}
    groups: dict[tuple[int, bool], list[Step]] = {}
    for step in plan.steps:
        in_float = {step.name, *step.inputs} <= integers and _is_exact(step.kernel)
        above = [(level[name] + (kind[name] != in_float)) for name in step.inputs if name in level]
        level[step.name], kind[step.name] = max(above, default=0), in_float
        groups.setdefault((level[step.name], in_float), []).append(step)
    return [(groups[key], key[1]) for key in sorted(groups)]


def _specs(plan: Plan) -> dict[str, TensorSpec]:
    return {**plan.inputs, **{step.name: step.output for step in plan.steps}}


def _is_exact(kernel: Kernel) -> bool:
    return isinstance(kernel, FloatKernel) and kernel.is_exact()


def _session_unit(plan: Plan, steps: list[Step], threads: int) -> SessionUnit:
    specs = _specs(plan)
    inside = {step.name for step in steps}
    inputs = list(dict.fromkeys(name for step in steps for name in step.inputs if name not in inside))
    read_outside = {name for step in plan.steps if step.name not in inside for name in step.inputs} | set(plan.outputs)
    outputs = tuple(step.name for step in steps if step.name in read_outside)
    onnx = OnnxGraph()
    feeds = {name: f"in{index}" for index, name in enumerate(inputs)}
    values: dict[str, Value] = {name: onnx.input(feed, specs[name]) for name, feed in feeds.items()}
    for step in steps:
        assert isinstance(step.kernel, FloatKernel)
        values[step.name] = step.kernel.emit(onnx, *(values[name] for name in step.inputs))
    for name in outputs:
        onnx.output(values[name])
    return SessionUnit(open_session(onnx.serialize(), threads), feeds, outputs)
