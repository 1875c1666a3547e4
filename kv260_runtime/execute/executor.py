"""The door: an XModel or one of its subgraphs, ready to be run any number of times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError, ModelRejected, RunFailed
from kv260_runtime.execute.backends import BACKENDS, BackendUnavailable
from kv260_runtime.execute.plan import Plan, make_plan
from kv260_runtime.execute.specs import Array, TensorSpec
from kv260_runtime.execute.units import Program
from kv260_runtime.xmodel import Graph, Subgraph

AUTO = "auto"


class InputError(ModelRejected):
    """The arrays given do not fit the model's inputs."""


class Executor:
    """Runs one plan; several threads may share it."""

    def __init__(self, plan: Plan, program: Program, backend: str) -> None:
        """Use open_executor."""
        self._plan = plan
        self._program: Program | None = program
        self.backend = backend
        self.notes = plan.notes
        """What a user should know about how this model is computed, one line each."""

    @property
    def inputs(self) -> list[TensorSpec]:
        """Tensors that `run` needs, sorted by name."""
        return list(self._plan.inputs.values())

    @property
    def outputs(self) -> list[TensorSpec]:
        """Tensors that `run` gives: the outputs sorted by name, then those kept."""
        return list(self._plan.outputs.values())

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """One execution: arrays by tensor name, of each spec's shape and dtype, or a multiple of it along axis 0.

        A batch of n is computed one after the other and comes back with n times each output's axis 0.
        Raises InputError for a missing or unknown name, another dtype or shape.
        """
        program = self._program
        if program is None:
            raise RunFailed(f"{self._plan.source}: the executor is closed")
        batch = self._batch(inputs)
        outputs: dict[str, Array] = {}
        for item in range(batch):
            part = {name: _item(inputs[spec.name], spec, item) for name, spec in self._plan.inputs.items()}
            for name, values in program.run(part).items():
                _collect(outputs, self._plan.outputs[name], values, item, batch)
        return outputs

    def close(self) -> None:
        """Release the plan; idempotent. Runs that have begun end as usual."""
        self._program = None

    def _batch(self, inputs: Mapping[str, Array]) -> int:
        source, known = self._plan.source, {spec.name: spec for spec in self.inputs}
        for name in inputs:
            if name not in known:
                raise InputError(f"{source}: has no input {name!r}; its inputs: {', '.join(map(repr, known))}")
        batches = set()
        for name, spec in known.items():
            if name not in inputs:
                given = ", ".join(map(repr, inputs)) or "none"
                raise InputError(f"{source}: input {name!r} is missing; given: {given}")
            batches.add(_batch_of(source, spec, inputs[name]))
        if len(batches) > 1:
            raise InputError(f"{source}: the inputs hold different numbers of items: {sorted(batches)}")
        return batches.pop() if batches else 1


def open_executor(
    graph: Graph,
    subgraph: Subgraph | None = None,
    backend: str = "auto",
    threads: int = 1,
    keep: Iterable[str] = (),
) -> Executor:
    """Plan a graph, or one subgraph of it, for running.

    `backend` is a row of BACKENDS; `auto` takes onnxruntime where it is of use and else numpy, saying so in `notes`.
    `threads` (1 or more) is how many one execution may use. `keep` names tensors to hand out besides the outputs.
    Raises ModelRejected, before anything runs, for whatever cannot be executed exactly as the DPU would, and
    BackendUnavailable for a backend that is not there.
    """
    if backend not in (AUTO, *BACKENDS):
        raise KvbenchError(f"no backend is called {backend!r}; known: {AUTO}, {', '.join(BACKENDS)}", ExitCode.USAGE)
    if backend == AUTO:
        try:
            return _open(graph, subgraph, "onnxruntime", threads, keep)
        except BackendUnavailable as error:
            executor = _open(graph, subgraph, "numpy", threads, keep)
            executor.notes = (f"{error}: computing with numpy, more slowly", *executor.notes)
            return executor
    return _open(graph, subgraph, backend, threads, keep)


def _open(graph: Graph, subgraph: Subgraph | None, backend: str, threads: int, keep: Iterable[str]) -> Executor:
    row = BACKENDS[backend]
    plan = make_plan(graph, subgraph, keep, row.accumulator)
    return Executor(plan, Program(plan, row.compile(plan, threads)), backend)


def _batch_of(source: str, spec: TensorSpec, array: Array) -> int:
    shape: tuple[int, ...] = np.shape(array)
    if np.asarray(array).dtype != np.dtype(spec.dtype):
        raise InputError(f"{source}: input {spec.name!r} is {np.asarray(array).dtype}, {spec.dtype} expected")
    one = spec.shape[0] if spec.shape else 1
    if shape[1:] != spec.shape[1:] or len(shape) != len(spec.shape) or not shape[0] or shape[0] % one:
        raise InputError(f"{source}: input {spec.name!r} has the shape {list(shape)}, {list(spec.shape)} expected")
    return shape[0] // one


def _item(array: Array, spec: TensorSpec, item: int) -> Array:
    """One item of a batch, not to be written to: it may be the caller's own memory."""
    one = spec.shape[0]
    part: Array = np.ascontiguousarray(array[item * one : (item + 1) * one]).view()
    part.flags.writeable = False
    return part


def _collect(outputs: dict[str, Array], spec: TensorSpec, values: Array, item: int, batch: int) -> None:
    if batch == 1:
        # What cannot be written to is memory of the plan or of the caller.
        outputs[spec.name] = values if values.flags.writeable else values.copy()
        return
    if spec.name not in outputs:
        outputs[spec.name] = np.empty((batch * spec.shape[0], *spec.shape[1:]), values.dtype)
    outputs[spec.name][item * spec.shape[0] : (item + 1) * spec.shape[0]] = values
