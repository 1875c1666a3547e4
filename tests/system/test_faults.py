"""Every fault of the virtual board: its run is excluded or its gap reported, the others keep their figures."""

from __future__ import annotations

import pytest

from kv260_runtime.errors import ExitCode
from kv260_runtime.profile.evaluate import evaluate
from tests.system.harness import profile
from tools.bench.truth import run_pairs, span_by_run
from virtual_board.faults import FAULTS
from virtual_board.truth import read_truth

PLAN = ("--runs", "2", "--smoke", "0", "--duration", "4.5", "--trim", "0.5", "--idle", "0.5")

EXCLUDED = {
    "sensor-vanishes": "power.som",
    "ebusy-storm": "power.som",
    "stuck-value": "without change",
    "lost-interrupt": "seemed busy for",
    "firmware-reload": "",
    "dpu-timeout": "dpu timeout",
    "missing-100-marker": "100%",
    "test-failed": "Test Failed",
}
"""Faults that spoil the run they hit, and what its reason says."""
LASTING = ("firmware-reload",)
"""Faults that outlast the run they hit: the overlay is still gone when the repeat begins."""
HARMLESS = ("counter-wrap", "hwmon-renumbered", "wall-clock-step")
"""Faults that a run survives with its figures intact."""
XDPUTIL_ONLY = ("missing-100-marker", "test-failed", "wall-clock-step")


LIMITS = {
    "busy": (0.008, "points"),
    "energy per execution": (0.005, "relative"),
    "bytes per execution": (0.002, "relative"),
    "CPU without the observer": (0.005, "points"),
}
"""Those of the truth bench, but for the busy share: its sampling error over two windows of 3 s is 0.15 points (SD)."""


def profile_with(fault, folder, model):
    workload = "xdputil" if fault in XDPUTIL_ONLY else "graph"
    name = fault if fault == "counter-wrap" else f"{fault}@1"
    return profile(
        folder, model, *PLAN, "--workload", workload, board_options=(f"fault={name}", f"log={folder / 'board.log'}")
    )


def assert_figures_are_sound(profiled):
    """The kept runs' figures are within the limits of the truth, and nothing measured is zero."""
    truth = read_truth(profiled.session.with_name("board.log"))
    spans = span_by_run(profiled.session)
    (model,) = evaluate(profiled.session).models
    kept = [run for run in model.runs if run.kept]
    pairs = [run_pairs(run, truth, *spans[run.run_id]) for run in kept]
    for name, (limit, kind) in LIMITS.items():
        measured, true = (sum(values) / len(pairs) for values in zip(*(pair[name] for pair in pairs), strict=True))
        error = measured - true if kind == "points" else measured / true - 1
        assert abs(error) <= limit, f"{name}: {measured} measured, {true} true"
    for run in kept:
        for name, figure in run.measured.figures.items():
            assert figure.value != 0, name


def test_every_fault_is_tried_here_but_the_wrong_values_that_only_verify_reads():
    assert {*EXCLUDED, *HARMLESS, "wedged-cu", "bit-flip"} == set(FAULTS)


@pytest.mark.parametrize("fault", EXCLUDED)
def test_a_fault_that_spoils_a_run_excludes_that_run_alone(fault, tmp_path, consolidated):
    profiled = profile_with(fault, tmp_path, consolidated)

    bad = profiled.runs(kept=False)
    tries = [(run["index"], run["attempt"]) for run in bad]
    assert tries == [(0, attempt) for attempt in range(len(bad))], [run["reason"] for run in bad]
    assert EXCLUDED[fault] in bad[0]["reason"]
    assert len(bad) == 1 or fault in LASTING, [run["reason"] for run in bad]
    assert [(run["index"], run["attempt"]) for run in profiled.runs(kept=True)] == [(0, len(bad)), (1, 0)]
    assert profiled.code == ExitCode.OK
    assert_figures_are_sound(profiled)


@pytest.mark.parametrize("fault", HARMLESS)
def test_a_fault_that_a_run_survives_changes_no_figure(fault, tmp_path, consolidated):
    profiled = profile_with(fault, tmp_path, consolidated)

    assert [run["reason"] for run in profiled.runs(kept=False)] == []
    assert len(profiled.runs(kept=True)) == 2
    assert profiled.code == ExitCode.OK
    assert_figures_are_sound(profiled)


def test_a_wedged_compute_unit_leaves_no_number_and_says_what_helps(tmp_path, consolidated):
    profiled = profile(tmp_path, consolidated, *PLAN, "--repeats", "1", board_options=("fault=wedged-cu@1",))

    assert profiled.code == ExitCode.NOT_MEASURED
    assert profiled.model["kept_runs"] == 0
    assert profiled.model["figures"] == {}
    assert len(profiled.runs(kept=False)) == 3
    assert "deserves a number" in profiled.errors.splitlines()[-1]
