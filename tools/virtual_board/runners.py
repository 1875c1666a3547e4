"""The vendor's runners (board facts, 5.2, 5.3 and 8): real values, emulated time.

Values of RunnerExt and GraphRunner are computed when somebody reads them. Those of Runner go into arrays of the caller,
so they are computed before the execution is played, and remembered; either way no emulated time passes meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from virtual_board import glog
from virtual_board.arithmetic import Arithmetic, TensorValuesUnavailable, arithmetic_of, outputs_are_read, refuse
from virtual_board.buffers import TensorBuffer, check_array, give, taken
from virtual_board.players import Player, graph_player, subgraph_player
from virtual_board.results import Array, Stored
from virtual_board.xir_api import Graph, Subgraph, Tensor


class Runner:
    """vart.Runner: arrays of the caller."""

    def __init__(self, subgraph: Subgraph) -> None:
        self._player = subgraph_player(subgraph, "vart")
        self._inputs, self._outputs = _sorted(subgraph.get_input_tensors()), _sorted(subgraph.get_output_tensors())
        self._arithmetic = _subgraph_arithmetic(subgraph, self._inputs, self._player)
        self._waiting = False
        self._told: set[str] = set()

    @staticmethod
    def create_runner(subgraph: Subgraph, mode: str = "") -> Runner:
        """A runner of one DPU subgraph."""
        _check_mode(mode)
        return Runner(subgraph)

    def get_input_tensors(self) -> list[Tensor]:
        """Sorted by name."""
        return list(self._inputs)

    def get_output_tensors(self) -> list[Tensor]:
        """Sorted by name."""
        return list(self._outputs)

    def execute_async(
        self,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        enable_dynamic_array: bool = False,  # noqa: ARG002  (part of the signature)
    ) -> tuple[int, int]:
        """Run to the end, as the DPU's runner does; (job, status)."""
        for array in (*inputs, *outputs):
            check_array(array)
        if len(inputs) < len(self._inputs) or len(outputs) < len(self._outputs):
            glog.fatal("runner_py_module.cpp:120", "Check failed: fewer arrays than tensors")
        if self._waiting:
            self._say_once("the job before was not waited for: on a board its buffers stay in memory")
        self._waiting = True
        values = self._values(inputs)
        self._player.play()
        if values is not None:
            for tensor, array in zip(self._outputs, outputs, strict=False):
                give(_disturbed(self._player, values[tensor.name]), array, tensor)
        return (1, 0)

    def wait(self, job: tuple[int, int]) -> int:  # noqa: ARG002
        """At once: the job has ended."""
        self._waiting = False
        return 0

    def _values(self, inputs: Sequence[Any]) -> Mapping[str, Array] | None:
        if not outputs_are_read():
            return None
        stored = tuple(taken(array, tensor) for tensor, array in zip(self._inputs, inputs, strict=False))
        try:
            return self._arithmetic.outputs(stored)
        except TensorValuesUnavailable as error:
            self._say_once(f"output arrays stay as they are: {error}")
            return None

    def _say_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            print(f"virtual_board: {text}", file=sys.stderr, flush=True)


class RunnerExt:
    """vart.RunnerExt and what GraphRunner gives: buffers of the runner."""

    def __init__(
        self, player: Player, arithmetic: Arithmetic, inputs: list[Tensor], outputs: list[Tensor], job: int
    ) -> None:
        self._player = player
        self._arithmetic = arithmetic
        self._inputs, self._outputs = inputs, outputs
        self._job = job

    @staticmethod
    def create_runner(subgraph: Subgraph, mode: str = "") -> RunnerExt:
        """A runner of one DPU subgraph."""
        _check_mode(mode)
        player = subgraph_player(subgraph, "vart")
        inputs, outputs = _sorted(subgraph.get_input_tensors()), _sorted(subgraph.get_output_tensors())
        return RunnerExt(player, _subgraph_arithmetic(subgraph, inputs, player), inputs, outputs, 1)

    def get_input_tensors(self) -> list[Tensor]:
        """In the order of `get_inputs`."""
        return list(self._inputs)

    def get_output_tensors(self) -> list[Tensor]:
        """In the order of `get_outputs`."""
        return list(self._outputs)

    def get_inputs(self) -> list[TensorBuffer]:
        """New buffers to fill."""
        return [TensorBuffer(tensor) for tensor in self._inputs]

    def get_outputs(self) -> list[TensorBuffer]:
        """New buffers to read."""
        return [TensorBuffer(tensor) for tensor in self._outputs]

    def execute_async(self, inputs: Sequence[TensorBuffer], outputs: Sequence[TensorBuffer]) -> tuple[int, int]:
        """Run to the end; (job, status)."""
        stored = None
        if outputs_are_read():
            stored = tuple(np.asarray(buffer).tobytes() for buffer in inputs)
            if any(buffer.is_watched() for buffer in outputs):
                self._arithmetic.outputs(stored)
        self._player.play()
        for buffer in outputs:
            buffer.put(_Later(self, stored, buffer.get_tensor().name))
        return (self._job, 0)

    def wait(self, job: tuple[int, int]) -> int:  # noqa: ARG002
        """At once: the job has ended."""
        return 0

    def computed(self, stored: Stored, name: str) -> Array:
        """One output of an execution. Not of the vendor's."""
        return _disturbed(self._player, self._arithmetic.outputs(stored)[name])


class _Later:
    """One output of one execution, computed when it is called for."""

    def __init__(self, runner: RunnerExt, stored: Stored | None, name: str) -> None:
        self._runner, self._stored, self._name = runner, stored, name

    def __call__(self) -> Array:
        if self._stored is None:
            raise refuse(self._name)
        return self._runner.computed(self._stored, self._name)


class GraphRunner:
    """vitis_ai_library.GraphRunner."""

    @staticmethod
    def create_graph_runner(graph: Graph) -> RunnerExt:
        """A runner of the whole graph; CPU subgraphs included."""
        model = graph.model
        player = graph_player(graph, "graph")
        inputs = [tensor for sub in model.on_device("USER") for tensor in model.output_tensors(sub)]
        last = model.output_tensors(model.root)
        names = [tensor.name for tensor in inputs]
        arithmetic = arithmetic_of(graph.identity, model, None, names, player.plan.duration_ns)
        return RunnerExt(player, arithmetic, [Tensor(graph, t) for t in inputs], [Tensor(graph, t) for t in last], 0)


def _subgraph_arithmetic(subgraph: Subgraph, inputs: Sequence[Tensor], player: Player) -> Arithmetic:
    names = [tensor.name for tensor in inputs]
    return arithmetic_of(subgraph.graph.identity, subgraph.graph.model, subgraph.model, names, player.plan.duration_ns)


def _disturbed(player: Player, values: Array) -> Array:
    """What the device gives: the values, unless it was asked to be faulty."""
    if "bit-flip" not in player.welcome["faults"]:
        return values
    raw = bytearray(values.tobytes())
    raw[-1] ^= 0x40  # The highest bit of an int8 below its sign; the exponent's of a float32.
    return np.frombuffer(raw, values.dtype).reshape(values.shape)


def _sorted(tensors: set[Tensor]) -> list[Tensor]:
    return sorted(tensors, key=lambda tensor: tensor.name)


def _check_mode(mode: str) -> None:
    if mode not in ("", "run"):
        glog.fatal("runner.cpp:71", f"Check failed: mode {mode} has no library here: only run")
