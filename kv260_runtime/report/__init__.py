"""Results as text: one file a format, `Result -> str`; no file is opened here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kv260_runtime.profile.result import ProfileResult

if TYPE_CHECKING:
    from kv260_runtime.profile.timeline import Timeline

FORMATS: Mapping[str, str] = {
    "table": "kv260_runtime.report.table:render",
    "json": "kv260_runtime.report.json:render",
    "budget": "kv260_runtime.report.budget:render",
    "csv": "kv260_runtime.report.csv:render",
    "markdown": "kv260_runtime.report.markdown:render",
    "html": "kv260_runtime.report.html:render",
    "trace": "kv260_runtime.report.trace:render",
    "pytest-benchmark": "kv260_runtime.report.pytest_benchmark:render",
}
"""Format name to `module:callable(ProfileResult) -> str`, imported when asked for.

Those in TIMELINES take a Timeline as their second argument.
"""


@dataclass(frozen=True)
class Detail:
    """How finely a format wants the session drawn."""

    most_bins: int
    least_bin_ns: int
    most_executions: int = 0
    """How many single executions it can take."""


TIMELINES: Mapping[str, Detail] = {
    "html": Detail(most_bins=1_200, least_bin_ns=100_000_000),
    "trace": Detail(most_bins=20_000, least_bin_ns=10_000_000, most_executions=200_000),
}


def renderer(name: str) -> Callable[[ProfileResult], str]:
    """The function that renders a result in the format called `name`, one that needs no timeline."""
    render: Callable[[ProfileResult], str] = _function(name)
    return render


def timeline_renderer(name: str) -> Callable[[ProfileResult, Timeline], str]:
    """The function of a format that is in TIMELINES."""
    render: Callable[[ProfileResult, Timeline], str] = _function(name)
    return render


def _function(name: str) -> Any:  # noqa: ANN401  what a row of FORMATS names
    module, _, function = FORMATS[name].partition(":")
    return getattr(import_module(module), function)
