"""The lines of clients: what is understood, and what a wrong one is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import client
from telemetry.errors import ConfigError
from telemetry.service import requests
from telemetry.service.requests import USAGE, Between, Flush, Mark, Request, Status, Subscribe, parse_request


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ("status", Status()),
        (" flush\r", Flush()),
        ("mark load.begin", Mark("load.begin", None)),
        ("mark Größe 12", Mark("Größe", 12)),
        ("subscribe cu power.som", Subscribe(("cu", "power.som"))),
        ("subscribe *", Subscribe(("*",))),
        ("joules 1 2", Between("joules", 1, 2, None)),
        ("joules 1 2 som", Between("joules", 1, 2, "som")),
        ("bytes 1 2", Between("bytes", 1, 2, None)),
        ("busy 1 2 DPU_1", Between("busy", 1, 2, "DPU_1")),
    ],
)
def test_requests_are_understood(line: str, request_: Request) -> None:
    assert parse_request(line) == request_


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "unknown request ''; known: status, flush"),
        ("energy 1 2", "unknown request 'energy'"),
        ("status now", "expected: status"),
        ("mark", "expected: mark NAME"),
        ("mark two words", "'words' is no time"),
        ("mark a 1 2", "expected: mark NAME"),
        (f"mark {'x' * 121}", "at most 120 printable characters"),
        ("mark \x07", "printable"),
        ("subscribe", "expected: subscribe NAME"),
        ("joules 1", "expected: joules START_NS END_NS"),
        ("joules 1 2 som extra", "expected: joules"),
        ("bytes 1 2 3", "expected: bytes START_NS END_NS"),
        ("joules 2 2", "the end 2 is not after the start 2"),
        ("joules -1 2", "'-1' is no time"),
        ("joules 1.5 2", "'1.5' is no time"),
        ("joules 1 9999999999999999999", "is no time"),
        ("joules ١ ٢", "is no time"),
    ],
)
def test_a_wrong_request_is_told_what_would_be_right(line: str, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_request(line)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=200) | st.builds(lambda word, rest: f"{word} {rest}", st.sampled_from(list(USAGE)), st.text()))
def test_no_line_does_anything_but_parse_or_be_refused(line: str) -> None:
    try:
        parse_request(line)
    except ConfigError as refused:
        assert len(str(refused)) < 300


def test_client_and_service_speak_the_same_protocol() -> None:
    assert client.PROTOCOL == requests.PROTOCOL
    assert set(client.QUANTITIES) == set(requests.QUANTITIES)
