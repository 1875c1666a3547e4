"""Answers requests from what the service knows, or says how long to wait; no socket is touched here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from telemetry.errors import NotCovered
from telemetry.model import Series, Stream
from telemetry.service import answers
from telemetry.service.ledger import Ledger
from telemetry.service.requests import Between, Flush, Mark, Request, Status, Subscribe

PATIENCE_NS = 2_000_000_000
PATIENCE_PERIODS = 3
"""How long after its end samples of a span may still come: the longer of both."""
AHEAD_NS_MAX = 60_000_000_000

Reply = dict[str, Any]


class Desk:
    """Knows the answers; `describe` gives what stands around the ledger."""

    def __init__(self, ledger: Ledger, describe: Callable[[], Reply]) -> None:
        self._ledger = ledger
        self._describe = describe

    def due_ns(self, request: Request, now_ns: int) -> int | None:
        """From when a flush can complete the answer; None if there is nothing to wait for."""
        if self._ledger.last.t_ns == 0 and not isinstance(request, Mark):
            return now_ns  # the recorder has only just been started: nobody knows yet which streams there are
        if not isinstance(request, Between):
            return None
        try:
            history = answers.source_of(request, self._ledger.histories)
        except NotCovered:
            return None
        needed_ns, period_ns = answers.needed_until_ns(request, history), history.stream.period_ns
        if request.end_ns > now_ns + AHEAD_NS_MAX:
            return None
        if history.last_ns is not None and history.last_ns >= needed_ns:
            return None
        if now_ns > needed_ns + max(PATIENCE_NS, PATIENCE_PERIODS * period_ns):
            return None
        return needed_ns + period_ns

    def answer(self, request: Request, now_ns: int) -> Reply:
        """The reply as it can be given now; waiting for samples and sending marks on is the caller's."""
        if isinstance(request, Between):
            return self._between(request, now_ns)
        if isinstance(request, Mark):
            return {"ok": True, "name": request.name, "t_ns": request.t_ns}
        if isinstance(request, Flush):
            return {"ok": True, "t_ns": self._ledger.last.t_ns}
        if isinstance(request, Subscribe):
            return self._subscribed(request)
        assert isinstance(request, Status)
        return {"ok": True, **self._describe(), "streams": [described(s) for s in self._ledger.streams()]}

    def _between(self, request: Between, now_ns: int) -> Reply:
        if request.end_ns > now_ns + AHEAD_NS_MAX:
            return refusal("request", f"the end lies {(request.end_ns - now_ns) / 1e9:.0f} s in the future")
        try:
            history = answers.source_of(request, self._ledger.histories)
            return answers.answer(request, history)
        except NotCovered as error:
            return refusal("not-covered", str(error))

    def _subscribed(self, request: Subscribe) -> Reply:
        known = {stream.name: stream for stream in self._ledger.streams()}
        unknown = [name for name in request.streams if name != "*" and name not in known]
        if unknown:
            return refusal("request", f"no stream {unknown[0]}; there is {', '.join(known)}")
        wanted = known if "*" in request.streams else request.streams
        return {"ok": True, "streams": [described(known[name]) for name in wanted]}


def refusal(error: str, reason: str) -> Reply:
    """`request` is the client's fault, `not-covered` is nobody's."""
    return {"ok": False, "error": error, "reason": reason}


def described(stream: Stream) -> Reply:
    """A stream as it is told to clients."""
    columns = [asdict(column) for column in stream.columns]
    return {
        "name": stream.name,
        "kind": stream.kind,
        "period_ns": stream.period_ns,
        "columns": columns,
        "attributes": dict(stream.attributes),
    }


def news(series: Series) -> Reply:
    """New samples and gaps as they are told to subscribers."""
    return {
        "samples": series.stream.name,
        "t_ns": series.t_ns.tolist(),
        "late_ns": series.late_ns.tolist(),
        "columns": [series.values[column.name].tolist() for column in series.stream.columns],
        "gaps": [[gap.start_ns, gap.end_ns, gap.reason, gap.missed] for gap in series.gaps],
    }
