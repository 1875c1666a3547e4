"""Executions are played on schedule; the log holds what could be seen; truth adds it up."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from virtual_board.plan import Plan, Segment
from virtual_board.server import start_of
from virtual_board.truth import read_truth

MS = 1_000_000
LOOP = Plan("m", "graph", (Segment("host", 2 * MS), Segment("dpu", 18 * MS, {"read.slot3": 7_000, "write.slot4": 3})))


def test_status_is_running_exactly_while_the_command_is(bench) -> None:
    begin_ns = bench.now_ns
    bench.submit(LOOP)
    bench.run_until(begin_ns + 2 * MS - 1)
    assert bench.status() == 0x4
    bench.run_until(begin_ns + 2 * MS)
    assert bench.status() == 0x1
    bench.run_until(begin_ns + 20 * MS - 1)
    assert bench.status() == 0x1
    bench.run_until(begin_ns + 20 * MS)
    assert bench.status() in (0x6, 0xE)
    bench.run_until(begin_ns + 25 * MS)
    assert bench.status() == 0x4
    assert bench.ends == [(1, "done", begin_ns + 20 * MS)]


def test_commands_of_several_clients_queue_and_host_work_runs_beside(bench) -> None:
    begin_ns = bench.now_ns
    for client in (1, 2, 3):
        bench.submit(LOOP, client)
    bench.run_until(begin_ns + 100 * MS)
    assert bench.ends == [(client, "done", begin_ns + (2 + 18 * client) * MS) for client in (1, 2, 3)]
    assert sorted(core for core, _, _ in bench.records("core")) == [0, 1, 2]


def test_host_work_waits_for_a_free_core(bench) -> None:
    begin_ns = bench.now_ns
    plan = Plan("m", "graph", (Segment("cpu", 10 * MS),))
    for client in range(1, 7):
        bench.submit(plan, client)
    bench.run_until(begin_ns + 50 * MS)
    assert sorted(end for _, _, end in bench.ends) == [begin_ns + 10 * MS] * 4 + [begin_ns + 20 * MS] * 2


def test_a_schedule_that_continues_has_no_drift(bench) -> None:
    """Each request comes late by a different part of the host's lead; the hundredth ends when a hundred are due."""
    begin_ns = bench.now_ns
    due_ns = None
    for number in range(100):
        late_ns = number * 19_417 % (2 * MS)
        bench.run_until((due_ns or begin_ns) + (late_ns if number else 0))
        execution = bench.submit(LOOP, start_ns=start_of(bench.now_ns, due_ns, LOOP.lead_ns), number=number)
        while not (bench.ends and len(bench.ends) == number + 1):
            bench.run_until(bench.timers.next_due_ns())
        due_ns = execution.cursor_ns
    assert due_ns == begin_ns + 2_000 * MS
    assert {end - start for *_, start, end, _ in bench.records("run")} == {18 * MS}


@pytest.mark.parametrize(
    ("late_ms", "start_ms"), [(0, 0), (1.5, 0), (2, 0), (2.5, 0.5), (4, 2), (4.1, 4.1), (1000, 1000)]
)
def test_a_late_request_loses_only_the_excess_until_it_is_too_late(late_ms: float, start_ms: float) -> None:
    assert start_of(round(late_ms * MS), 0, 2 * MS) == round(start_ms * MS)


def test_the_first_request_begins_at_its_arrival() -> None:
    assert start_of(5, None, 2 * MS) == 5


def test_an_abandoned_client_frees_the_queue_and_its_running_command_ends(bench) -> None:
    begin_ns = bench.now_ns
    for client in (1, 2):
        bench.submit(LOOP, client)
    bench.run_until(begin_ns + 5 * MS)
    bench.engine.abandon(1)
    bench.run_until(begin_ns + 100 * MS)
    assert bench.ends == [(2, "done", begin_ns + 38 * MS)]
    assert len(bench.records("run")) == 2


def test_a_lost_interrupt_shows_running_for_half_a_second_but_draws_power_only_while_it_works(bench) -> None:
    begin_ns = bench.now_ns
    bench.engine.trouble.lose_interrupt = True
    bench.submit(LOOP)
    bench.run_until(begin_ns + 501 * MS)
    assert bench.status() == 0x1
    assert bench.parts.rail.rate == pytest.approx(bench.constants.idle_watts)
    bench.run_until(begin_ns + 502 * MS)
    assert bench.status() != 0x1
    [[_, _, _, start_ns, end_ns, active_ns]] = bench.records("run")
    assert (end_ns - start_ns, active_ns) == (500 * MS, 18 * MS)


def test_a_hung_command_holds_the_unit_until_its_process_is_gone(bench) -> None:
    bench.engine.trouble.hang = True
    bench.submit(LOOP, 1)
    bench.submit(LOOP, 2)
    bench.run_until(bench.now_ns + 3_000 * MS)
    assert bench.status() == 0x1
    assert [end[:2] for end in bench.ends] == [(1, "hung")]
    bench.engine.abandon(1)
    bench.run_until(bench.now_ns + 50 * MS)
    assert [end[:2] for end in bench.ends] == [(1, "hung"), (2, "done")]


def test_a_wedged_unit_fails_every_command(bench) -> None:
    bench.engine.trouble.wedge = True
    bench.submit(LOOP, 1)
    bench.submit(LOOP, 2)
    bench.run_until(bench.now_ns + 50 * MS)
    assert [end[:2] for end in bench.ends] == [(1, "failed"), (2, "failed")]


def test_firmware_that_goes_away_fails_what_is_running_and_waiting(bench) -> None:
    for client in (1, 2):
        bench.submit(LOOP, client)
    bench.run_until(bench.now_ns + 5 * MS)
    bench.engine.fail_all()
    bench.parts.cu.unload()
    bench.run_until(bench.now_ns + 50 * MS)
    assert sorted(end[:2] for end in bench.ends) == [(1, "failed"), (2, "failed")]
    assert bench.parts.rail.rate == pytest.approx(bench.constants.idle_watts)
    bench.parts.cu.load()
    bench.submit(LOOP, 3)
    bench.run_until(bench.now_ns + 50 * MS)
    assert bench.ends[-1][:2] == (3, "done")


SEGMENTS = st.lists(
    st.builds(
        Segment,
        st.sampled_from(["host", "cpu", "dpu"]),
        st.integers(1, 40 * MS),
        st.dictionaries(st.sampled_from(["read.slot3", "write.slot4"]), st.integers(0, 10**8)),
        st.one_of(st.none(), st.floats(0, 10)),
    ),
    min_size=1,
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(plans=st.lists(SEGMENTS, min_size=1, max_size=5))
def test_truth_of_the_log_equals_what_the_rail_integrated(new_bench, plans: list[list[Segment]]) -> None:
    """Energy from the log's intervals against the running integral of the rail; adjacent windows add up."""
    bench = new_bench()
    begin_ns = bench.now_ns
    base = bench.parts.rail.integral(begin_ns)
    for client, segments in enumerate(plans, 1):
        bench.submit(Plan("m", "graph", tuple(segments)), client)
    bench.run_until(begin_ns + 1_500 * MS)
    end_ns = bench.now_ns
    joules = bench.parts.rail.integral(end_ns) - base
    bench.log.flush()
    truth = read_truth(bench.log_path)
    assert truth.joules(begin_ns, end_ns) == pytest.approx(joules, rel=1e-9)
    middle_ns = begin_ns + 37 * MS
    for figure in (truth.joules, truth.busy_seconds):
        halves = figure(begin_ns, middle_ns) + figure(middle_ns, end_ns)
        assert halves == pytest.approx(figure(begin_ns, end_ns), rel=1e-9)
    moved = sum(size for plan in plans for s in plan if s.kind == "dpu" for size in s.moved_bytes.values())
    ports = truth.port_bytes(begin_ns, end_ns)
    assert ports.get("read.slot3", 0) + ports.get("write.slot4", 0) == pytest.approx(moved, rel=1e-9)
    worked_ns = sum(s.duration_ns for plan in plans for s in plan if s.kind != "dpu")
    assert sum(core["workload"] for core in truth.cpu_seconds(begin_ns, end_ns)) == pytest.approx(worked_ns * 1e-9)
