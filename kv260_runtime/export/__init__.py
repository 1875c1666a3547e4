"""A session's raw samples for other programs: one file a format, `write(source, stream names, out)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from telemetry.session.reader import SessionReader

FORMATS: Mapping[str, str] = {
    "csv": "kv260_runtime.export.csv:write",
    "npz": "kv260_runtime.export.npz:write",
    "parquet": "kv260_runtime.export.parquet:write",
}
"""Format name to `module:callable(SessionReader, stream names, Path)`, imported when asked for."""

Write = Callable[[SessionReader, Sequence[str], Path], None]


def writer(name: str) -> Write:
    """The function that writes the format called `name`."""
    module, _, function = FORMATS[name].partition(":")
    write: Write = getattr(import_module(module), function)
    return write
