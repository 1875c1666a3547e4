"""From an XModel to a plan: every operator a kernel, every constant unpacked, all shapes and rules checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute.constants import CONSTANT_TYPES, Constants
from kv260_runtime.execute.kernels import Kernel
from kv260_runtime.execute.node import Node
from kv260_runtime.execute.operators import is_known, planner_of, registered
from kv260_runtime.execute.operators.custom import Custom
from kv260_runtime.execute.specs import Array, TensorSpec, spec_of
from kv260_runtime.xmodel import Graph, Op, Subgraph

SOURCE_TYPES = frozenset({"data", "data-fix", "placeholder"})

SUPPORTED_TARGET = "DPUCZDX8G"


@dataclass(frozen=True)
class Step:
    """One operator of the plan. Tensors are known by the name of the operator that makes them."""

    name: str
    kernel: Kernel
    inputs: tuple[str, ...]
    output: TensorSpec


@dataclass(frozen=True)
class Plan:
    """What is to be computed, in order, and nothing that no output needs."""

    source: str
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    """Including the tensors kept beside the outputs proper."""
    steps: tuple[Step, ...]
    constants: Mapping[str, Array]
    """Constants that steps read while running."""
    notes: tuple[str, ...] = field(default=())


def make_plan(
    graph: Graph,
    subgraph: Subgraph | None = None,
    keep: Iterable[str] = (),
    accumulator: type[np.generic] = np.int64,
) -> Plan:
    """Plan a subgraph, or the whole graph; `keep` names tensors to hand out besides the outputs.

    Raises ModelRejected for another target, unknown operators (all of them, by type), operators whose attributes or
    tensors do not fit the rules, and names in `keep` that are no tensor of it.
    """
    ops = graph.ops if subgraph is None else graph.ops_of(subgraph)
    _check_target(graph)
    _check_types(graph, ops)
    builder = _Builder(graph, {op.name for op in ops}, accumulator)
    for op in ops:
        builder.add(op)
    return builder.finish(_output_names(graph, subgraph, ops), _kept_names(graph, ops, keep))


def computed_tensors(graph: Graph, subgraph: Subgraph | None = None) -> list[str]:
    """Names of all tensors that depend on an input, in topological order: what `keep` may name."""
    fixed: set[str] = set()
    names = []
    for op in graph.ops if subgraph is None else graph.ops_of(subgraph):
        producers = list(op.producers())
        if op.type in CONSTANT_TYPES or (producers and fixed.issuperset(producers)):
            fixed.add(op.name)
        elif op.type not in SOURCE_TYPES:
            names.append(op.tensor.name)
    return names


def _check_target(graph: Graph) -> None:
    target = graph.target
    if target is not None and not target.startswith(SUPPORTED_TARGET):
        raise ModelRejected(
            f"{graph.source}: is compiled for {target!r}; only {SUPPORTED_TARGET}, whose weights are in plain order, "
            "and quantised files can be executed"
        )
    if target is None and graph.on_device("DPU"):
        raise ModelRejected(f"{graph.source}: its DPU subgraphs name no target; only {SUPPORTED_TARGET} is known here")


def _check_types(graph: Graph, ops: list[Op]) -> None:
    computed = [op for op in ops if op.type not in CONSTANT_TYPES | SOURCE_TYPES]
    unknown = Counter(op.type for op in computed if not is_known(op.type))
    if unknown:
        listed = ", ".join(f"{op_type!r} ({count})" for op_type, count in sorted(unknown.items()))
        raise ModelRejected(
            f"{graph.source}: operator types that cannot be executed: {listed}; register_operator adds a type"
        )
    if not computed:
        raise ModelRejected(f"{graph.source}: holds no operator to execute; its instructions are for another overlay")


def _output_names(graph: Graph, subgraph: Subgraph | None, ops: list[Op]) -> list[str]:
    if subgraph is not None:
        wanted = {tensor.name for tensor in graph.output_tensors(subgraph)}
        names = [op.name for op in ops if op.tensor.name in wanted]
    else:
        read = {name for op in ops for name in op.producers()}
        names = [op.name for op in ops if op.name not in read and op.type not in CONSTANT_TYPES | SOURCE_TYPES]
    return sorted(names, key=lambda name: graph.op(name).tensor.name)


def _kept_names(graph: Graph, ops: list[Op], keep: Iterable[str]) -> list[str]:
    by_tensor = {op.tensor.name: op.name for op in ops if op.type not in CONSTANT_TYPES}
    names = []
    for tensor in keep:
        if tensor not in by_tensor:
            near = get_close_matches(tensor, by_tensor, 1, 0.4)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ModelRejected(f"{graph.source}: has no tensor {tensor!r}{hint}")
        names.append(by_tensor[tensor])
    return names


class _Builder:
    def __init__(self, graph: Graph, inside: set[str], accumulator: type[np.generic]) -> None:
        self._graph = graph
        self._inside = inside
        self._accumulator = accumulator
        self._reader = Constants(graph)
        self._specs: dict[str, TensorSpec] = {}
        self._inputs: dict[str, TensorSpec] = {}
        self._constants: dict[str, Array] = {}
        self._steps: list[Step] = []
        self._notes: list[str] = []

    def add(self, op: Op) -> None:
        """Add the next operator in topological order, and what it reads from outside."""
        for name in op.producers():
            if name not in self._inside and name not in self._specs:
                self._leaf(self._graph.op(name))
        if op.type in CONSTANT_TYPES | SOURCE_TYPES:
            self._leaf(op)
            return
        spec = self._specs[op.name] = spec_of(op.tensor, self._graph.source)
        node = Node(op, spec, self._specs, self._constants, self._accumulator, self._graph.source, self._notes)
        kernel = self._kernel(node)
        if all(name in self._constants for name in node.reads):
            self._know(op.name, kernel.run(*(self._constants[name] for name in node.reads)))
        else:
            self._steps.append(Step(op.name, kernel, tuple(node.reads), spec))

    def _leaf(self, op: Op) -> None:
        self._specs[op.name] = spec_of(op.tensor, self._graph.source)
        if op.type in CONSTANT_TYPES:
            self._know(op.name, self._reader.load(op))
        else:
            self._inputs[op.name] = self._specs[op.name]

    def _know(self, name: str, values: Array) -> None:
        values = values.view()
        values.flags.writeable = False
        self._constants[name] = values

    def _kernel(self, node: Node) -> Kernel:
        op = node.op
        function = registered(op.type)
        if function is None:
            return planner_of(op.type)(node)
        node.reads = list(op.producers())
        return Custom(function, op.name, op.attrs, node.output)

    def finish(self, outputs: list[str], kept: list[str]) -> Plan:
        """Drop what no output needs."""
        names = list(dict.fromkeys([*outputs, *kept]))
        needed = set(names)
        steps = []
        for step in reversed(self._steps):
            if step.name in needed:
                steps.append(step)
                needed.update(step.inputs)
        inputs = sorted(self._inputs, key=lambda name: self._specs[name].name)
        return Plan(
            source=self._graph.source,
            inputs={name: self._specs[name] for name in inputs},
            outputs={name: self._specs[name] for name in names},
            steps=tuple(reversed(steps)),
            constants={name: self._constants[name] for name in self._constants if name in needed},
            notes=tuple(self._notes),
        )
