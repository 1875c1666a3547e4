"""`kvbench inspect` for a terminal: one paragraph a file, then the files side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kv260_runtime.errors import printable
from kv260_runtime.report.columns import aligned, quantity
from kv260_runtime.xmodel import Graph, Op, Traffic
from kv260_runtime.xmodel.advice import Advice, advice_between, advice_on
from kv260_runtime.xmodel.facts import DDR_BYTES_PER_SECOND, ModelFacts, SubgraphFacts, TensorFacts

DEVICES = ("USER", "DPU", "CPU")
SPLIT_OPERATIONS = ("strided_slice", "float2fix", "fix2float")
"""CPU operations that Table 5 of c2fdeploy.txt names; they get a row even where there are none."""


def render(models: Sequence[tuple[Graph, ModelFacts]], subgraph: int | None = None, with_ops: bool = False) -> str:
    """All files; `subgraph` shows one of each in detail, `with_ops` lists operators."""
    parts = []
    for graph, facts in models:
        lines = _detail(graph, facts.subgraphs[subgraph]) if subgraph is not None else _model(facts)
        parts.append("\n".join([printable(facts.source), *(f"  {line}".rstrip() for line in lines)]))
        if with_ops:
            parts.append("\n".join(f"  {line}" for line in _operators(graph, subgraph)))
    if subgraph is None:
        parts.append("\n".join(_side_by_side([facts for _, facts in models])))
    between = [*_advice(advice_between([facts for _, facts in models]))]
    return "\n\n".join([*parts, *between]) + "\n"


def _model(facts: ModelFacts) -> Iterator[str]:
    libraries = ", ".join(key.partition(" : ")[2] or key for key in facts.libraries)
    rows = [
        ["graph", f"{facts.name}, {facts.form}"],
        ["target", f"{facts.target}, fingerprint {_hex(facts.fingerprint)}" if facts.target else "none"],
        ["compiler", f"{facts.compiler or 'not stated'}{f' ({libraries})' if libraries else ''}"],
        *(["input", _tensor(tensor)] for tensor in facts.inputs),
        *(["output", _tensor(tensor)] for tensor in facts.outputs),
        ["operators", _counts(facts.operator_counts)],
    ]
    yield from aligned(rows)
    if facts.subgraphs:
        yield ""
        yield from _subgraphs(facts)
    yield ""
    yield from aligned(list(_costs(facts)))
    yield from _advice(advice_on(facts))


def _subgraphs(facts: ModelFacts) -> Iterator[str]:
    head = ["subgraph", "device", "operators", "workload", "DDR traffic", "inputs", "outputs"]
    rows = [
        [
            str(part.index),
            part.device or "-",
            _counts({k: v for k, v in part.operator_counts.items() if not k.startswith("const")}, most=3),
            quantity(part.workload_ops, "OP") if part.workload_ops else "-",
            _mark(part.traffic, quantity(part.traffic.total_bytes, "B")) if part.traffic else "-",
            " ".join(_shape(tensor) for tensor in part.inputs) or "-",
            " ".join(_shape(tensor) for tensor in part.outputs) or "-",
        ]
        for part in facts.subgraphs
    ]
    yield from aligned([head, *rows])


def _costs(facts: ModelFacts) -> Iterator[list[str]]:
    memories = [part.memory for part in facts.subgraphs if part.memory]
    if not memories:
        yield ["constants", quantity(facts.constant_bytes, "B")]
    else:
        named = {
            "weights": sum(part.weights_bytes for part in memories),
            "workspace": sum(part.workspace_bytes for part in memories),
            "inputs and outputs": sum(part.interface_bytes for part in memories),
            "instructions": sum(part.instruction_bytes for part in memories),
        }
        yield ["memory", _named(named)]
    for label, line in _traffic_rows([part.traffic for part in facts.subgraphs if part.traffic]):
        yield [label, line]
    bounds = [part.bound for part in facts.subgraphs if part.bound]
    if bounds:
        compute = sum(bound.compute_seconds for bound in bounds) * 1e3
        memory = sum(bound.memory_seconds for bound in bounds) * 1e3
        least = sum(bound.seconds for bound in bounds) * 1e3
        rates = f"{facts.clock_hz / 1e6:g} MHz", f"{DDR_BYTES_PER_SECOND / 1e9:g} GB/s"
        parts = f"computing {compute:.3f} ms at {rates[0]}, moving {memory:.3f} ms at {rates[1]}"
        yield ["DPU time", f"at least {least:.3f} ms an execution: {parts}"]


def _traffic_rows(parts: Sequence[Traffic]) -> Iterator[tuple[str, str]]:
    if not parts:
        return
    loads = {
        "constants": sum(part.load_const_bytes for part in parts),
        "inputs": sum(part.load_interface_bytes for part in parts),
        "workspace": sum(part.load_workspace_bytes for part in parts),
        "instructions": sum(part.instruction_bytes for part in parts),
    }
    saves = {
        "outputs": sum(part.save_interface_bytes for part in parts),
        "workspace": sum(part.save_workspace_bytes for part in parts),
    }
    note = " (estimated from tensor sizes)" if any(part.estimated for part in parts) else ""
    yield "DDR reads", _listed(loads) + note
    yield "DDR writes", _listed(saves) + note


def _listed(sizes: dict[str, int]) -> str:
    return f"{quantity(sum(sizes.values()), 'B')} an execution: {_named(sizes)}"


def _named(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} {quantity(size, 'B')}" for name, size in sizes.items() if size) or "none"


def _side_by_side(models: Sequence[ModelFacts]) -> Iterator[str]:
    """Table 5 of c2fdeploy.txt: subgraphs and operations are counted apart."""
    yield "Partition (subgraphs hold operations; the two are different counts)"
    tables = [facts.table5 for facts in models]
    kinds = dict.fromkeys([*SPLIT_OPERATIONS, *(kind for table in tables for kind in table.cpu_operations)])
    rows = [["", *(facts.source.rpartition("/")[2] for facts in models)]]
    rows.append(["total top-level subgraphs", *(str(table.subgraphs) for table in tables)])
    rows += [
        [f"{device} subgraphs", *(str(table.subgraphs_by_device.get(device, 0)) for table in tables)]
        for device in DEVICES
    ]
    rows += [
        [f"CPU {kind} operations", *(str(table.cpu_operations.get(kind, 0)) for table in tables)] for kind in kinds
    ]
    rows.append(["total CPU-assigned operations", *(str(table.total_cpu_operations) for table in tables)])
    yield from (f"  {line}" for line in aligned(rows))


def _detail(graph: Graph, facts: SubgraphFacts) -> Iterator[str]:
    node = graph.subgraphs[facts.index]
    rows = [
        [f"subgraph {facts.index}", facts.name],
        ["device", facts.device or "none"],
        ["operators", _counts(facts.operator_counts)],
        ["workload", f"{facts.workload_ops:,} operations" if facts.workload_ops is not None else "not stated"],
        *(["input", _tensor(tensor)] for tensor in facts.inputs),
        *(["output", _tensor(tensor)] for tensor in facts.outputs),
    ]
    rows += [[label, line] for label, line in _traffic_rows([facts.traffic] if facts.traffic else [])]
    sizes = node.attrs.get("reg_id_to_size")
    contexts = node.attrs.get("reg_id_to_context_type_v2") or node.attrs.get("reg_id_to_context_type")
    if isinstance(sizes, dict) and isinstance(contexts, dict):
        rows += [[name, f"{contexts.get(name, '-'):<10}{sizes[name]:>12,} bytes"] for name in sorted(sizes)]
    yield from aligned(rows)
    if node.children:
        yield ""
        head = ["superlayer", "workload", "operators"]
        layers = [[child.name, str(child.workload or 0), str(len(child.all_op_names()))] for child in node.children]
        yield from aligned([head, *layers])


def _operators(graph: Graph, subgraph: int | None) -> Iterator[str]:
    ops = graph.ops if subgraph is None else graph.ops_of(graph.subgraphs[subgraph])
    devices = {name: part.device or "-" for part in graph.subgraphs for name in part.all_op_names()}
    head = ["operator", "type", "device", "shape", "dtype", "fix point"]
    yield from aligned([head, *(_operator(op, devices) for op in ops)])


def _operator(op: Op, devices: dict[str, str]) -> list[str]:
    tensor, fix_point = op.tensor, op.tensor.fix_point
    shape, scale = "x".join(map(str, tensor.shape)), "-" if fix_point is None else str(fix_point)
    return [op.name, op.type, devices.get(op.name, "-"), shape, tensor.dtype, scale]


def _advice(found: Sequence[Advice]) -> Iterator[str]:
    yield from (f"! {advice.code}: {advice.text}" for advice in found)


def _tensor(tensor: TensorFacts) -> str:
    scale = f", fix point {tensor.fix_point}: one step is {tensor.scale:g}" if tensor.scale is not None else ""
    return f"{tensor.name}  {_shape(tensor)} {tensor.dtype}{scale}"


def _shape(tensor: TensorFacts) -> str:
    return "x".join(map(str, tensor.shape)) or "scalar"


def _counts(counts: dict[str, int], most: int = 12) -> str:
    listed = [f"{count} {kind}" for kind, count in list(counts.items())[:most]]
    left = sum(list(counts.values())[most:])
    return ", ".join([*listed, f"{left} more"] if left else listed)


def _mark(traffic: Traffic, text: str) -> str:
    return f"~{text}" if traffic.estimated else text


def _hex(fingerprint: int | None) -> str:
    return "none" if fingerprint is None else f"{fingerprint:#x}"
