"""Durations and traffic of models, and that the constants follow from their anchors and predict what was not fitted."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.xmodel import Graph, read_xmodel, static_traffic
from virtual_board.constants import HOST_OVERHEAD_NS, Constants
from virtual_board.models import demo_graph
from virtual_board.plan import Plan
from virtual_board.timing import CONVERSIONS, graph_plan, subgraph_plan

NOMINAL = Constants()
CU_SECONDS, DEPLOY_SECONDS, ORIGINAL_SECONDS = 18.53e-3, 1 / 49.13, 1938.7e-3
"""C2fDeploy's CU time (rules) and the periods of both graphs (paper, Table 6)."""


@pytest.fixture(scope="module")
def fragmented() -> Graph:
    return demo_graph(split_offline=False)


@pytest.fixture(scope="module")
def consolidated() -> Graph:
    return demo_graph(split_offline=True)


def seconds(plan: Plan, *kinds: str) -> float:
    return sum(segment.duration_ns for segment in plan.segments if segment.kind in kinds) * 1e-9


def mean_watts(plan: Plan) -> float:
    dpu, cores = seconds(plan, "dpu"), seconds(plan, "host", "cpu")
    above_idle = NOMINAL.dpu_watts * dpu + NOMINAL.core_watts * cores
    return NOMINAL.idle_watts + above_idle / (plan.duration_ns * 1e-9)


def test_the_consolidated_model_predicts_throughput_and_power_of_c2fdeploy(consolidated: Graph) -> None:
    plan = graph_plan(consolidated, "xdputil", NOMINAL, {})
    assert 1e9 / plan.duration_ns == pytest.approx(49.13, rel=0.01)
    assert mean_watts(plan) == pytest.approx(8.735, rel=0.01)


def test_the_fragmented_model_predicts_period_and_power_of_the_original(fragmented: Graph) -> None:
    plan = graph_plan(fragmented, "xdputil", NOMINAL, {})
    assert plan.duration_ns * 1e-9 == pytest.approx(ORIGINAL_SECONDS, rel=0.001)
    assert mean_watts(plan) == pytest.approx(5.087, rel=0.01)


def test_the_original_is_busy_for_a_physical_share_of_time(fragmented: Graph) -> None:
    """Rules: 0.96 %, not the paper's 0.3562 % which contradicts its own arithmetic."""
    plan = graph_plan(fragmented, "xdputil", NOMINAL, {})
    assert seconds(plan, "dpu") / (plan.duration_ns * 1e-9) == pytest.approx(0.0096, rel=0.01)
    assert len([segment for segment in plan.segments if segment.kind == "dpu"]) == 9


def test_the_time_per_element_follows_from_the_fragmented_model(fragmented: Graph) -> None:
    ops = [op for subgraph in fragmented.on_device("CPU") for op in fragmented.ops_of(subgraph)]
    elements = sum(op.tensor.element_count for op in ops if op.type not in CONVERSIONS)
    rest_ns = ORIGINAL_SECONDS * 1e9 - HOST_OVERHEAD_NS["xdputil"] - CU_SECONDS * 1e9
    assert rest_ns / elements == pytest.approx(NOMINAL.cpu_ns_per_element, rel=1e-6)


def test_dpu_and_core_power_solve_the_papers_two_equations() -> None:
    busy = np.array([CU_SECONDS / DEPLOY_SECONDS, CU_SECONDS / ORIGINAL_SECONDS])
    above_idle = np.array([8.735, 5.087]) - NOMINAL.idle_watts
    dpu_watts, core_watts = np.linalg.solve(np.stack([busy, 1 - busy], axis=1), above_idle)
    assert dpu_watts == pytest.approx(NOMINAL.dpu_watts, abs=0.002)
    assert core_watts == pytest.approx(NOMINAL.core_watts, abs=0.002)


def test_the_efficiency_gives_the_cu_time_of_its_anchor() -> None:
    assert 18.2e9 / (NOMINAL.efficiency * NOMINAL.peak_ops_per_second) == pytest.approx(CU_SECONDS)
    assert 0.7 < NOMINAL.efficiency < 0.9


def test_scaling_cu_time_by_workload_predicts_deploy_n_through_vart() -> None:
    """deploy-n-512: YOLOv8n's public 8.1 GOP at 640 scaled to 512; measured 7.857 ms (paper, Table 9)."""
    workload = 8.1e9 * (512 / 640) ** 2
    predicted = workload / (NOMINAL.efficiency * NOMINAL.peak_ops_per_second) + HOST_OVERHEAD_NS["vart"] * 1e-9
    assert predicted == pytest.approx(7.857e-3, rel=0.05)
    assert 7.857e-3 / (21.486e-3 * workload / 18.2e9) > 1.2  # scaling the whole period is far too low


def test_vart_and_graph_boundaries_give_the_papers_latencies(consolidated: Graph) -> None:
    """21.486 ms for deploy-s in the VART loop (Table 9), 20.636 ms through GraphRunner (Table 10)."""
    dpu = consolidated.on_device("DPU")[0]
    vart = subgraph_plan(consolidated, dpu, "vart", NOMINAL, {})
    graph = graph_plan(consolidated, "graph", NOMINAL, {})
    assert vart.duration_ns * 1e-6 == pytest.approx(21.486, rel=0.01)
    assert graph.duration_ns * 1e-6 == pytest.approx(20.636, rel=0.01)


@pytest.mark.shared
def test_traffic_of_real_files_is_the_decoded_traffic_byte_for_byte(shared_dir: Path) -> None:
    with (shared_dir / "xmodels/static_traffic.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        graph = read_xmodel(shared_dir / "xmodels" / row["file"])
        subgraph = graph.on_device("DPU")[int(row["dpu_subgraph"])]
        moved = subgraph_plan(graph, subgraph, "vart", NOMINAL, {}).segments[-1].moved_bytes
        data = {
            way: sum(size for name, size in moved.items() if name in (f"{way}.slot3", f"{way}.slot4"))
            for way in ("read", "write")
        }
        assert data["read"] == sum(int(row[f"load_{kind}_bytes"]) for kind in ("const", "interface", "workspace"))
        assert data["write"] == sum(int(row[f"save_{kind}_bytes"]) for kind in ("workspace", "interface"))
        assert moved["read.slot1"] == static_traffic(graph, subgraph).instruction_bytes
        assert sum(moved.values()) == static_traffic(graph, subgraph).total_bytes


@pytest.mark.shared
def test_a_subgraph_whose_traffic_outlasts_its_arithmetic_takes_the_ports_time(shared_dir: Path) -> None:
    graph = read_xmodel(shared_dir / "xmodels/mnist_mlp_b4096.xmodel")
    segment = subgraph_plan(graph, graph.on_device("DPU")[0], "vart", NOMINAL, {}).segments[-1]
    assert segment.duration_ns == pytest.approx(max(segment.moved_bytes.values()) / 4.8e9 * 1e9, abs=1)


def test_a_timing_file_replaces_everything_and_never_varies(consolidated: Graph) -> None:
    consolidated.source = "/somewhere/demo.xmodel"
    segments = [
        {"kind": "dpu", "duration_ns": 5, "moved_bytes": {"read.slot3": 9}, "watts": 1.5},
        {"kind": "cpu", "duration_ns": 6},
        {"kind": "dpu", "duration_ns": 7},
    ]
    timing = {"demo.xmodel": {"overhead_ns": 3, "segments": segments}}
    plan = graph_plan(consolidated, "graph", NOMINAL, timing)
    assert [(s.kind, s.duration_ns) for s in plan.segments] == [("host", 3), ("dpu", 5), ("cpu", 6), ("dpu", 7)]
    assert not plan.jitters
    single = subgraph_plan(consolidated, consolidated.on_device("DPU")[0], "vart", NOMINAL, timing)
    assert [(s.kind, s.duration_ns, s.watts) for s in single.segments] == [("host", 3, None), ("dpu", 5, 1.5)]
    assert Plan.from_json(plan.to_json()) == plan


def test_drawn_constants_differ_by_at_most_the_share_and_repeat_with_the_seed() -> None:
    drawn = NOMINAL.drawn(7, 0.1)
    assert drawn == NOMINAL.drawn(7, 0.1) != NOMINAL.drawn(8, 0.1)
    for name in ("efficiency", "cpu_ns_per_element", "idle_watts", "dpu_watts", "core_watts"):
        ratio = getattr(drawn, name) / getattr(NOMINAL, name)
        assert 0.9 <= ratio <= 1.1
        assert ratio != 1
    assert NOMINAL.drawn(7, 0.0) == NOMINAL
    assert Constants.from_json(drawn.to_json()) == drawn
