"""Each family of checks on small trees and answers: what is said, how bad it is, what the remedy is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.cli.doctor import lines
from kv260_runtime.doctor import dpu, host, interpreter, sampling, sensors
from kv260_runtime.doctor.check import Check, exit_code
from kv260_runtime.doctor.recording import Recorded, probing
from kv260_runtime.errors import ExitCode
from kv260_runtime.xmodel import write_xmodel
from telemetry.boards import StreamPlan, load_board
from telemetry.errors import ReadGap
from telemetry.files import SystemFiles
from telemetry.model import Column, Series, Stream
from telemetry.protocol import RecorderReady
from tests.unit.profile.small_model import small_compiled_graph

FILES = SystemFiles()
ZOCL = "sys/class/drm/renderD128/device"
DPU = {"architecture": "DPUCZDX8G_ISA1_B4096", "fingerprint": "0x101000056010407", "frequency_mhz": 300, "cores": 1}


def write(root: Path, name: str, content: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


class Sensor:
    """A reader that gives what it was made with."""

    def __init__(self, column: Column, *answers: float | None) -> None:
        self.columns = (column,)
        self.attributes: dict[str, str] = {}
        self._answers = list(answers)

    def read(self) -> tuple[float, ...]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if answer is None:
            raise ReadGap("EBUSY")
        return (answer,)

    def close(self) -> None:
        pass


WATTS = Column("watts", "W", "gauge")


@pytest.mark.parametrize(
    ("sensor", "status", "said"),
    [
        (Sensor(WATTS, 4.83), "ok", "watts 4.83 W"),
        (Sensor(WATTS, None, None, 4.83), "ok", "watts 4.83 W"),
        (Sensor(WATTS, None), "warn", "5 reads gave nothing: EBUSY"),
        (Sensor(WATTS, 4294967.0), "warn", "no such value is possible"),
        (Sensor(Column("status.DPU_1", "1", "state"), 0xFFFF_FFFF), "fail", "DPU_1 reports 0xffffffff"),
        (Sensor(Column("status.DPU_1", "1", "state"), 0x4), "ok", "status.DPU_1 0x4"),
    ],
)
def test_a_sensor_is_read_and_its_value_judged(sensor, status, said):
    check = sensors.check_reader("power.som", sensor)
    assert (check.status, said in check.text) == (status, True)


def test_a_missing_sensor_is_absent_with_its_reason_and_a_required_one_fails(tmp_path):
    plan = StreamPlan("xrt-cu", 1.0)
    profile = load_board("kv260")
    [check] = sensors._check_kind(FILES, tmp_path, plan)
    assert check.status == "absent"
    assert "xmutil loadapp" in (check.remedy or "")
    [required] = sensors._check_kind(FILES, tmp_path, StreamPlan("xrt-cu", 1.0, required=True))
    assert required.status == "fail"
    assert {check.name for check in sensors.check_sensors(FILES, tmp_path, profile)} >= {"sensor apm", "sensor xrt-cu"}


@pytest.mark.parametrize(
    ("kind", "reason", "remedy"),
    [
        ("apm", "/dev/uio1: Permission denied; a udev rule lets a group in", "60-kvbench.rules"),
        ("apm", "/dev/uio1 is in use by another process", "end the program"),
        ("apm", "no performance monitor at 0xfd0b0000", "uio_xilinx_apm"),
        ("rapl", "energy_uj: Permission denied", "60-kvbench.rules"),
        ("battery", "no battery", None),
    ],
)
def test_the_remedy_follows_from_the_reason(kind, reason, remedy):
    found = sensors.remedy(kind, reason)
    assert found is None if remedy is None else remedy in str(found)


def answering(modules, installed=None):
    return lambda _environment: (json.dumps({"modules": modules, "installed": installed or {}}), "")


GOOD = {"file": "/usr/lib/python3/dist-packages/xir.so", "known": True}


def test_the_vendors_modules_are_recognised_by_what_is_in_them():
    checks = interpreter.check_vendor(
        {}, True, answering({"xir": GOOD, "vart": {"file": "/x/vart.py", "known": False}})
    )
    assert [check.status for check in checks] == ["ok", "fail"]
    assert "has no Runner: not the vendor's module" in checks[1].text


def test_an_unrelated_package_of_the_same_name_is_told_with_the_command_that_removes_it():
    fake = {"file": "/site-packages/xir/__init__.py", "known": False}
    checks = interpreter.check_vendor({}, True, answering({"xir": fake}, {"xir": "0.1", "xrt": "1.0"}))
    packages = {check.name: check for check in checks if check.name.startswith("package")}
    assert set(packages) == {"package xir", "package xrt"}
    assert "pip uninstall xir" in str(packages["package xir"].remedy)


def test_a_module_that_cannot_be_imported_fails_only_where_it_is_needed():
    absent = answering({"xir": {"error": "ModuleNotFoundError: No module named 'xir'"}})
    assert [check.status for check in interpreter.check_vendor({}, True, absent)] == ["fail"]
    assert [check.status for check in interpreter.check_vendor({}, False, absent)] == ["absent"]


def test_an_import_that_aborts_is_a_check_not_a_crash():
    [check] = interpreter.check_vendor({}, True, lambda _environment: ("", "F1130 no device\nAborted"))
    assert (check.status, "ends the process: Aborted" in check.text) == ("fail", True)


def test_this_interpreter_is_really_asked():
    printed, _ = interpreter.ask_interpreter({"PATH": "/usr/bin"})
    assert set(json.loads(printed)["modules"]) == set(interpreter.MODULES)


def test_no_overlay_names_the_command_that_loads_one(tmp_path):
    check = dpu.check_overlay(FILES, tmp_path, needed=True)
    assert (check.status, "xmutil loadapp" in str(check.remedy)) == ("fail", True)


def test_another_programs_contexts_on_the_dpu_are_counted(tmp_path):
    line = (
        "Number of CUs: 2\n  CU[0] usage(5) shared(1) refcnt(2) intr(enable)\n  CU[1] usage(0) shared(1) refcnt(0) x\n"
    )
    write(tmp_path, f"{ZOCL}/kds_stat", line)
    busy, free = dpu.check_users(FILES, tmp_path)
    assert (busy.status, busy.text) == ("warn", "2 contexts are open: another program uses the DPU")
    assert free.status == "ok"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.xmodel"
    write_xmodel(small_compiled_graph(), path)
    return path


def test_a_model_for_the_loaded_dpu_is_ok(model):
    assert dpu.check_model(model, DPU).status == "ok"


def test_a_model_for_another_dpu_fails_and_names_both(model):
    check = dpu.check_model(model, {**DPU, "fingerprint": "0x101000056010406"})
    assert check.status == "fail"
    assert "0x101000056010407 (B4096), the loaded DPU is 0x101000056010406 (B3136)" in check.text


def test_a_model_cannot_be_judged_without_the_dpus_fingerprint(model):
    assert dpu.check_model(model, None).status == "warn"


def test_a_damaged_or_missing_model_fails(tmp_path):
    write(tmp_path, "bad.xmodel", "not an xmodel")
    assert dpu.check_model(tmp_path / "bad.xmodel", DPU).status == "fail"
    assert dpu.check_model(tmp_path / "none.xmodel", DPU).text.endswith("no such file")


@pytest.mark.parametrize(("governor", "status"), [("performance\n", "ok"), ("ondemand\n", "warn"), (None, "absent")])
def test_a_clock_that_moves_is_a_warning(tmp_path, governor, status):
    if governor is not None:
        write(tmp_path, host.GOVERNOR, governor)
    assert host.check_governor(FILES, tmp_path).status == status


def recorded(period_ns, t_ns, late_ns, realtime="SCHED_FIFO 10"):
    stream = Stream("cu", "xrt-cu", period_ns, (Column("usage.DPU_1", "1", "counter"),))
    times = np.asarray(t_ns, np.int64)
    series = Series(stream, times, np.full(times.size, late_ns, np.int64), {"usage.DPU_1": times})
    return Recorded(RecorderReady(["cu"], {}, realtime, 1), {"cu": series})


@pytest.mark.parametrize(
    ("step_ns", "late_ns", "status"),
    [(1_000_000, 30_000, "ok"), (1_100_000, 30_000, "warn"), (1_000_000, 2_000_000, "warn")],
)
def test_the_rate_achieved_and_the_lateness_are_judged(step_ns, late_ns, status):
    [check] = sampling.check_sampling(recorded(1_000_000, np.arange(0, 2_000_000_000, step_ns), late_ns))
    assert check.status == status
    assert check.values["hertz"] == pytest.approx(1e9 / step_ns)


def test_slow_streams_tell_nothing_of_the_sampler():
    assert sampling.check_sampling(recorded(100_000_000, [0, 1], 0)) == []


def test_real_time_priority_that_was_refused_is_a_warning_with_a_remedy():
    check = sampling.check_realtime(recorded(1, [0, 1], 0, "SCHED_OTHER: SCHED_FIFO is not permitted (EPERM)"))
    assert (check.status, "rtprio" in str(check.remedy)) == ("warn", True)


def test_the_probe_reads_power_and_compute_unit_at_1_khz():
    assert {(plan.kind, plan.period_ms) for plan in probing(load_board("kv260")).streams} == {
        ("xrt-cu", 1.0),
        ("hwmon-power", 1.0),
    }


def test_only_a_failed_check_prevents_measuring():
    assert exit_code([Check("a", "ok", ""), Check("b", "warn", ""), Check("c", "absent", "")]) == ExitCode.OK
    assert exit_code([Check("a", "ok", ""), Check("b", "fail", "")]) == ExitCode.UNAVAILABLE


def test_lines_are_folded_and_the_remedy_stands_below():
    shown = list(lines(Check("disk", "warn", "word " * 40, "do this")))
    assert all(len(line) <= 100 for line in shown)
    assert shown[-1].strip() == "-> do this"
