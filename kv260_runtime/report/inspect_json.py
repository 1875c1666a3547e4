"""`kvbench inspect --json` (schema: docs/schemas/inspect.schema.json)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kv260_runtime.xmodel import Attributes, Graph, Op, Tensor, Traffic
from kv260_runtime.xmodel.advice import advice_between, advice_on
from kv260_runtime.xmodel.facts import DDR_BYTES_PER_SECOND, ModelFacts, SubgraphFacts, TensorFacts
from kv260_runtime.xmodel.operators import DEFAULTS

SCHEMA_VERSION = 1
"""1: first version."""

Json = dict[str, Any]


def render(models: Sequence[tuple[Graph, ModelFacts]], subgraph: int | None = None, with_ops: bool = False) -> str:
    """The facts of all files; `subgraph` keeps one of each, `with_ops` adds the attributes of operators and tensors."""
    return json.dumps(as_json(models, subgraph, with_ops), indent=2, ensure_ascii=False, allow_nan=False)


def as_json(models: Sequence[tuple[Graph, ModelFacts]], subgraph: int | None, with_ops: bool) -> Json:
    """The same before it is text."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "kvbench inspect",
        "models": [_model(graph, facts, subgraph, with_ops) for graph, facts in models],
        "warnings": [asdict(advice) for advice in advice_between([facts for _, facts in models])],
    }


def _model(graph: Graph, facts: ModelFacts, subgraph: int | None, with_ops: bool) -> Json:
    shown = [part for part in facts.subgraphs if subgraph in (None, part.index)]
    placed = {name for part in graph.subgraphs for name in part.all_op_names()}
    memories = [asdict(part.memory) for part in facts.subgraphs if part.memory]
    bounds = [asdict(part.bound) | {"seconds": part.bound.seconds} for part in facts.subgraphs if part.bound]
    assumed = {"clock_hz": facts.clock_hz, "ddr_bytes_per_second": DDR_BYTES_PER_SECOND}
    return {
        "file": facts.source,
        "graph": facts.name,
        "form": facts.form,
        "compiled": graph.is_compiled,
        "target": facts.target,
        "fingerprint": None if facts.fingerprint is None else f"{facts.fingerprint:#x}",
        "rejection": facts.rejection,
        "compiler": facts.compiler,
        "libraries": facts.libraries,
        "attributes": _attributes(graph.attrs),
        "root_attributes": _attributes(graph.root.attrs),
        "inputs": [_edge(tensor) for tensor in facts.inputs],
        "outputs": [_edge(tensor) for tensor in facts.outputs],
        "operator_counts": facts.operator_counts,
        "operator_counts_by_device": facts.operator_counts_by_device,
        "constant_bytes": facts.constant_bytes,
        "table5": asdict(facts.table5) | {"total_cpu_operations": facts.table5.total_cpu_operations},
        "memory": _sums(memories) or None,
        "traffic": _traffic([part.traffic for part in facts.subgraphs if part.traffic]),
        "lower_bound": _sums(bounds) | assumed if bounds else None,
        "subgraphs": [_subgraph(graph, part, with_ops) for part in shown],
        "operators": [_op(op, with_ops) for op in graph.ops if op.name not in placed] if subgraph is None else [],
        "warnings": [asdict(advice) for advice in advice_on(facts)],
    }


def _subgraph(graph: Graph, facts: SubgraphFacts, with_ops: bool) -> Json:
    node = graph.subgraphs[facts.index]
    bound = facts.bound
    return {
        "index": facts.index,
        "name": facts.name,
        "device": facts.device,
        "operator_counts": facts.operator_counts,
        "operators": [_op(op, with_ops) for op in graph.ops_of(node)],
        "workload_ops": facts.workload_ops,
        "superlayers": [_superlayer(child.name, child.attrs, child.all_op_names()) for child in node.children],
        "inputs": [_edge(tensor) for tensor in facts.inputs],
        "outputs": [_edge(tensor) for tensor in facts.outputs],
        "memory": asdict(facts.memory) if facts.memory else None,
        "traffic": _traffic([facts.traffic] if facts.traffic else []),
        "lower_bound": asdict(bound) | {"seconds": bound.seconds} if bound else None,
        "attributes": _attributes(node.attrs),
    }


def _superlayer(name: str, attrs: Attributes, operators: list[str]) -> Json:
    return {"name": name, "operators": operators, "workload_ops": attrs.get("workload")}


def _op(op: Op, with_attributes: bool) -> Json:
    shown: Json = {"name": op.name, "type": op.type, "inputs": op.args, "tensor": _tensor(op.tensor)}
    if with_attributes:
        defaults = {key: value for key, value in DEFAULTS.get(op.type, {}).items() if key not in op.attrs}
        shown["attributes"] = _attributes(op.attrs) | defaults
        shown["defaults"] = sorted(defaults)
        shown["tensor"]["attributes"] = _attributes(op.tensor.attrs)
    return shown


def _tensor(tensor: Tensor) -> Json:
    return {"name": tensor.name, "shape": tensor.shape, "dtype": tensor.dtype, "fix_point": tensor.fix_point}


def _edge(tensor: TensorFacts) -> Json:
    return asdict(tensor) | {"scale": tensor.scale}


def _sums(parts: Sequence[Mapping[str, float]]) -> Json:
    return {key: sum(part[key] for part in parts) for key in parts[0]} if parts else {}


def _traffic(parts: Iterable[Traffic]) -> Json | None:
    """Sums over subgraphs, estimated if one of them is; None without any."""
    listed = [asdict(part) | {"total_bytes": part.total_bytes} for part in parts]
    if not listed:
        return None
    estimated = any(part.pop("estimated") for part in listed)
    return _sums(listed) | {"estimated": estimated}


def _attributes(attrs: Attributes) -> Json:
    return {key: _plain(attrs[key]) for key in sorted(attrs)}


def _plain(value: object) -> object:
    """A value as JSON: byte strings by length and digest, floats that JSON lacks by their name."""
    if isinstance(value, (bytes, memoryview)):
        return {"bytes": len(value), "sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
