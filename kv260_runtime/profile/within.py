"""What one run alone tells of the error of its figures: batch means, where batches can be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kv260_runtime.profile.figures import Question
from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure
from telemetry.figures.within_run import BatchMeans, energy_within_run, power_within_run, seconds_within_run


def within_run(question: Question, figures: Mapping[str, Figure]) -> dict[str, BatchMeans]:
    """Batch means by figure, relative to their own mean; a run too short or not covered has none."""
    found = {}
    for names, ask in _asked(question, figures):
        present = [name for name in names if name in figures]
        if not present:
            continue
        try:
            batches = ask()
        except NotCovered:
            continue
        found.update(dict.fromkeys(present, batches))
    return found


def _asked(
    question: Question, figures: Mapping[str, Figure]
) -> Iterator[tuple[tuple[str, ...], Callable[[], BatchMeans]]]:
    """Figures that share one relative error, and how to find it."""
    facts = question.facts
    if facts.timed:
        yield (
            ("throughput", "reciprocal_latency", "latency_mean"),
            lambda: seconds_within_run(facts.end_ns, question.trimmed()),
        )
    for rail in (name.partition(".")[2] for name in figures if name.startswith("power.")):
        yield from _rail(question, rail)


def _rail(question: Question, label: str) -> Iterator[tuple[tuple[str, ...], Callable[[], BatchMeans]]]:
    stream = next(name for name in question.rails() if name.partition(".")[2] == label)

    def over_time() -> BatchMeans:
        return power_within_run(question.series(stream), question.steady())

    def over_executions() -> BatchMeans:
        return energy_within_run(question.series(stream), question.facts.end_ns, question.trimmed())

    yield (f"power.{label}",), over_time
    # Where executions have no times their rate is taken as constant, and the power alone varies.
    per_execution = (f"energy_per_execution.{label}", f"throughput_per_watt.{label}")
    yield per_execution, over_executions if question.facts.timed else over_time
