"""What plays executions on the board for runners and for xdputil, and aborts as the vendor's runtime does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from virtual_board import glog
from virtual_board.client import CommandFailed, Connection
from virtual_board.constants import Constants
from virtual_board.plan import Plan
from virtual_board.timing import graph_plan, subgraph_plan
from virtual_board.xir_api import Graph, Subgraph

REGISTERS = ("LSTART", "LEND", "CSTART", "CEND", "SSTART", "SEND", "MSTART", "MEND")


class Player:
    """A connection and the plan it plays on it."""

    def __init__(self, plan_of: Callable[[Constants, Mapping[str, Any]], Plan]) -> None:
        self._connection = Connection()
        self.welcome = self._connection.welcome
        self.plan: Plan = plan_of(Constants.from_json(self.welcome["constants"]), self.welcome["timing"])
        self._number = self._connection.add_plan(self.plan)

    def play(self) -> None:
        """One execution; aborts the process if a command did not complete."""
        try:
            answer = self._connection.execute(self._number)
        except CommandFailed as error:
            _abort_on(str(error))
        glog.set_wall_step(answer["wall_step_ns"])


def graph_player(graph: Graph, boundary: str) -> Player:
    """A player of the whole graph; aborts if the model was compiled for another DPU than the board's."""
    player = Player(partial(graph_plan, graph.model, boundary))
    for child in graph.get_root_subgraph().toposort_child_subgraph():
        if child.model.device == "DPU":
            _check_fingerprint(child, player.welcome["fingerprint"])
    return player


def subgraph_player(subgraph: Subgraph, boundary: str) -> Player:
    """A player of one DPU subgraph; aborts if it is none, or compiled for another DPU."""
    if subgraph.model.device != "DPU":
        glog.fatal("runner.cpp:62", f"Check failed: subgraph {subgraph.get_name()} has no runner for the DPU")
    player = Player(partial(subgraph_plan, subgraph.graph.model, subgraph.model, boundary))
    _check_fingerprint(subgraph, player.welcome["fingerprint"])
    return player


def _check_fingerprint(subgraph: Subgraph, loaded: int) -> None:
    model = subgraph.get_attr("dpu_fingerprint") if subgraph.has_attr("dpu_fingerprint") else 0
    if not model or model == loaded:
        return
    source = "dpu_runner_base_imp.cpp:733"
    glog.log(
        "W",
        source,
        f"CHECK fingerprint fail! model_fingerprint {model:#x} is un-matched with actual dpu_fingerprint "
        f"{loaded:#x}. Please re-compile xmodel with dpu_fingerprint {loaded:#x} and try again.",
    )
    if os.environ.get("XLNX_ENABLE_FINGERPRINT_CHECK", "1") != "0":
        glog.fatal(source, "fingerprint check failure.")


def _abort_on(why: str) -> None:
    source = "dpu_control_xrt_edge.cpp:204"
    if why == "timeout":
        glog.log("W", "xrt_cu.cpp:213", "cu timeout! cu_idx 0 handle 0xaaaaf0c1c9e0 ENV_PARAM(XLNX_DPU_TIMEOUT) ")
        registers = "".join(f" {name} 0" for name in REGISTERS)
        glog.fatal(source, f"dpu timeout! core_idx = 0\n{registers} CYCLE_L 0 CYCLE_H 0")
    glog.fatal(source, f"Check failed: command state is {why}: the compute unit does not execute")
