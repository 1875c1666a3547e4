"""Options of the board, as strings from a command line, checked."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from virtual_board.errors import VirtualBoardError
from virtual_board.faults import Fault, parse_faults
from virtual_board.plan import segment_from_json

T = TypeVar("T", int, float)

FINGERPRINTS = {"2.5": 0x0101_0000_1601_0407, "3.0": 0x0101_0000_5601_0407}
"""Vitis AI release to the fingerprint of its B4096 (board facts, 1.7)."""

NAMES = ("seed", "draw", "fault", "dpu", "timing", "log", "apm", "power", "observer")


@dataclass(frozen=True)
class Options:
    """What `open_board` was asked for."""

    seed: int = 1
    draw: float = 0.0
    """Half-width of the draw of constants, relative."""
    fingerprint: int = 0
    """Of the DPU in the loaded overlay."""
    timing: dict[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    log: Path | None = None
    apm: bool = True
    power: bool = True
    charged: bool = True
    """Whether the CPU time of observers appears on the emulated cores."""


def parse_options(options: Mapping[str, str]) -> Options:
    """Check every option; VirtualBoardError names the first wrong one and the remedy."""
    for name in options:
        if name not in NAMES:
            close = difflib.get_close_matches(name, NAMES, 1)
            hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(NAMES)}"
            raise VirtualBoardError(f"the virtual board has no option {name!r}; {hint}")
    draw = _number(options, "draw", float, 0.0)
    if not 0 <= draw < 1:
        raise VirtualBoardError(f"draw={options['draw']}: give a share from 0 to below 1, e.g. draw=0.1")
    dpu = options.get("dpu", "3.0")
    if dpu not in FINGERPRINTS:
        raise VirtualBoardError(f"dpu={dpu}: expected {' or '.join(FINGERPRINTS)}, the release a model is compiled for")
    return Options(
        fingerprint=FINGERPRINTS[dpu],
        seed=_number(options, "seed", int, 1),
        draw=draw,
        timing=read_timing(Path(options["timing"])) if "timing" in options else {},
        faults=parse_faults(options.get("fault", "")),
        log=_log_path(options["log"]) if "log" in options else None,
        apm=_choice(options, "apm", "present", "absent"),
        power=_choice(options, "power", "present", "absent"),
        charged=_choice(options, "observer", "charged", "ignored"),
    )


def read_timing(path: Path) -> dict[str, Any]:
    """A timing file: {model file name: {"overhead_ns": n, "segments": [...]}}, checked."""
    try:
        timing = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise VirtualBoardError(f"timing={path}: {error.strerror}") from error
    except ValueError as error:
        raise VirtualBoardError(f"timing={path}: not JSON: {error}") from error
    if not isinstance(timing, dict):
        raise VirtualBoardError(f"timing={path}: expected an object with model file names as keys")
    for model, entry in timing.items():
        place = f"timing={path}: {model}"
        if not isinstance(entry, dict) or set(entry) - {"overhead_ns", "segments"} or not entry.get("segments"):
            raise VirtualBoardError(f"{place}: expected overhead_ns and a list of segments")
        if not isinstance(entry.get("overhead_ns", 0), int):
            raise VirtualBoardError(f"{place}: overhead_ns is no whole number of nanoseconds")
        for segment in entry["segments"]:
            segment_from_json(segment, place)
    return timing


def _log_path(text: str) -> Path:
    path = Path(text).absolute()
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise VirtualBoardError(f"log={text}: cannot be written; name a file in a folder that exists and is yours")
    return path


def _number(options: Mapping[str, str], name: str, kind: type[T], default: T) -> T:
    try:
        return kind(options[name]) if name in options else default
    except ValueError:
        raise VirtualBoardError(f"{name}={options[name]}: expected a number") from None


def _choice(options: Mapping[str, str], name: str, yes: str, no: str) -> bool:
    value = options.get(name, yes)
    if value not in (yes, no):
        raise VirtualBoardError(f"{name}={value}: expected {yes} or {no}")
    return value == yes
