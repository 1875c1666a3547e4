"""A view as lines of a given width: for a terminal with bars and colours, for everything else in one plain line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from kv260_runtime.top.view import View

if TYPE_CHECKING:
    from rich.text import Text

BLOCKS = " ▏▎▍▌▋▊▉█"
LEVELS = "▁▂▃▄▅▆▇█"
LABEL = 14
BUSY_FROM, FULL_FROM = 0.5, 0.9
SLOW_SECONDS = 1e-3
LEAST_WATTS = 0.2
"""A trend over less is the sensor's noise."""
Segment = tuple[str, str]
"""A piece of text and its style."""
Line = list[Segment]
DIM, HEAD = "dim", "bold"


def bar(share: float, width: int) -> str:
    """A bar of eighths of a character, `width` long."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    whole, rest = divmod(eighths, 8)
    return (BLOCKS[8] * whole + (BLOCKS[rest] if rest else "")).ljust(width)


def sparkline(values: Sequence[float], width: int, least_span: float) -> str:
    """The latest values from the least of them up, over their span or `least_span`: a steady value is a low line."""
    shown = values[-width:]
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    span = max(high - low, least_span)
    return "".join(LEVELS[int((value - low) / span * (len(LEVELS) - 1) + 0.5)] for value in shown)


def screen(view: View, title: str, width: int, height: int) -> list[Line]:
    """The whole picture; parts of least use are left out where the screen is too low."""
    sections = [list(section) for section in _sections(view, width)]
    lines: list[Line] = [[(title[:width], HEAD)]]
    for section in sections:
        if section and len(lines) + 1 + len(section) <= height - 1:
            lines += [[], *section]
        elif section and len(lines) + len(section) <= height - 1:
            lines += section
    footer = "Ctrl-C ends"
    return [*lines[: height - 1], [(footer, DIM)]]


def as_text(lines: Sequence[Line]) -> Text:
    """Lines for rich."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="crop")
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        for words, style in line:
            text.append(words, style or None)
    return text


def plain(lines: Sequence[Line]) -> str:
    """Lines without styles."""
    return "\n".join("".join(words for words, _ in line).rstrip() for line in lines)


def one_line(view: View) -> str:
    """The same in one line, for logs."""
    parts = [f"{unit} {100 * share:.1f} %" for unit, share in view.busy.items()]
    if view.cores:
        parts.append(f"cores {100 * sum(view.cores.values()) / len(view.cores):.1f} %")
    parts += [f"{rail} {watts:.2f} W" for rail, watts in view.watts.items()]
    for way in ("read", "write"):
        if moved := [rate for name, rate in view.bytes_per_second.items() if name.startswith(f"{way}.")]:
            parts.append(f"{way} {sum(moved) / 1e6:.1f} MB/s")
    parts += [f"{name} {celsius:.1f} °C" for name, celsius in list(view.celsius.items())[:1]]
    return "  ".join(parts) or "nothing is sampled yet"


def _sections(view: View, width: int) -> Iterator[Iterator[Line]]:
    """In the order of use: what comes first is left out last."""
    yield _units(view, width)
    yield _rails(view, width)
    yield _cores(view, width)
    yield _ports(view, width)
    yield _temperatures(view, width)
    yield _sampler(view, width)
    yield _absent(view, width)


def _units(view: View, width: int) -> Iterator[Line]:
    for unit, share in view.busy.items():
        runs = view.runs_per_second.get(unit)
        tail = f" {100 * share:5.1f} %" + ("" if runs is None else f"  {runs:8.1f} runs/s")
        yield [(unit[:LABEL].ljust(LABEL), ""), (bar(share, width - LABEL - len(tail)), _colour(share)), (tail, "")]


def _rails(view: View, width: int) -> Iterator[Line]:
    for rail, watts in view.watts.items():
        trend = view.trends.get(rail, ())
        value = f"{watts:8.3f} W  "
        spans = f" {min(trend):.2f}..{max(trend):.2f} W" if trend else ""
        room = width - LABEL - len(value) - len(spans)
        line = sparkline(trend, room, LEAST_WATTS)
        yield [(rail[:LABEL].ljust(LABEL), ""), (value, HEAD), (line, "cyan"), (spans, DIM)]


def _cores(view: View, width: int) -> Iterator[Line]:
    half = width // 2 - 1
    cells = [_core(name, share, half) for name, share in view.cores.items()]
    for left, right in zip_longest(cells[::2], cells[1::2], fillvalue=[("", "")]):
        yield [*left, ("  ", ""), *right]


def _core(name: str, share: float, width: int) -> Line:
    tail = f" {100 * share:5.1f} %"
    return [(name.ljust(6), ""), (bar(share, width - 6 - len(tail)), _colour(share)), (tail, "")]


def _ports(view: View, width: int) -> Iterator[Line]:
    ports = list(dict.fromkeys(name.partition(".")[2] for name in view.bytes_per_second))
    if not ports:
        return
    yield [("MB/s".ljust(LABEL), HEAD), *((port.rjust(9), DIM) for port in [*ports, "total"])]
    for way in ("read", "write"):
        rates = [view.bytes_per_second.get(f"{way}.{port}", 0.0) / 1e6 for port in ports]
        cells = [f"{rate:9.1f}" for rate in [*rates, sum(rates)]]
        yield [(way.ljust(LABEL), ""), ("".join(cells)[: width - LABEL], "")]


def _temperatures(view: View, width: int) -> Iterator[Line]:
    cells = [f"{name.rpartition('.')[2]} {celsius:.1f}" for name, celsius in view.celsius.items()]
    if cells:
        yield [("°C".ljust(LABEL), HEAD), ("   ".join(cells)[: width - LABEL], "")]


def _sampler(view: View, width: int) -> Iterator[Line]:
    cells = [
        (f"{name} {one.hertz:.4g} Hz, {1e3 * one.late_p99_seconds:.2f} ms", one.late_p99_seconds > SLOW_SECONDS)
        for name, one in view.sampler.items()
        if one.hertz is not None and one.hertz > 1.5
    ]
    if cells:
        yield [("late (p99)".ljust(LABEL), HEAD), *_fitting(cells, width - LABEL)]


def _fitting(cells: Sequence[tuple[str, bool]], room: int) -> Line:
    line: Line = []
    for words, is_late in cells:
        room -= len(words) + 3
        if room < -3:
            break
        line += [(words, "yellow" if is_late else ""), ("   ", "")]
    return line


def _absent(view: View, width: int) -> Iterator[Line]:
    for name, reason in view.absent.items():
        yield [(f"no {name}: {reason}"[:width], DIM)]


def _colour(share: float) -> str:
    return "red" if share >= FULL_FROM else "yellow" if share >= BUSY_FROM else "green"
