"""A comparison for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kv260_runtime.compare.comparing import CompareResult, MetricResult, Verdict
from kv260_runtime.compare.planner import PlanResult
from kv260_runtime.profile.progress import duration
from kv260_runtime.report import words
from kv260_runtime.report.columns import aligned
from kv260_runtime.report.intervals import HEADLINES, ratio_in_words
from kv260_runtime.report.rows import Row, shown_rows
from telemetry.comparison import Answer

WIDTH = 120


def render(result: CompareResult) -> str:
    """Both sides, the table, the verdicts."""
    lines = [words.label(result.before.sessions[0])]
    lines += [
        f"{letter}: {side.label} ({words.count(side.kept, 'run')})"
        for letter, side in (("A", result.before), ("B", result.after))
    ]
    lines += [result.method, *(f"forced: {reason}" for reason in result.refused)]
    lines += [f"warning: {warning}" for warning in result.warnings]
    lines = [line for text in lines for line in textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
    return "\n".join([*lines, "", *_table(result), "", *_verdicts(result)]).rstrip() + "\n"


def _table(result: CompareResult) -> Iterator[str]:
    judged = [verdict.limit.metric for verdict in result.verdicts]
    rows = [["", "unit", "A", "B", "change, 95 % interval"]]
    unknown: dict[str, None] = {}
    for name, row in _rows(result, judged):
        one = result.metrics[name]
        rows.append([row.label.strip(), row.unit, *_means(one, row), _change(one)])
        if one.unknown:
            unknown[one.unknown] = None
    yield from aligned(rows)
    yield from (f"no interval: {reason}" for reason in unknown)


def _rows(result: CompareResult, judged: list[str]) -> list[tuple[str, Row]]:
    """Headline figures and whatever has a limit, in reading order; figures without a row under their own name."""
    rows = [pair for pair in shown_rows(result.metrics) if pair[0].partition(".")[0] in HEADLINES or pair[0] in judged]
    shown = {name for name, _ in rows}
    return rows + [(name, Row(name, name, result.metrics[name].unit)) for name in judged if name not in shown]


def _means(one: MetricResult, row: Row) -> list[str]:
    return [f"{value * row.scale:.5g}" for value in (one.before, one.after)]


def _change(one: MetricResult) -> str:
    if one.comparison is not None:
        return ratio_in_words(one.comparison.ratio)
    return f"{100 * (one.after / one.before - 1):+.2f} %" if one.before else "-"


def _verdicts(result: CompareResult) -> Iterator[str]:
    narrower = "more or longer runs" if result.paired else "more sessions on each side, or both models in one session,"
    for verdict in result.verdicts:
        yield from textwrap.wrap(_verdict(verdict, result, narrower), WIDTH, subsequent_indent="  ")


def _verdict(verdict: Verdict, result: CompareResult, narrower: str) -> str:
    """One limit in words."""
    limit = f"{verdict.limit.metric} {100 * verdict.limit.change:+g} %"
    if verdict.reason is not None:
        return f"{verdict.answer.value}: {limit}: {verdict.reason}"
    why = {
        Answer.PASS: "the whole interval lies within the limit",
        Answer.REGRESSION: "the whole interval lies beyond the limit",
        Answer.INCONCLUSIVE: f"the interval holds the limit; {narrower} narrow it (--plan)",
    }[verdict.answer]
    return f"{verdict.answer.value}: {limit}: {_change(result.metrics[verdict.limit.metric])}: {why}"


def render_plan(found: PlanResult) -> str:
    """The runs needed, one line a length."""
    lines = [
        f"to find {100 * found.change:+g} % of {found.metric} beyond a limit of {100 * found.limit:+g} %, "
        "both models in turn in one session (two sessions: each in its own):",
        f"runs of {found.spread.seconds:.3g} s spread by {100 * found.spread.runs:.2g} %, "
        f"{100 * found.spread.within:.2g} % of it within a run",
    ]
    if found.note:
        lines.append(found.note)
    lines = [line for text in lines for line in textwrap.wrap(text, WIDTH)]
    if not found.rows:
        return "\n".join([*lines, "no length tried does with 200 runs or fewer"]) + "\n"
    rows = [["--duration", "--runs", "found", "in two sessions", "takes"]]
    rows += [
        [
            f"{one.duration_seconds:g}",
            str(one.runs),
            f"{100 * one.probability:.0f} %",
            f"{100 * one.probability_between:.0f} %",
            duration(round(one.total_seconds * 1e9)),
        ]
        for one in found.rows
    ]
    return "\n".join([*lines, *aligned(rows)]) + "\n"
