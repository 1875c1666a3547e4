"""Busy share of a GPU whose driver tells it as a plain number (Jetson)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from telemetry.errors import SensorNotFound
from telemetry.files import Files
from telemetry.model import Column
from telemetry.readers import Reader
from telemetry.readers.find import find
from telemetry.readers.number_files import NumberFile, NumbersReader
from telemetry.readers.options import decode


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the file lies, which differs between releases."""

    paths: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """Patterns under the root; the first that matches is read."""
    full_scale: Annotated[int, msgspec.Meta(gt=0)] = 1000
    """What the file says when the GPU is busy all the time."""


def open_readers(files: Files, root: Path, options: Mapping[str, Any]) -> list[tuple[str, Reader]]:
    """One stream `gpu` with the column `busy_ratio`, 0 to 1."""
    chosen = decode(Options, options, "gpu-load")
    found = [path for pattern in chosen.paths for path in find(files, root, pattern)]
    if not found:
        raise SensorNotFound(f"no GPU load file: {', '.join(chosen.paths)}")
    source = NumberFile(Column("busy_ratio", "1", "gauge"), partial(Path, found[0]))
    return [("gpu", NumbersReader(files, [source], 1 / chosen.full_scale, (0, 1), {"device": str(found[0].parent)}))]
