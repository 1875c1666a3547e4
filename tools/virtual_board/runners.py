"""The vendor's runners (board facts, 5.2, 5.3 and 8): they play executions on the board and abort as the real ones do.

Values of output tensors do not exist (see arithmetic), so a TensorBuffer refuses to hand them out, and arrays that a
caller passes to `Runner.execute_async` stay as they are, which is said once on standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from virtual_board import glog
from virtual_board.arithmetic import refuse
from virtual_board.client import CommandFailed, Connection
from virtual_board.constants import Constants
from virtual_board.plan import Plan
from virtual_board.timing import graph_plan, subgraph_plan
from virtual_board.xir_api import Graph, Subgraph, Tensor

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

REGISTERS = ("LSTART", "LEND", "CSTART", "CEND", "SSTART", "SEND", "MSTART", "MEND")
ELEMENT_FORMATS = "bfh"
"""int8, float32, int16: the only formats the binding takes."""


class TensorBuffer:
    """Memory of one tensor; `numpy.asarray(buffer)` is a view of an input."""

    def __init__(self, tensor: Tensor, array: Array | None) -> None:
        self._tensor = tensor
        self._array = array

    def get_tensor(self) -> Tensor:
        """The tensor it holds."""
        return self._tensor

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        if self._array is None:
            raise refuse(self._tensor.name)
        if dtype is not None and self._array.dtype != dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __buffer__(self, flags: int) -> memoryview:
        return memoryview(self.__array__())  # type: ignore[arg-type]  # arrays are buffers


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


class Runner:
    """vart.Runner: arrays of the caller."""

    values_computed = False
    """Not of the vendor's: whether outputs hold results. Here they stay as they were."""

    def __init__(self, subgraph: Subgraph) -> None:
        self._subgraph = subgraph
        self._player = subgraph_player(subgraph, "vart")
        self._warned = False

    @staticmethod
    def create_runner(subgraph: Subgraph, mode: str = "") -> Runner:
        """A runner of one DPU subgraph."""
        _check_mode(mode)
        return Runner(subgraph)

    def get_input_tensors(self) -> list[Tensor]:
        """Sorted by name."""
        return _sorted(self._subgraph.get_input_tensors())

    def get_output_tensors(self) -> list[Tensor]:
        """Sorted by name."""
        return _sorted(self._subgraph.get_output_tensors())

    def execute_async(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        enable_dynamic_array: bool = False,  # noqa: ARG002  (part of the signature)
    ) -> tuple[int, int]:
        """Run to the end, as the DPU's runner does; (job, status)."""
        for array in (*inputs, *outputs):
            check_array(array)
        if not self._warned:
            self._warned = True
            print("virtual_board: output arrays stay as they are: values are not computed", file=sys.stderr, flush=True)
        self._player.play()
        return (1, 0)

    def wait(self, job: tuple[int, int]) -> int:  # noqa: ARG002
        """At once: the job has ended."""
        return 0


class RunnerExt:
    """vart.RunnerExt and what GraphRunner gives: buffers of the runner."""

    values_computed = False
    """Not of the vendor's: whether output buffers hold results. Here they refuse to be read."""

    def __init__(self, player: Player, inputs: list[Tensor], outputs: list[Tensor], job: int) -> None:
        self._player = player
        self._inputs, self._outputs = inputs, outputs
        self._job = job

    @staticmethod
    def create_runner(subgraph: Subgraph, mode: str = "") -> RunnerExt:
        """A runner of one DPU subgraph."""
        _check_mode(mode)
        inputs, outputs = _sorted(subgraph.get_input_tensors()), _sorted(subgraph.get_output_tensors())
        return RunnerExt(subgraph_player(subgraph, "vart"), inputs, outputs, 1)

    def get_input_tensors(self) -> list[Tensor]:
        """In the order of `get_inputs`."""
        return list(self._inputs)

    def get_output_tensors(self) -> list[Tensor]:
        """In the order of `get_outputs`."""
        return list(self._outputs)

    def get_inputs(self) -> list[TensorBuffer]:
        """New buffers to fill."""
        return [TensorBuffer(tensor, _zeros(tensor)) for tensor in self._inputs]

    def get_outputs(self) -> list[TensorBuffer]:
        """New buffers; their values cannot be read."""
        return [TensorBuffer(tensor, None) for tensor in self._outputs]

    def execute_async(
        self,
        inputs: Sequence[TensorBuffer],  # noqa: ARG002  (where arithmetic will read)
        outputs: Sequence[TensorBuffer],  # noqa: ARG002  (where it will write)
    ) -> tuple[int, int]:
        """Run to the end; (job, status)."""
        self._player.play()
        return (self._job, 0)

    def wait(self, job: tuple[int, int]) -> int:  # noqa: ARG002
        """At once: the job has ended."""
        return 0


class GraphRunner:
    """vitis_ai_library.GraphRunner."""

    @staticmethod
    def create_graph_runner(graph: Graph) -> RunnerExt:
        """A runner of the whole graph; CPU subgraphs included."""
        model = graph.model
        player = graph_player(graph, "graph")
        inputs = [tensor for sub in model.on_device("USER") for tensor in model.output_tensors(sub)]
        last = model.output_tensors(model.root)
        return RunnerExt(player, [Tensor(graph, t) for t in inputs], [Tensor(graph, t) for t in last], 0)


def _sorted(tensors: set[Tensor]) -> list[Tensor]:
    return sorted(tensors, key=lambda tensor: tensor.name)


def _zeros(tensor: Tensor) -> Array:
    import numpy as np

    return np.zeros(tensor.dims, np.dtype(tensor.dtype.lstrip("x")))


def check_array(array: Any) -> None:  # noqa: ANN401  (anything with a buffer)
    """Abort on a format the binding lacks, ValueError on read-only memory; nothing else is checked there either."""
    view = memoryview(array)
    if view.readonly:
        raise ValueError("buffer source array is read-only")
    if view.format not in ELEMENT_FORMATS:
        glog.fatal("runner_py_module.cpp:94", f"Check failed: unknown format: {view.format}")


def _check_mode(mode: str) -> None:
    if mode not in ("", "run"):
        glog.fatal("runner.cpp:71", f"Check failed: mode {mode} has no library here: only run")


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
