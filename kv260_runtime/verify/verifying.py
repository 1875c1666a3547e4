"""What is to be compared, the board's side of it, and the outcome.

Each DPU subgraph gets the inputs that the executor computes for it, so that a difference is told where it arises
and not where it shows. Then the whole graph runs from its own inputs.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kv260_runtime.accelerators import Array
from kv260_runtime.accelerators.tensors import random_inputs
from kv260_runtime.errors import ExitCode, KvbenchError, ModelRejected, RunFailed
from kv260_runtime.execute import Executor, TensorSpec, open_executor
from kv260_runtime.verify.arrays import load, save
from kv260_runtime.verify.child import ERROR, JOBS
from kv260_runtime.verify.comparing import TensorComparison, compare
from kv260_runtime.workloads.child import describe_exit
from kv260_runtime.xmodel import Graph
from telemetry.markers import GLOG_PREFIX, faults_in

BACKSTOP_SECONDS = 600


@dataclass(frozen=True)
class Job:
    """One execution on both sides."""

    runner: str
    """Row of accelerators.OPENERS: `dpu` or `graph`."""
    subgraph: int | None
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]

    @property
    def label(self) -> str:
        """As people read it."""
        return "whole graph" if self.subgraph is None else f"subgraph {self.subgraph}"


@dataclass(frozen=True)
class Boundary:
    """One job with what came of it."""

    job: Job
    tensors: list[TensorComparison]

    @property
    def first_difference(self) -> TensorComparison | None:
        """The first tensor that is not equal."""
        return next((tensor for tensor in self.tensors if not tensor.is_equal), None)


def make_jobs(graph: Graph, given: Mapping[str, Array] | None, seed: int) -> tuple[list[Job], list[str]]:
    """Jobs in topological order, the whole graph last, and notes on what is left out.

    `given` are the graph's inputs as stored; None: random ones. Raises ModelRejected if nothing can be compared.
    """
    dpu = [(number, child) for number, child in enumerate(graph.subgraphs) if child.device == "DPU"]
    if not dpu:
        raise ModelRejected(f"{graph.source}: has no DPU subgraph to verify")
    between = [tensor.name for _, child in dpu for tensor in graph.input_tensors(child)]
    notes: list[str] = []
    known: Mapping[str, Array] = {}
    whole: list[Job] = []
    try:
        executor = open_executor(graph, keep=dict.fromkeys(between))
    except ModelRejected as error:
        if given is not None:
            raise
        notes.append(f"the whole graph is not verified ({error}); its DPU subgraphs get random inputs")
    else:
        inputs = _inputs(executor, given, seed)
        known = {**inputs, **executor.run(inputs)}
        outputs = {tensor.name: known[tensor.name] for tensor in graph.output_tensors(graph.root)}
        whole.append(Job("graph", None, inputs, outputs))
    jobs = []
    for number, child in dpu:
        executor = open_executor(graph, child)
        random = random_inputs(_specs(executor), seed, 1)[0]
        inputs = {spec.name: known.get(spec.name, random[spec.name]) for spec in executor.inputs}
        jobs.append(Job("dpu", number, inputs, executor.run(inputs)))
    return jobs + whole, notes


def run_on_board(model: Path, jobs: list[Job], environment: Mapping[str, str]) -> list[Boundary]:
    """All jobs in one child process with the board's environment.

    Raises RunFailed in the vendor's words if it aborts, and whatever the runners raise.
    """
    with TemporaryDirectory(prefix="kvbench-verify-") as name:
        folder = Path(name)
        for number, job in enumerate(jobs):
            save(folder / f"{number}.in.npz", job.inputs)
        listed = [{"runner": job.runner, "subgraph": job.subgraph} for job in jobs]
        (folder / JOBS).write_text(json.dumps(listed), encoding="utf-8")
        _run_child(folder, model, environment)
        return [
            Boundary(job, compare(load(folder / f"{number}.out.npz"), job.expected)) for number, job in enumerate(jobs)
        ]


def _run_child(folder: Path, model: Path, environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "kv260_runtime.verify.child", str(folder), str(model.absolute())]
    try:
        done = subprocess.run(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=BACKSTOP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunFailed(f"{model}: the board did not answer within {BACKSTOP_SECONDS} s") from None
    if done.returncode == 0:
        return
    error = folder / ERROR
    if error.is_file():
        told = json.loads(error.read_text(encoding="utf-8"))
        raise KvbenchError(told["message"], ExitCode(told["exit_code"]))
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
    fatal = [line for line in lines if faults_in(0, line, GLOG_PREFIX.sub("", line))]
    words = GLOG_PREFIX.sub("", (fatal or lines[-1:] or [""])[0])[:200]
    raise RunFailed(f"{model}: the process on the board {describe_exit(done.returncode)}: {words}")


def _inputs(executor: Executor, given: Mapping[str, Array] | None, seed: int) -> dict[str, Array]:
    if given is None:
        return random_inputs(_specs(executor), seed, 1)[0]
    for spec in executor.inputs:
        if spec.name in given and np.shape(given[spec.name]) != spec.shape:
            raise ModelRejected(
                f"input {spec.name!r} has shape {list(np.shape(given[spec.name]))}, one item of {list(spec.shape)} is "
                "compared"
            )
    return dict(given)


def _specs(executor: Executor) -> list[TensorSpec]:
    return executor.inputs
