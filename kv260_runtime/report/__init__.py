"""Results as text: one file a format, `Result -> str`; no file is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from kv260_runtime.profile.result import ProfileResult

FORMATS: Mapping[str, str] = {
    "table": "kv260_runtime.report.table:render",
    "json": "kv260_runtime.report.json:render",
    "csv": "kv260_runtime.report.csv:render",
    "markdown": "kv260_runtime.report.markdown:render",
}
"""Format name to `module:callable(ProfileResult) -> str`, imported when asked for."""


def renderer(name: str) -> Callable[[ProfileResult], str]:
    """The function that renders a result in the format called `name`."""
    module, _, function = FORMATS[name].partition(":")
    render: Callable[[ProfileResult], str] = getattr(import_module(module), function)
    return render
