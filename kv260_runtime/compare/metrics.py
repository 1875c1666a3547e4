"""Names of what is compared: figures of the catalogue, and short words for the usual ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from kv260_runtime.errors import ExitCode, KvbenchError
from telemetry.figures.catalogue import FIGURES

ALIASES: Mapping[str, tuple[str, ...]] = {
    "throughput": ("throughput",),
    "latency": ("latency_mean", "reciprocal_latency"),
    "energy": ("energy_per_execution",),
    "energy_above_idle": ("energy_above_idle_per_execution",),
    "power": ("power",),
    "idle": ("idle_power",),
    "efficiency": ("throughput_per_watt",),
    "memory": ("bytes_per_execution.total",),
    "bandwidth": ("bandwidth.total",),
    "busy": ("busy_share",),
    "cpu": ("system_share_net", "system_share"),
}
"""Word to the figures it may mean: the first that both sides have."""

LESS_IS_WORSE = ("throughput", "throughput_per_watt", "latency_throughput")


def resolve(word: str, names: Collection[str]) -> str:
    """The figure that `word` means among those both sides have; `.PART` may follow a word as it follows a figure.

    Raises KvbenchError for a word that means nothing, nothing measured, or several figures.
    """
    if word in names:
        return word
    head, dot, part = word.partition(".")
    for base in ALIASES.get(head, (head,)):
        whole = f"{base}{dot}{part}"
        found = [name for name in names if name == whole or name.startswith(f"{whole}.")]
        if whole in found or len(found) == 1:
            return whole if whole in found else found[0]
        if found:
            raise KvbenchError(f"{word!r} may mean {', '.join(sorted(found))}: name one", ExitCode.USAGE)
    if head in ALIASES or head in FIGURES:
        have = ", ".join(sorted(names)) or "nothing"
        raise KvbenchError(
            f"{word!r} was not measured on both sides; in common they have: {have}", ExitCode.NOT_MEASURED
        )
    near = get_close_matches(head, [*ALIASES, *FIGURES], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(ALIASES)}, and any figure of docs/figures.md"
    raise KvbenchError(f"{word!r} is no metric; {hint}", ExitCode.USAGE)


def worse(metric: str) -> int:
    """+1 if growth of a figure is worse, -1 if loss is."""
    return -1 if metric.partition(".")[0] in LESS_IS_WORSE else 1
