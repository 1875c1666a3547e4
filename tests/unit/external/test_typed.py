"""Readings typed in, during runs and afterwards."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kv260_runtime.errors import KvbenchError
from kv260_runtime.external.typed import Prompter, ask_afterwards, parse_seconds, parse_watts
from telemetry.model import Window
from tests.unit.external.test_pulse import StepClock

SECOND = 1_000_000_000


class Desk:
    """A prompter with somebody before it."""

    def __init__(self, *seconds):
        self.clock = StepClock()
        read, self._keyboard = os.pipe()
        self._answers = os.fdopen(read)
        self.screen = io.StringIO()
        self.prompter = Prompter(seconds, self.clock, self._answers, self.screen)

    def at(self, second, phase="running"):
        self.clock.t_ns = 1000 + round(second * SECOND)
        self.prompter.tick(phase)

    def types(self, text):
        os.write(self._keyboard, text.encode())

    def leaves(self):
        os.close(self._keyboard)
        self._keyboard = None

    def close(self):
        if self._keyboard is not None:
            os.close(self._keyboard)
        self._answers.close()


@pytest.fixture
def desk():
    made = Desk(10, 20)
    yield made
    made.close()


def test_a_reading_belongs_to_the_instant_of_its_question(desk):
    desk.at(100, "idle")
    desk.at(103)
    desk.at(112.9)
    assert desk.screen.getvalue() == ""
    desk.at(113)
    assert desk.screen.getvalue() == "10 s: reading of the meter in W? "
    desk.types("12,5\n")
    desk.at(117)
    desk.at(123)
    desk.types("12.6\n")
    desk.at(125)

    assert desk.prompter.readings == {1000 + 113 * SECOND: 12.5, 1000 + 123 * SECOND: 12.6}


def test_each_run_is_asked_anew(desk):
    for begin in (0, 100):
        desk.at(begin)
        desk.at(begin + 10)
        desk.types("12.5\n")
        desk.at(begin + 11)
        desk.at(begin + 30, "idle")

    assert desk.screen.getvalue().count("10 s:") == 2
    assert list(desk.prompter.readings) == [1000 + 10 * SECOND, 1000 + 110 * SECOND]


def test_what_is_no_reading_is_asked_again_and_half_a_line_is_waited_for(desk):
    desk.at(0)
    desk.at(10)
    desk.types("12.x\n12")
    desk.at(11)
    assert "'12.x' is no reading in W; again? " in desk.screen.getvalue()
    assert desk.prompter.readings == {}
    desk.types(".4\n")
    desk.at(12)

    assert list(desk.prompter.readings.values()) == [12.4]


def test_what_is_typed_without_a_question_is_no_reading(desk):
    desk.types("99\n")
    desk.at(0)
    desk.at(10)
    desk.at(11)

    assert desk.prompter.readings == {}


def test_an_answer_after_the_run_still_belongs_to_its_question(desk):
    desk.at(0)
    desk.at(10)
    desk.at(15, "idle")
    desk.types("12.5\n")
    desk.at(16, "idle")

    assert desk.prompter.readings == {1000 + 10 * SECOND: 12.5}


def test_nobody_at_the_keyboard_delays_nothing(desk):
    desk.at(0)
    desk.leaves()
    desk.at(10)
    desk.at(20)

    assert desk.prompter.readings == {}
    assert "20 s:" in desk.screen.getvalue()


RUNS = [("m, run 1", Window(0, 60 * SECOND)), ("m, run 2", Window(100 * SECOND, 150 * SECOND))]


def afterwards(text, seconds=None):
    screen = io.StringIO()
    return ask_afterwards(RUNS, seconds, io.StringIO(text), screen), screen.getvalue()


def test_readings_afterwards_are_spread_over_their_run():
    found, screen = afterwards("8.6 8,7 8.5\n12.5\n")

    assert found == {10 * SECOND: 8.6, 30 * SECOND: 8.7, 50 * SECOND: 8.5, 125 * SECOND: 12.5}
    assert "m, run 2 (50.0 s), readings in W" in screen


def test_readings_at_stated_seconds_lie_there():
    found, _ = afterwards("8.6 8.7\n\n", (10.0, 20.0))

    assert found == {10 * SECOND: 8.6, 20 * SECOND: 8.7}


def test_a_slip_of_the_finger_is_asked_again():
    found, screen = afterwards("8.6 8.x\n8.6\n\n")

    assert found == {30 * SECOND: 8.6}
    assert "holds something that is no reading" in screen


@pytest.mark.parametrize(
    ("text", "seconds", "complaint"),
    [
        ("8.6\n", None, "the input ended before the readings of m, run 2"),
        ("8.6\n", (10.0, 20.0), "1 readings for 2 instants"),
        ("8.6\n", (61.0,), "no reading at 61 s"),
    ],
)
def test_answers_that_cannot_be_meant_end_in_one_line(text, seconds, complaint):
    with pytest.raises(KvbenchError, match=complaint):
        afterwards(text, seconds)


@given(st.text(max_size=30))
def test_any_line_is_readings_or_none(text):
    watts = parse_watts(text)
    assert watts is None or all(0 <= one < float("inf") for one in watts)


@pytest.mark.parametrize("text", ["", "a", "0,10", "20,10", "10,10", "-5", "nan"])
def test_seconds_that_do_not_ascend_are_refused(text):
    with pytest.raises(KvbenchError, match="write ascending seconds"):
        parse_seconds(text)


def test_seconds_as_the_paper_took_them():
    assert parse_seconds("10,20,30,40,50") == (10, 20, 30, 40, 50)


def test_what_no_meter_shows_is_no_reading():
    assert parse_watts("1e6") == [1e6]
    assert [parse_watts(text) for text in ("1000001", "1e308", "inf", "nan", "-1")] == [None] * 5


@pytest.mark.parametrize("text", ["1.1e12", "1e308", "inf", "nan"])
def test_seconds_beyond_any_run_are_refused(text):
    with pytest.raises(KvbenchError, match="write ascending seconds"):
        parse_seconds(text)
