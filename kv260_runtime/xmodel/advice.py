"""What a deployer should know before taking an XModel to a board, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kv260_runtime.xmodel.facts import ModelFacts, SubgraphFacts
from kv260_runtime.xmodel.operators import BUILT_IN, CPU_IMPLEMENTED
from kv260_runtime.xmodel.target import dpu_size

DEFAULT_SIZE = "B4096"
"""The DPU in the KV260's released images."""

RELEASES = {
    0x1000020F6014407: "Vitis AI 1.4 and 2.0",
    0x101000016010407: "Vitis AI 2.5",
    0x101000016010406: "Vitis AI 2.5",
    0x101000056010407: "Vitis AI 3.0 and 3.5",
}
"""Fingerprint to the release whose images hold such a DPU (board.md 1.7, xmodel_execution.md)."""


@dataclass(frozen=True)
class Advice:
    """A condition worth knowing."""

    code: str
    """For scripts; stable."""
    text: str


def advice_on(facts: ModelFacts) -> list[Advice]:
    """Advice on one file, the gravest first."""
    if facts.rejection is not None:
        return [Advice("not-runnable", facts.rejection), *_cpu_operators(facts)]
    return [*_instructions(facts), *_fingerprint(facts), *_cpu_operators(facts), *_partition(facts)]


def advice_between(models: Sequence[ModelFacts]) -> list[Advice]:
    """Advice that only shows when several files are seen together."""
    fingerprints = {facts.fingerprint for facts in models if facts.rejection is None and facts.fingerprint is not None}
    if len(fingerprints) < 2:
        return []
    listed = ", ".join(f"{fingerprint:#x}" for fingerprint in sorted(fingerprints))
    return [Advice("fingerprints-differ", f"no one DPU runs all of these models: their fingerprints are {listed}")]


def _instructions(facts: ModelFacts) -> list[Advice]:
    empty = [part.index for part in facts.on_device("DPU") if part.memory and part.memory.instruction_bytes == 0]
    if empty:
        which = f"subgraph {empty[0]} has" if len(empty) == 1 else f"{len(empty)} DPU subgraphs have"
        text = f"{which} no instructions: no DPU can run this file; its traffic is estimated"
        return [Advice("no-instructions", text)]
    if any(part.traffic and part.traffic.estimated for part in facts.subgraphs):
        text = f"the instructions of {facts.target} are not decoded: its traffic is estimated"
        return [Advice("traffic-estimated", text)]
    return []


def _fingerprint(facts: ModelFacts) -> list[Advice]:
    if not facts.fingerprint:
        text = "carries no fingerprint: the runtime cannot tell whether the loaded DPU fits"
        return [Advice("no-fingerprint", text)]
    size, release = dpu_size(facts.fingerprint), RELEASES.get(facts.fingerprint)
    found = []
    if size is not None and f"_{size}" not in (facts.target or ""):
        text = f"names {facts.target}, but its fingerprint is that of a {size}"
        found.append(Advice("fingerprint-contradicts", text))
    if size != DEFAULT_SIZE:
        text = f"needs a {size or 'DPU of unknown size'}: a KV260's released image holds a {DEFAULT_SIZE}"
        found.append(Advice("size", text))
    where = f" (images of {release})" if release else ""
    text = f"runs only where `xdputil query` shows the fingerprint {facts.fingerprint:#x}{where}"
    return [*found, Advice("fingerprint", text)]


def _cpu_operators(facts: ModelFacts) -> list[Advice]:
    """CPU operators that the board's released library does not implement, the user's own apart from XIR's."""
    missing = sorted(set(facts.operator_counts_by_device.get("CPU", {})) - CPU_IMPLEMENTED)
    found = []
    for code, kinds, what in (
        ("custom-operators", [kind for kind in missing if kind not in BUILT_IN], "custom operators on the CPU"),
        ("cpu-operators", [kind for kind in missing if kind in BUILT_IN], "CPU operators without a released library"),
    ):
        if kinds:
            libraries = ", ".join(f"libvart_op_imp_{kind}.so" for kind in kinds)
            found.append(Advice(code, f"{what} ({', '.join(kinds)}): the board needs {libraries}"))
    return found


def _partition(facts: ModelFacts) -> list[Advice]:
    found = []
    dpu = facts.on_device("DPU")
    if len(dpu) > 1:
        text = f"one execution starts the DPU {len(dpu)} times, once for each DPU subgraph"
        found.append(Advice("fragmented", text))
    between = [part for part in facts.on_device("CPU") if _is_between(part, dpu)]
    if between:
        operators = sum(sum(part.operator_counts.values()) for part in between)
        which = "one CPU subgraph" if len(between) == 1 else f"{len(between)} CPU subgraphs"
        text = f"{which} with {operators} operators between DPU subgraphs: to the CPU and back while the DPU waits"
        found.append(Advice("cpu-between-dpu", text))
    return found


def _is_between(part: SubgraphFacts, dpu: Sequence[SubgraphFacts]) -> bool:
    given = {tensor.name for other in dpu for tensor in other.outputs}
    taken = {tensor.name for other in dpu for tensor in other.inputs}
    return any(tensor.name in given for tensor in part.inputs) and any(tensor.name in taken for tensor in part.outputs)
