"""Answers to clients: the figures of sessions over a named span, or why there is none, or how long to wait."""

from __future__ import annotations

import json

import numpy as np
import pytest

from telemetry.service.desk import AHEAD_NS_MAX, PATIENCE_NS, Desk
from telemetry.service.ledger import Ledger
from telemetry.service.requests import Between, Flush, Mark, Status, Subscribe
from tests.unit.daemon.frames import APM, CU, MS, POWER, RAPL, SECOND, WRAP, frame, series

BEGIN, END = 100 * SECOND, 110 * SECOND
NOW = END + 100 * MS


@pytest.fixture
def ledger() -> Ledger:
    """Ten seconds at 5 W, then 8 W from the middle on; busy from there; 100 MB/s read."""
    ledger = Ledger(60 * SECOND)
    power_ns = np.arange(BEGIN, END + 1, 10 * MS)
    unit_ns = np.arange(BEGIN, END + 1, MS)
    port_ns = np.arange(BEGIN, END + 1, 100 * MS)
    late = power_ns - 8_800_000 >= 105 * SECOND
    ledger.take(
        frame(
            END,
            series(POWER, power_ns, np.where(late, 8.0, 5.0)),
            series(CU, unit_ns, np.where(unit_ns >= 105 * SECOND, 1, 4), 0, 0),
            series(APM, port_ns, port_ns // 10 % WRAP, 0, port_ns // 1000 * 266 % WRAP),
            streams=[CU, POWER, APM],
        )
    )
    return ledger


@pytest.fixture
def desk(ledger: Ledger) -> Desk:
    return Desk(ledger, lambda: {"board": "small"})


def test_joules_come_with_watts_uncertainty_and_quality(desk: Desk) -> None:
    found = desk.answer(Between("joules", 103 * SECOND, 107 * SECOND, None), NOW)
    assert found["ok"]
    assert found["joules"] == pytest.approx(26.0, abs=0.05)
    assert found["watts"] == pytest.approx(found["joules"] / 4)
    assert (found["rail"], found["seconds"], found["covered"]) == ("som", 4.0, 1.0)
    # 95 %: gain 0.15 %, offset 14.4 mW, resolution 2.9 mW, and the delay at both edges.
    steady = np.hypot(0.0015 * found["joules"], 4 * np.hypot(0.0144, 0.01 / 12**0.5))
    assert 1.96 * steady < found["uncertainty_joules"] < 2.3 * steady


def test_adjacent_spans_add_up_to_their_union(desk: Desk) -> None:
    def told(quantity: str, start: int, end: int) -> float:
        answer = desk.answer(Between(quantity, start, end, None), NOW)  # type: ignore[arg-type]
        return answer[quantity]

    middle = 104_987_654_321
    for quantity in ("joules", "bytes"):
        parts = told(quantity, 102 * SECOND, middle) + told(quantity, middle, 108 * SECOND)
        assert parts == pytest.approx(told(quantity, 102 * SECOND, 108 * SECOND), rel=1e-9)


def test_bytes_come_by_direction_and_port(desk: Desk) -> None:
    found = desk.answer(Between("bytes", 102 * SECOND, 104 * SECOND, None), NOW)
    assert found["bytes"] == pytest.approx(2e8)
    assert (found["read"], found["write"]) == (pytest.approx(2e8), 0)
    assert set(found["ports"]) == {"read.slot3", "write.slot3"}


def test_a_busy_share_is_of_the_named_accelerator_or_the_first(desk: Desk) -> None:
    for whose in (None, "DPU_1"):
        found = desk.answer(Between("busy", 104 * SECOND, 108 * SECOND, whose), NOW)
        assert found["busy_share"] == pytest.approx(0.75, abs=0.001)
    refused = desk.answer(Between("busy", 104 * SECOND, 108 * SECOND, "NPU"), NOW)
    assert refused == {"ok": False, "error": "not-covered", "reason": "no accelerator is called NPU; there is DPU_1"}


@pytest.mark.parametrize(
    ("request_", "error", "told"),
    [
        (Between("joules", 90 * SECOND, 95 * SECOND, None), "not-covered", "lies before what is remembered"),
        (Between("joules", 105 * SECOND, 120 * SECOND, None), "not-covered", "covers"),
        (Between("joules", 105 * SECOND, 106 * SECOND, "pl"), "not-covered", "no rail is called pl; there is som"),
        (Between("bytes", 105 * SECOND, 120 * SECOND, None), "not-covered", "not sampled on both sides"),
        (Between("joules", 1, NOW + AHEAD_NS_MAX + 1, None), "request", "in the future"),
        (Subscribe(("cu", "npu")), "request", "no stream npu; there is cu, power.som, apm"),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_reason(desk: Desk, request_: Between, error: str, told: str) -> None:
    refused = desk.answer(request_, NOW)
    assert (refused["ok"], refused["error"]) == (False, error)
    assert told in refused["reason"]


def test_a_board_without_the_sensor_says_which_one_is_missing() -> None:
    found = Desk(Ledger(SECOND), dict).answer(Between("bytes", 1, 2, None), 3)
    assert found["reason"] == "nothing here tells bytes: no apm sensor"


def test_a_sensor_without_a_stated_accuracy_gives_energy_without_uncertainty() -> None:
    ledger = Ledger(60 * SECOND)
    t_ns = np.arange(BEGIN, END, 10 * MS)
    ledger.take(frame(END, series(RAPL, t_ns, (t_ns - BEGIN) / SECOND % 100), streams=[RAPL]))
    found = Desk(ledger, dict).answer(Between("joules", BEGIN + SECOND, BEGIN + 2 * SECOND, None), NOW)
    assert found["joules"] == pytest.approx(1.0)
    assert found["uncertainty_joules"] is None
    assert "states no gain_u" in found["uncertainty_reason"]


def test_a_span_that_has_just_ended_waits_for_the_sensor_which_is_late_by_what_it_averages(desk: Desk) -> None:
    just = Between("joules", 105 * SECOND, END + 50 * MS, None)
    assert desk.due_ns(just, NOW) == END + 50 * MS + 8_800_000 + 10 * MS
    assert desk.due_ns(Between("bytes", 105 * SECOND, END + 50 * MS, None), NOW) == END + 150 * MS
    assert desk.due_ns(Between("joules", 105 * SECOND, END - 50 * MS, None), NOW) is None


def test_nobody_waits_for_ever(desk: Desk) -> None:
    just = Between("joules", 105 * SECOND, END + 50 * MS, None)
    assert desk.due_ns(just, END + 60 * MS + PATIENCE_NS) is None
    assert desk.due_ns(Between("joules", 1, NOW + AHEAD_NS_MAX + 1, None), NOW) is None
    assert desk.due_ns(Between("joules", 1, NOW, "pl"), NOW) is None
    assert desk.due_ns(Flush(), NOW) is None


def test_before_a_recorders_first_frame_nobody_but_a_mark_is_answered(desk: Desk, ledger: Ledger) -> None:
    assert desk.due_ns(Status(), NOW) is None
    ledger.retire_all()
    assert desk.due_ns(Status(), NOW) == desk.due_ns(Subscribe(("*",)), NOW) == NOW
    assert desk.due_ns(Mark("a", 5), NOW) is None


def test_all_answers_are_plain_json(desk: Desk) -> None:
    asked = [
        Status(), Flush(), Mark("a", 5), Subscribe(("*",)), Subscribe(("apm",)),
        Between("joules", 105 * SECOND, 106 * SECOND, None),
        Between("bytes", 105 * SECOND, 106 * SECOND, None),
        Between("busy", 105 * SECOND, 106 * SECOND, None),
    ]  # fmt: skip
    answers = [desk.answer(one, NOW) for one in asked]
    assert all(answer["ok"] for answer in answers)
    assert json.loads(json.dumps(answers)) == answers
    assert [stream["name"] for stream in answers[0]["streams"]] == ["cu", "power.som", "apm"]
    assert answers[0]["board"] == "small"
    assert [stream["name"] for stream in answers[4]["streams"]] == ["apm"]
