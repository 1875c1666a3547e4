"""Reaching the vendor's Python modules, and saying in one line what is missing."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from kv260_runtime.errors import AcceleratorUnavailable, ModelRejected


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


def pick_subgraph(graph: Any, index: int | None) -> Any:  # noqa: ANN401
    """Subgraph `index` in topological order, or the only DPU subgraph there is when `index` is None.

    Raises ModelRejected if the index is out of range or not a DPU subgraph, or if the choice is not unique.
    """
    children = list(graph.get_root_subgraph().toposort_child_subgraph())
    devices = [str(child.get_attr("device")) if child.has_attr("device") else "none" for child in children]
    dpu = [i for i, device in enumerate(devices) if device.upper() == "DPU"]
    if index is None:
        if len(dpu) != 1:
            raise ModelRejected(f"the model has {len(dpu)} DPU subgraphs ({_listed(dpu)}); choose one with --subgraph")
        index = dpu[0]
    if index not in dpu:
        raise ModelRejected(f"subgraph {index} is not a DPU subgraph; DPU subgraphs: {_listed(dpu)}")
    return children[index]


def _listed(indices: list[int]) -> str:
    return ", ".join(map(str, indices)) or "none"
