"""Reaching the vendor's Python modules, and saying in one line what is missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from kv260_runtime.errors import AcceleratorUnavailable, ModelRejected, RunFailed

FINGERPRINT_VARIABLE = "KVBENCH_DPU_FINGERPRINT"
"""Fingerprint of the loaded DPU as `xdputil query` tells it, for processes that create runners."""
JOB = (1, 0)
"""The only job there is: the DPU's runner executes synchronously (board.md section 5.2)."""


def vendor_module(name: str) -> ModuleType:
    """Import `vart`, `xir` or `vitis_ai_library`.

    Raises AcceleratorUnavailable naming the interpreter: the board's modules are built for one Python only, and the
    packages of those names on PyPI are unrelated.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise AcceleratorUnavailable(
            f"the vendor's module {name!r} is not importable by {sys.executable} ({error}); on a board use its system "
            "Python or an environment made with --system-site-packages; elsewhere pass --board virtual"
        ) from error


def load_graph(model: Path) -> Any:  # noqa: ANN401  (a vendor object)
    """The vendor's Graph of `model`; keep a reference for as long as anything taken from it is used."""
    if not model.is_file():
        raise ModelRejected(f"{model}: no such file")
    return vendor_module("xir").Graph.deserialize(str(model))


def require_fingerprint(subgraphs: Sequence[Any], environment: Mapping[str, str] = os.environ) -> None:
    """Foresee what makes the vendor's runner abort: DPU subgraphs compiled for another DPU than the one loaded.

    Raises RunFailed naming both fingerprints. As the vendor does, takes 0 on either side for any DPU and obeys
    XLNX_ENABLE_FINGERPRINT_CHECK; silent where nobody told which DPU is loaded.
    """
    loaded = int(environment.get(FINGERPRINT_VARIABLE) or "0", 0)
    if not loaded or environment.get("XLNX_ENABLE_FINGERPRINT_CHECK") == "0":
        return
    for subgraph in subgraphs:
        needed = int(subgraph.get_attr("dpu_fingerprint")) if subgraph.has_attr("dpu_fingerprint") else 0
        if needed not in (0, loaded):
            raise RunFailed(
                f"fingerprint: {subgraph.get_name()} is compiled for the DPU {needed:#x}, {loaded:#x} is loaded: "
                "compile the model for that one, or load the overlay it was compiled for"
            )


def run_to_end(runner: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:  # noqa: ANN401
    """Execute and wait. Waits after an exception, too: else the vendor keeps the buffers in its map of jobs.

    Raises RunFailed on an error status.
    """
    job = JOB
    try:
        job = runner.execute_async(inputs, outputs)
    finally:
        waited = runner.wait(job)
    status = job[1] or waited
    if status:
        raise RunFailed(f"{type(runner).__name__} returned status {status}")


def dpu_subgraphs(graph: Any) -> list[Any]:  # noqa: ANN401
    """Those of the root's children that run on the DPU, in topological order."""
    children = list(graph.get_root_subgraph().toposort_child_subgraph())
    return [child for child in children if _device(child) == "DPU"]


def _device(subgraph: Any) -> str:  # noqa: ANN401
    return str(subgraph.get_attr("device")).upper() if subgraph.has_attr("device") else "none"


def pick_subgraph(graph: Any, index: int | None) -> Any:  # noqa: ANN401
    """Subgraph `index` in topological order, or the only DPU subgraph there is when `index` is None.

    Raises ModelRejected if the index is out of range or not a DPU subgraph, or if the choice is not unique.
    """
    children = list(graph.get_root_subgraph().toposort_child_subgraph())
    dpu = [i for i, child in enumerate(children) if _device(child) == "DPU"]
    if index is None:
        if len(dpu) != 1:
            raise ModelRejected(f"the model has {len(dpu)} DPU subgraphs ({_listed(dpu)}); choose one with --subgraph")
        index = dpu[0]
    if index not in dpu:
        raise ModelRejected(f"subgraph {index} is not a DPU subgraph; DPU subgraphs: {_listed(dpu)}")
    return children[index]


def _listed(indices: list[int]) -> str:
    return ", ".join(map(str, indices)) or "none"
