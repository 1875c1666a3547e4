"""What is profiled: each model with its digest and what its file says of one execution."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kv260_runtime.errors import ModelRejected, printable
from kv260_runtime.model_file import open_model
from kv260_runtime.workloads import WorkloadSpec
from kv260_runtime.xmodel import Graph, Subgraph, XModelError, require_target, static_traffic


@dataclass(frozen=True)
class StaticFacts:
    """What the file says of one execution; no measurement."""

    target: str | None
    fingerprint: int | None
    subgraphs: dict[str, int]
    """How many top-level subgraphs each device has."""
    dpu_runs: int
    """Compute-unit runs of one execution of the measured part."""
    workload_ops: int | None
    read_bytes: int
    write_bytes: int
    instruction_bytes: int
    """Instruction fetch, part of `read_bytes`."""
    estimated: bool
    """True if the traffic was estimated from tensor sizes, for lack of instructions."""


@dataclass(frozen=True)
class Subject:
    """One thing to profile."""

    name: str
    spec: WorkloadSpec
    sha256: str | None = None
    size_bytes: int | None = None
    static: StaticFacts | None = None

    def as_json(self) -> dict[str, Any]:
        """For the session's metadata."""
        path = None if self.spec.model is None else str(self.spec.model)
        return {
            "name": self.name,
            "path": path,
            "sha256": self.sha256,
            "size_bytes": self.size_bytes,
            "workload": self.spec.kind,
            "subgraph": self.spec.subgraph,
            "threads": self.spec.threads,
            "command": list(self.spec.command),
            "static": None if self.static is None else asdict(self.static),
        }


def file_digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def static_facts(graph: Graph, subgraph: int | None) -> StaticFacts:
    """Facts of the whole graph, or of its top-level subgraph of that index alone."""
    parts = graph.subgraphs if subgraph is None else [_subgraph(graph, subgraph)]
    dpu = [part for part in parts if part.device == "DPU"]
    traffic = [static_traffic(graph, part) for part in dpu]
    workloads = [part.workload for part in dpu]
    return StaticFacts(
        target=graph.target,
        fingerprint=graph.fingerprint,
        subgraphs=dict(Counter(part.device or "none" for part in graph.subgraphs)),
        dpu_runs=len(dpu),
        workload_ops=None if None in workloads else sum(ops for ops in workloads if ops is not None),
        read_bytes=sum(one.read_bytes for one in traffic),
        write_bytes=sum(one.write_bytes for one in traffic),
        instruction_bytes=sum(one.instruction_bytes for one in traffic),
        estimated=any(one.estimated for one in traffic),
    )


def _subgraph(graph: Graph, index: int) -> Subgraph:
    if not 0 <= index < len(graph.subgraphs):
        raise ModelRejected(f"{graph.name}: no subgraph {index}; it has {len(graph.subgraphs)}, counted from 0")
    return graph.subgraphs[index]


def model_subject(path: Path, spec: WorkloadSpec) -> Subject:
    """Read and check one model file.

    Raises ModelRejected in one line if it is missing, damaged, or not compiled for a DPU.
    """
    graph = open_model(path)
    try:
        require_target(graph)
    except XModelError as error:
        raise ModelRejected(str(error)) from error
    index = spec.subgraph
    if spec.kind == "dpu" and index is None:
        index = _only_dpu_subgraph(path, graph)
    facts = static_facts(graph, index)
    if index is not None and facts.dpu_runs == 0:
        raise ModelRejected(f"{path}: subgraph {index} is not a DPU subgraph")
    return Subject(
        printable(path.stem), replace(spec, model=path, subgraph=index), file_digest(path), path.stat().st_size, facts
    )


def require_dpu(subject: Subject, loaded: str, environment: Mapping[str, str]) -> None:
    """Foresee that every run would abort: ModelRejected if the model is compiled for another DPU than `loaded`.

    `loaded` is the fingerprint that the board tells, empty if it tells none. As the vendor does, takes 0 on either side
    for any DPU and obeys XLNX_ENABLE_FINGERPRINT_CHECK. What a command does with the model is its own affair.
    """
    needed, there = (subject.static.fingerprint if subject.static else None) or 0, int(loaded or "0", 0)
    unchecked = subject.spec.kind == "command" or environment.get("XLNX_ENABLE_FINGERPRINT_CHECK") == "0"
    if unchecked or 0 in (needed, there) or needed == there:
        return
    raise ModelRejected(
        f"{subject.spec.model}: fingerprint {needed:#x}, but the DPU loaded has {there:#x}: "
        "compile the model for that one, or load the overlay it was compiled for"
    )


def _only_dpu_subgraph(path: Path, graph: Graph) -> int:
    found = [index for index, part in enumerate(graph.subgraphs) if part.device == "DPU"]
    if len(found) != 1:
        raise ModelRejected(f"{path}: has {len(found)} DPU subgraphs ({found}); choose one with --subgraph")
    return found[0]


def command_subject(spec: WorkloadSpec) -> Subject:
    """An external command by itself."""
    return Subject(printable(Path(spec.command[0]).name), spec)


def with_unique_names(subjects: Sequence[Subject]) -> list[Subject]:
    """Equal names get #2, #3 …, so that tables and comparisons can tell builds of one model apart."""
    seen: Counter[str] = Counter()
    named = []
    for subject in subjects:
        seen[subject.name] += 1
        count = seen[subject.name]
        named.append(subject if count == 1 else replace(subject, name=f"{subject.name}#{count}"))
    return named
