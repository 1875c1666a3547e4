"""Lines of external commands, as users posted them, to markers, counts, verdicts and faults."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ConfigError
from telemetry.markers import PatternParser, XdputilParser
from telemetry.model import Marker, Window

SECOND = 1_000_000_000
OLD = "I0531 03:26:06.922271  1163 performance_test.hpp:{line}] "
NEW = "I20240531 03:26:06.922271 547201163 performance_test.hpp:{line}] "


def transcript(prefix: str = OLD) -> list[str]:
    """A good run of two threads."""
    progress = [f"{prefix.format(line=76)}{percent}% ..." for percent in range(10, 101, 10)]
    return [
        "WARNING: Logging before InitGoogleLogging() is written to STDERR",
        f"{prefix.format(line=474)}shuffle results for batch...",
        f"{prefix.format(line=73)}0% ...",
        *progress,
        f"{prefix.format(line=79)}stop and waiting for all threads terminated....",
        f"{prefix.format(line=85)}thread-0 processes 18855 frames",
        f"{prefix.format(line=85)}thread-1 processes 18856 frames",
        f"{prefix.format(line=93)}it takes 3656 us for shutdown",
        f"{prefix.format(line=94)}FPS= 628.476 number_of_frames= 37711 time= 60.0038 seconds.",
        f"{prefix.format(line=96)}BYEBYE",
        "Test PASS.",
    ]


def feed(lines: list[str], parser: XdputilParser | None = None) -> XdputilParser:
    """Line i arrives at second i."""
    parser = parser or XdputilParser()
    for second, line in enumerate(lines):
        parser.feed(second * SECOND, line.encode())
    return parser


@pytest.mark.parametrize("prefix", [OLD, NEW, ""], ids=["old glog", "new glog", "no glog"])
def test_a_good_run_of_xdputil_is_read_whole(prefix: str) -> None:
    result = feed(transcript(prefix)).result()
    assert [marker.name for marker in result.markers] == [f"{percent}%" for percent in range(0, 101, 10)]
    assert result.window == Window(2 * SECOND, 12 * SECOND)
    assert result.frames_per_thread == {0: 18855, 1: 18856}
    assert (result.frames, result.seconds, result.frames_per_second) == (37711, 60.0038, 628.476)
    assert (result.verdict, result.faults) == ("passed", ())


def test_markers_carry_the_instant_of_arrival_and_are_given_at_once() -> None:
    parser = XdputilParser()
    assert parser.feed(123, b"I0531 03:26:06.922271  1163 performance_test.hpp:73] 0% ...\n") == [Marker(123, "0%")]
    assert parser.feed(124, b"I0531 03:26:06.922271  1163 performance_test.hpp:79] stop\r\n") == []


def test_the_source_line_number_of_a_log_line_is_no_marker() -> None:
    parser = XdputilParser()
    assert parser.feed(0, b"I0531 03:26:06.922271  1163 performance_test.hpp:50] about 40% of it") == []
    assert parser.feed(0, b"I0531 03:26:06.922271  1163 odd% ...hpp:50] nothing") == []
    assert parser.feed(0, b"400% ...") == []


def test_frames_of_threads_stand_above_the_rounded_total() -> None:
    lines = [
        "thread-0 processes 1234571 frames",
        "FPS= 2.05762e+04 number_of_frames= 1.23457e+06 time= 60.0001 seconds.",
    ]
    result = feed(lines).result()
    assert (result.frames, result.frames_per_second) == (1234571, 20576.2)
    assert feed(lines[1:]).result().frames == 1234570


def test_a_failed_test_is_failed_whatever_else_is_said() -> None:
    lines = [line for line in transcript() if line != "Test PASS."]
    assert feed(lines).result().verdict == "unknown"
    assert feed([*lines, "Test Failed!!!"]).result().verdict == "failed"
    assert feed([*lines, "Test Failed!!!", "Test PASS."]).result().verdict == "failed"


def test_a_run_without_its_last_marker_has_no_window() -> None:
    lines = [line for line in transcript() if "100%" not in line]
    assert feed(lines).result().window is None
    assert feed(["100% ...", "0% ..."]).result().window is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("F0531 03:26:16.1  1163 dpu_control_xrt_edge.cpp:146] dpu timeout! core_idx = 0", "dpu-timeout"),
        ("W0531 03:26:16.123456  1163 dpu_runner_base_imp.cpp:696] CHECK fingerprint fail! model 0x1", "fingerprint"),
        ("F0531 03:26:16.123456  1163 runner_helper.cpp:67] Check failed: a == b (1 vs. 2)", "check-failed"),
        ("model.xmodel does not exist", "missing-input"),
        ("/usr/bin/xdputil: line 20:  1163 Aborted                 /usr/bin/python3 -m xdputil $*", "aborted"),
        ("F20240531 03:26:16.123456  1163 thing.cpp:1] something nobody listed", "fatal"),
    ],
)
def test_a_fault_is_named_and_keeps_its_line(line: str, code: str) -> None:
    [fault] = feed([*transcript()[:5], line]).result().faults
    assert (fault.code, fault.text, fault.t_ns) == (code, line, 5 * SECOND)


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_line_is_too_odd_to_be_fed(lines: list[bytes]) -> None:
    parsers = XdputilParser(), PatternParser("a", "b", r"(\S+)")
    for parser in parsers:
        for line in lines:
            parser.feed(0, line)
        parser.result()


@given(st.lists(st.sampled_from(["noise", "I0531 03:26:06.9  1 a.cpp:3] waiting", "", "5 of 10% done"]), max_size=30))
def test_lines_between_change_nothing(noise: list[str]) -> None:
    lines = transcript()
    mixed = [line for position, good in enumerate(lines) for line in (good, *noise[position::13])]
    quiet, loud = feed(lines).result(), feed(mixed).result()
    assert [marker.name for marker in loud.markers] == [marker.name for marker in quiet.markers]
    assert (loud.frames, loud.seconds, loud.verdict, loud.faults) == (quiet.frames, quiet.seconds, "passed", ())


def test_a_users_patterns_bound_the_window_and_count_completions() -> None:
    parser = PatternParser(begin="^start", end="^stop", count="^image done")
    for second, line in enumerate([b"loading", b"start", b"image done", b"image done", b"stop", b"stop again"]):
        parser.feed(second * SECOND, line)
    result = parser.result()
    assert result.window == Window(1 * SECOND, 4 * SECOND)
    assert (result.frames, result.completions_ns) == (2, (2 * SECOND, 3 * SECOND))


def test_a_group_in_the_count_pattern_is_the_total_so_far() -> None:
    parser = PatternParser(begin="go", end="end", count=r"(\S+) images")
    for second, line in enumerate([b"go", b"10 images", b"20 images", b"end"]):
        parser.feed(second, line)
    assert (parser.result().frames, parser.result().completions_ns) == (20, ())
    parser.feed(9, b"many images")
    assert parser.result().faults[0].code == "not-a-count"


@pytest.mark.parametrize(
    ("patterns", "complaint"),
    [
        ({"begin": "(", "end": "x"}, r"begin pattern '\(' is not a regular expression"),
        ({"begin": "x"}, "needs an end pattern"),
        ({"end": "x"}, "needs an end pattern"),
    ],
)
def test_wrong_patterns_are_refused_in_one_line(patterns: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        PatternParser(**patterns)
