"""All checks in order, each family after what it rests on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kv260_runtime.boards import BoardSession
from kv260_runtime.doctor import averaging, dpu, host, interpreter, sampling, sensors
from kv260_runtime.doctor.check import Check
from kv260_runtime.doctor.recording import probing, record
from kv260_runtime.errors import KvbenchError
from kv260_runtime.profile.identity import query_dpu
from telemetry.boards import BoardProfile
from telemetry.clock import Clock
from telemetry.errors import TelemetryError
from telemetry.files import Files

Note = Callable[[str], None]


@dataclass(frozen=True)
class Question:
    """What is to be examined."""

    board: BoardSession
    profile: BoardProfile
    files: Files
    clock: Clock
    models: Sequence[Path] = ()
    seconds: float = 3.0
    """How long to sample; 0 leaves out all that takes time."""


def examine(question: Question, note: Note) -> Iterator[Check]:
    """Every check, as it is made; `note` is told what takes a while."""
    board, profile, files = question.board, question.profile, question.files
    needed = profile.accelerator is not None
    environment = {**os.environ, **board.environment}
    yield Check("board", "ok", f"{profile.title}: {board.label}" + (" (emulated)" if board.emulated else ""))
    yield host.check_python()
    if needed:
        yield from interpreter.check_vendor(environment, needed=True)
        yield dpu.check_overlay(files, board.root, needed=True)
        found = query_dpu(environment)
        yield dpu.check_dpu(found, needed=True)
        yield from dpu.check_users(files, board.root)
        yield from (dpu.check_model(model, found) for model in question.models)
    offered = sensors.check_sensors(files, board.root, profile)
    yield from offered
    if not any(check.status == "ok" for check in offered):
        yield Check("sensors", "fail", "none can be read", "see the remedies above")
    yield host.check_governor(files, board.root)
    yield host.check_disk(Path.cwd())
    yield host.check_service(board.root)
    if question.seconds > 0:
        yield from _sampling(question, note)
        yield from _averaging(question, note)


def _sampling(question: Question, note: Note) -> Iterator[Check]:
    note(f"sampling for {question.seconds:g} s")
    clock = question.clock

    def rest() -> None:
        clock.sleep_until_ns(clock.now_ns() + round(question.seconds * 1e9))

    try:
        found = record(question.board, question.profile, clock, rest)
    except TelemetryError as error:
        yield Check("recorder", "fail", str(error))
        return
    yield sampling.check_realtime(found)
    yield from sampling.check_sampling(found)


def _averaging(question: Question, note: Note) -> Iterator[Check]:
    kinds = {plan.kind for plan in question.profile.streams}
    if not {"xrt-cu", "hwmon-power"} <= kinds:
        yield Check("averaging time", "absent", "not measured: the board has no accelerator to load it with")
        return
    with TemporaryDirectory(prefix="kvbench-doctor-") as folder:
        model = question.models[0] if question.models else None
        if model is None and question.board.emulated:
            model = averaging.demo_model(Path(folder))
        if model is None:
            yield averaging.skipped("that takes a model as load, and none is given")
            return
        note(f"switching {model.name} on and off for some seconds")
        chosen = model
        try:
            found = record(
                question.board,
                probing(question.profile),
                question.clock,
                lambda: averaging.square_wave(question.board, chosen, question.clock),
            )
        except (TelemetryError, KvbenchError) as error:
            yield averaging.skipped(str(error))
            return
    yield from averaging.check_averaging(found)
