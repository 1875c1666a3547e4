"""Sessions made of run values, without samples."""

from __future__ import annotations

from kv260_runtime.compare.sides import Side
from kv260_runtime.profile.evaluate import model_result
from kv260_runtime.profile.result import ModelResult, ProfileResult, RunFigures, RunOutcome
from telemetry.figures.figure import Quality, figure
from telemetry.figures.within_run import BatchMeans
from telemetry.model import Column, Stream

RAIL = {"gain_u": "0.0015", "resolution_watts": "0.01", "boundary": "SOM 5 V rail"}
PLAN = {"duration_seconds": 62.0, "trim_seconds": 1.0, "idle_seconds": 3.0}
BOARD = {"profile": "kv260", "label": "KV260", "governor": "performance", "kernel": "5.15"}


def model(name="m", boundary="loop", rail=RAIL, threads=1, within=None, reasons=(), **values) -> ModelResult:
    """`values` has one value a run for each figure; `__` stands for a dot. `reasons` excludes runs by index."""
    runs = []
    for index in range(max(map(len, values.values()))):
        named = {key.replace("__", "."): series[index] for key, series in values.items() if series[index] is not None}
        figures = {
            key: figure(key.partition(".")[0], value, Quality(1000, 100.0, 0, 0, 1.0), key.partition(".")[2] or None)
            for key, value in named.items()
        }
        batches = {} if within is None else dict.fromkeys(figures, BatchMeans(1.0, within, 32, True))
        measured = RunFigures(figures, {}, (), batches, 60.0)
        kept = index not in reasons
        runs.append(RunOutcome(index + 1, name, "formal", index, 0, kept, None if kept else "bad", boundary, measured))
    stream = Stream("power.som", "hwmon-power", 10_000_000, (Column("watts", "W", "gauge"),), rail)
    return model_result({"name": name, "threads": threads}, runs, [stream])


def session(*models: ModelResult, path="s.kvs", rail=RAIL, **identity) -> ProfileResult:
    """A session of models on a KV260."""
    streams = [{"name": "power.som", "kind": "hwmon-power", "attributes": rail}]
    return ProfileResult(path, {**BOARD, **identity}, PLAN, models, [], streams=streams)


def side(*sessions: ProfileResult, name="m") -> Side:
    """The model `name` of each session."""
    return Side(sessions, tuple(next(one for one in made.models if one.name == name) for made in sessions))


def lone(path, *joules: float, identity=None, **options) -> Side:
    """A session of one model with these energies per execution."""
    power = [8.7] * len(joules)
    made = model(energy_per_execution__som=list(joules), power__som=power, throughput=[49.0] * len(joules), **options)
    return side(session(made, path=path, **(identity or {})))
