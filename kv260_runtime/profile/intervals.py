"""Figures over runs and between models, each with its intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kv260_runtime.profile.result import Change, ModelResult, RunOutcome, Summary
from telemetry.comparison import within_session
from telemetry.errors import NotCovered
from telemetry.figures.figure import Figure
from telemetry.figures.within_run import BatchMeans
from telemetry.model import Stream
from telemetry.stats import mean, repeatability, sample_sd
from telemetry.uncertainty import RailLevels, accuracy, components_of


def summaries(runs: Sequence[RunOutcome], streams: Sequence[Stream]) -> dict[str, Summary]:
    """Every figure that any of the runs has, with its repeatability and its accuracy.

    `streams` are those of the session; what they state of gain, offset, resolution and averaging makes the budgets.
    """
    names = dict.fromkeys(name for run in runs for name in run.measured.figures)
    plain = {name: _spread(name, runs) for name in names}
    return {name: _with_accuracy(one, plain, runs, streams) for name, one in plain.items()}


def _spread(name: str, runs: Sequence[RunOutcome]) -> Summary:
    """Mean and sample SD over the runs that have the figure (the paper, section 2.6), and repeatability."""
    found = [run.measured.figures[name] for run in runs if name in run.measured.figures]
    values = tuple(one.value for one in found)
    several = len(values) > 1
    return Summary(
        name=name,
        unit=found[0].unit,
        mean=mean(values),
        sd=sample_sd(values) if several else None,
        values=values,
        source=found[0].source,
        repeatability=repeatability(values) if several else None,
    )


def _with_accuracy(
    one: Summary, all_of_them: Mapping[str, Summary], runs: Sequence[RunOutcome], streams: Sequence[Stream]
) -> Summary:
    try:
        levels = _levels(one.name.partition(".")[2], all_of_them, runs, streams)
        components = components_of(one.name, one.mean, levels)
        return replace(one, accuracy=accuracy(one.values, components, _only_batches(one, runs)))
    except NotCovered as reason:
        return replace(one, accuracy_unknown=str(reason))


def _levels(
    label: str, all_of_them: Mapping[str, Summary], runs: Sequence[RunOutcome], streams: Sequence[Stream]
) -> RailLevels | None:
    """The rail called `label` with its levels over the runs; None if no rail has that name or no power was measured."""
    rails = [one for one in streams if one.name in (f"power.{label}", f"energy.{label}")]
    power = all_of_them.get(f"power.{label}")
    if not rails or power is None:
        return None
    idle, ripple = (all_of_them.get(f"{name}.{label}") for name in ("idle_power", "power_ripple"))
    lengths = [run.measured.seconds for run in runs if run.measured.seconds]
    levels = RailLevels(rails[0], power.mean)
    if idle is not None:
        levels = replace(levels, idle_watts=idle.mean)
    if ripple is not None and lengths:
        levels = replace(levels, ripple_watts=ripple.mean, seconds=mean(lengths))
    return levels


def _only_batches(one: Summary, runs: Sequence[RunOutcome]) -> BatchMeans | None:
    """Batch means of the figure in the only run that has it."""
    found = [run.measured.within.get(one.name) for run in runs if one.name in run.measured.figures]
    return found[0] if len(found) == 1 else None


def changes(models: Sequence[ModelResult]) -> list[Change]:
    """Each later model against the first, figure by figure; none where the first is 0."""
    if not models:
        return []
    first, *others = models
    return [
        change(name, first, other)
        for other in others
        for name, base in first.summaries.items()
        if name in other.summaries and base.mean
    ]


def change(name: str, first: ModelResult, other: ModelResult) -> Change:
    """How a figure of `other` relates to that of `first`, by their means and by pairs of runs."""
    ratio = other.summaries[name].mean / first.summaries[name].mean
    before, after = paired_values(name, first, other)
    found = Change(name, other.name, ratio, pairs=len(before))
    if len(before) < 2:
        return replace(found, unpaired=f"{len(before)} pairs of runs have this figure, 2 needed")
    if min(*before, *after) <= 0:
        return replace(found, unpaired="a run has a value that is not positive")
    return replace(found, paired=within_session(before, after))


def paired_values(name: str, first: ModelResult, other: ModelResult) -> tuple[list[float], list[float]]:
    """Values of the kept formal runs of the same number in both models, in order."""
    before, after = _by_index(name, first), _by_index(name, other)
    common = [index for index in before if index in after]
    return [before[index].value for index in common], [after[index].value for index in common]


def _by_index(name: str, model: ModelResult) -> dict[int, Figure]:
    counted = [run for run in model.runs if run.kept and run.phase == "formal"]
    return {run.index: run.measured.figures[name] for run in counted if name in run.measured.figures}
