"""Ratios of two sides and the verdicts on them."""

from __future__ import annotations

import math

import pytest

from kv260_runtime.compare.comparing import Assumptions, compare
from kv260_runtime.errors import ExitCode, KvbenchError
from telemetry.comparison import Answer, Limit, between_sessions, within_session
from tests.unit.compare.sessions import RAIL, lone, model, session, side

BEFORE = [0.1776, 0.1779, 0.1778, 0.1780, 0.1777]
ENERGY = "energy_per_execution.som"
GROWTH = Limit("energy", 0.01)


def pair(before, after, **options):
    made = session(
        model("m", energy_per_execution__som=before, power__som=[8.7] * len(before)),
        model("n", energy_per_execution__som=after, power__som=[8.7] * len(after), **options),
    )
    return side(made), side(made, name="n")


def test_models_of_one_session_are_compared_in_pairs():
    after = [1.02 * value for value in BEFORE]
    found = compare(*pair(BEFORE, after), [GROWTH])

    assert found.paired and found.metrics[ENERGY].comparison == within_session(BEFORE, after)
    assert [verdict.answer for verdict in found.verdicts] == [Answer.REGRESSION]
    assert found.exit_code == ExitCode.REGRESSION


def test_only_runs_that_both_models_have_make_pairs():
    after = [None, *(1.001 * value for value in BEFORE[1:])]
    found = compare(*pair(BEFORE, after, reasons=(2,)), [GROWTH])
    kept = [1, 3, 4]

    expected = within_session([BEFORE[i] for i in kept], [after[i] for i in kept])
    assert found.metrics[ENERGY].comparison == expected
    assert found.exit_code == ExitCode.OK


def test_two_sessions_are_compared_by_welch_with_sensor_and_sessions_spread():
    after = [1.004 * value for value in BEFORE]
    found = compare(lone("a.kvs", *BEFORE), lone("b.kvs", *after), [GROWTH]).metrics[ENERGY].comparison
    sensor_u = math.hypot(0.0015, 0.01 / math.sqrt(12) / 8.7)
    shared = math.hypot(sensor_u, 0.003)
    expected = between_sessions(BEFORE, after, shared, shared)

    assert (found.ratio.low, found.ratio.high) == pytest.approx((expected.ratio.low, expected.ratio.high))


def test_one_boot_or_one_board_shares_its_sensors_error():
    narrow = between_sessions(BEFORE, BEFORE, 0.003, 0.003).ratio.half_width
    boot = {"boot_id": "7"}
    for found in (
        compare(lone("a.kvs", *BEFORE, identity=boot), lone("b.kvs", *BEFORE, identity=boot)),
        compare(lone("a.kvs", *BEFORE), lone("b.kvs", *BEFORE), assumed=Assumptions(same_board=True)),
    ):
        assert found.metrics[ENERGY].comparison.ratio.half_width == pytest.approx(narrow)


def test_a_limit_between_the_bounds_is_inconclusive_with_its_own_exit_code():
    found = compare(lone("a.kvs", *BEFORE), lone("b.kvs", *(1.01 * value for value in BEFORE)), [GROWTH])

    assert [verdict.answer for verdict in found.verdicts] == [Answer.INCONCLUSIVE]
    assert found.exit_code == ExitCode.INCONCLUSIVE


def test_a_regression_outranks_what_is_inconclusive_and_what_passes():
    limits = [Limit("throughput", -0.02), Limit("energy", 0.01), Limit("energy", 0.001)]
    found = compare(lone("a.kvs", *BEFORE), lone("b.kvs", *(1.01 * value for value in BEFORE)), limits[:2])
    worst = compare(lone("a.kvs", *BEFORE), lone("b.kvs", *(1.2 * value for value in BEFORE)), limits)

    assert [verdict.answer for verdict in found.verdicts] == [Answer.PASS, Answer.INCONCLUSIVE]
    assert worst.exit_code == ExitCode.REGRESSION


def test_single_runs_say_nothing_and_the_verdict_says_so():
    found = compare(lone("a.kvs", 0.1778), lone("b.kvs", 0.3), [GROWTH])

    assert found.metrics[ENERGY].comparison is None
    assert found.verdicts[0].answer == Answer.INCONCLUSIVE
    assert "measure more runs" in found.verdicts[0].reason


def test_several_sessions_a_side_show_their_own_spread():
    def many(letter, factor):
        levels = [factor * (1 + shift) for shift in (-0.004, -0.002, 0.0, 0.001, 0.002, 0.003)]
        sides = [lone(f"{letter}{i}.kvs", *(level * value for value in BEFORE)) for i, level in enumerate(levels)]
        return side(*(one.sessions[0] for one in sides))

    found = compare(many("a", 1.0), many("b", 1.02), [Limit("energy", 0.005)], Assumptions(same_board=True))
    comparison = found.metrics[ENERGY].comparison

    assert comparison.ratio.low < 1.02 < comparison.ratio.high
    assert comparison.degrees == pytest.approx(10, rel=0.01)
    assert found.exit_code == ExitCode.REGRESSION


def test_sides_that_share_only_some_sessions_are_refused():
    a, b = (session(model(energy_per_execution__som=BEFORE), path=path) for path in ("a.kvs", "b.kvs"))
    with pytest.raises(KvbenchError, match="share some sessions"):
        compare(side(a, b), side(a))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"identity": {"profile": "jetson"}}, "board differs: kv260 / jetson"),
        ({"identity": {"emulated": True}}, "kind of board differs: hardware / emulated"),
        ({"boundary": "xdputil"}, "different boundaries: loop / xdputil"),
    ],
)
def test_what_is_not_comparable_is_refused_in_one_line_unless_forced(options, complaint):
    before, after = lone("a.kvs", *BEFORE), lone("b.kvs", *BEFORE, **options)
    with pytest.raises(KvbenchError, match=complaint):
        compare(before, after)

    assert complaint in compare(before, after, force=True).refused[0]


def test_rails_that_cover_something_else_are_refused():
    other = {**RAIL, "boundary": "12 V input"}
    before = lone("a.kvs", *BEFORE)
    after = side(session(model(energy_per_execution__som=BEFORE, rail=other), path="b.kvs", rail=other))
    with pytest.raises(KvbenchError, match=r"power.som is not the same rail: SOM 5 V rail / 12 V input"):
        compare(before, after)


def test_a_side_on_which_no_run_counts_is_refused():
    with pytest.raises(KvbenchError, match=r"m in b\.kvs: no run counts") as caught:
        compare(lone("a.kvs", *BEFORE), lone("b.kvs", 0.18, 0.19, reasons=(0, 1)))
    assert caught.value.exit_code == ExitCode.NOT_MEASURED


def test_what_may_explain_a_change_is_warned_of():
    identity = {"governor": "ondemand", "overlay": {"xclbin_uuid": "2"}, "dpu": {"frequency_mhz": 250}}
    known = {"overlay": {"xclbin_uuid": "1"}, "dpu": {"frequency_mhz": 300}}
    found = compare(lone("a.kvs", *BEFORE, identity=known), lone("b.kvs", *BEFORE, identity=identity, threads=2))

    assert found.warnings == [
        "governor differs: performance / ondemand",
        "overlay differs: 1 / 2",
        "DPU clock in MHz differs: 300 / 250",
        "threads differs: 1 / 2",
    ]


def test_what_is_unknown_on_one_side_is_no_difference():
    assert compare(lone("a.kvs", *BEFORE, identity={"governor": None}), lone("b.kvs", *BEFORE)).warnings == []


def test_a_limit_on_a_rail_of_unknown_accuracy_is_warned_of_between_boards():
    bare = {"boundary": "SOM 5 V rail"}
    sides = lone("a.kvs", *BEFORE, rail=bare), lone("b.kvs", *BEFORE, rail=bare)

    [warning] = compare(*sides, [GROWTH]).warnings
    assert "a difference between two sensors would look like a change" in warning
    assert compare(*sides, [GROWTH], Assumptions(same_board=True)).warnings == []
