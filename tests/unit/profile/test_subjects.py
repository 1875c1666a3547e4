"""Models that the loaded DPU cannot run are refused beforehand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kv260_runtime.errors import ExitCode, ModelRejected
from kv260_runtime.profile.subjects import StaticFacts, Subject, require_dpu
from kv260_runtime.workloads import WorkloadSpec

LOADED = "0x101000016010407"


def subject(fingerprint):
    facts = StaticFacts("DPUCZDX8G_ISA1_B4096", fingerprint, {"DPU": 1}, 1, None, 0, 0, 0, False)
    return Subject("a", WorkloadSpec("graph", Path("a.xmodel")), static=facts)


def test_another_fingerprint_is_refused_and_both_are_named():
    with pytest.raises(ModelRejected, match=r"a\.xmodel: fingerprint 0x7, .*0x101000016010407") as caught:
        require_dpu(subject(7), LOADED, {})

    assert caught.value.exit_code == ExitCode.BAD_DATA


@pytest.mark.parametrize(
    ("needed", "loaded", "environment"),
    [
        (int(LOADED, 0), LOADED, {}),
        (0, LOADED, {}),
        (None, LOADED, {}),
        (7, "0x0", {}),
        (7, "", {}),
        (7, LOADED, {"XLNX_ENABLE_FINGERPRINT_CHECK": "0"}),
    ],
)
def test_what_the_vendor_lets_through_is_let_through(needed, loaded, environment):
    assert require_dpu(subject(needed), loaded, environment) is None


def test_a_command_may_do_with_the_model_what_it_likes():
    theirs = subject(7)

    assert require_dpu(replace(theirs, spec=replace(theirs.spec, kind="command")), LOADED, {}) is None
