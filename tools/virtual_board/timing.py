"""From an XModel to durations and traffic: what one execution costs on the emulated board.

A command of the compute unit takes the longer of its arithmetic at the fitted efficiency and its traffic at the ports'
rate. CPU subgraphs take a time per element; the host's own overhead depends on the boundary. A timing file replaces
all of this for the models it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kv260_runtime.xmodel import Graph, Subgraph, static_traffic
from virtual_board.constants import Constants
from virtual_board.errors import VirtualBoardError
from virtual_board.plan import Plan, Segment, segment_from_json

DATA_SLOTS = (3, 4)
"""The DPU's two data masters: HP0 and HP1 (board facts, 2.7)."""
INSTRUCTION_SLOT = 1
"""Its instruction port goes through HPC0 and the coherent interconnect."""

CONVERSIONS = frozenset({"fix2float", "float2fix", "fix"})
"""Number formats: their time lies in the host overhead, as C2fDeploy's three fix2float subgraphs lie in its 1.83 ms."""


def graph_plan(graph: Graph, boundary: str, constants: Constants, timing: Mapping[str, Any]) -> Plan:
    """One execution of the whole graph: host overhead, then each subgraph in order."""
    model = Path(graph.source).name
    if model in timing:
        return _timed(model, boundary, timing[model], None)
    segments = [Segment("host", constants.host_overhead_ns[boundary])]
    for subgraph in graph.subgraphs:
        if subgraph.device == "DPU":
            segments.append(dpu_segment(graph, subgraph, constants))
        elif subgraph.device == "CPU":
            segments.append(cpu_segment(graph, subgraph, constants))
    return Plan(model, boundary, tuple(segment for segment in segments if segment.duration_ns))


def subgraph_plan(
    graph: Graph, subgraph: Subgraph, boundary: str, constants: Constants, timing: Mapping[str, Any]
) -> Plan:
    """One execution of one DPU subgraph: host overhead, then its command."""
    model = Path(graph.source).name
    if model in timing:
        names = [child.name for child in graph.on_device("DPU")]
        return _timed(model, boundary, timing[model], names.index(subgraph.name))
    host = Segment("host", constants.host_overhead_ns[boundary])
    return Plan(model, boundary, (host, dpu_segment(graph, subgraph, constants)))


def dpu_segment(graph: Graph, subgraph: Subgraph, constants: Constants) -> Segment:
    """One command of the compute unit; its bytes are exactly the subgraph's static traffic."""
    traffic = static_traffic(graph, subgraph)
    moved: dict[str, int] = {}
    data = {"read": traffic.read_bytes - traffic.instruction_bytes, "write": traffic.write_bytes}
    for direction, size_bytes in data.items():
        for number, slot in enumerate(DATA_SLOTS):
            moved[f"{direction}.slot{slot}"] = (size_bytes + number) // len(DATA_SLOTS)
    if traffic.instruction_bytes:
        moved[f"read.slot{INSTRUCTION_SLOT}"] = traffic.instruction_bytes
    arithmetic_seconds = (subgraph.workload or 0) / (constants.efficiency * constants.peak_ops_per_second)
    traffic_seconds = max(moved.values()) / constants.port_bytes_per_second
    return Segment("dpu", round(max(arithmetic_seconds, traffic_seconds) * 1e9), moved)


def cpu_segment(graph: Graph, subgraph: Subgraph, constants: Constants) -> Segment:
    """One CPU subgraph: elements that its operators produce, conversions left out."""
    elements = sum(op.tensor.element_count for op in graph.ops_of(subgraph) if op.type not in CONVERSIONS)
    return Segment("cpu", round(elements * constants.cpu_ns_per_element))


def _timed(model: str, boundary: str, entry: Mapping[str, Any], index: int | None) -> Plan:
    """A plan from a timing file: all segments, or the `index`-th command alone. It never varies."""
    segments = [segment_from_json(segment, model) for segment in entry["segments"]]
    if index is not None:
        commands = [segment for segment in segments if segment.kind == "dpu"]
        if index >= len(commands):
            raise VirtualBoardError(f"timing: {model}: no dpu segment {index}, only {len(commands)}")
        segments = [commands[index]]
    host = Segment("host", entry.get("overhead_ns", 0))
    return Plan(model, boundary, (host, *segments) if host.duration_ns else tuple(segments), jitters=False)
