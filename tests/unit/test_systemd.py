"""How the service is confined, and the user, groups and device rules it counts on; .ci/run asks systemd-analyze too."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from telemetry.client import SOCKET
from telemetry.daemon import CONFIG_EXIT_CODE
from telemetry.realtime import PRIORITY
from telemetry.service.loop import SILENT_NS

Unit = dict[str, list[str]]


def lines(path: Path) -> list[str]:
    """Lines that are neither empty nor comments."""
    stripped = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def unit(repository: Path) -> Unit:
    """Keys of the service's unit to all their values."""
    keys = defaultdict(list)
    for line in lines(repository / "systemd/kv260-telemetry.service"):
        key, equals, value = line.partition("=")
        if equals:
            keys[key].append(value)
    return keys


@pytest.mark.parametrize(
    ("key", "breaks"),
    [
        ("ProcSubset", "/proc/stat"),
        ("PrivateUsers", "device groups"),
        ("RestrictRealtime", "SCHED_FIFO"),
        ("PrivateDevices", "UIO and the render node"),
        ("DynamicUser", "the group of the UIO node"),
    ],
)
def test_the_service_is_not_confined_by_what_breaks_its_sensors(unit: Unit, key: str, breaks: str) -> None:
    """measurement_rules.md, systemd."""
    assert key not in unit, f"breaks {breaks}"


def test_the_service_may_use_real_time_priority_but_no_capability(unit: Unit) -> None:
    assert int(unit["LimitRTPRIO"][0]) >= PRIORITY
    assert unit["CapabilityBoundingSet"] == unit["AmbientCapabilities"] == [""]


def test_sysusers_makes_the_user_and_every_group_the_service_joins(repository: Path, unit: Unit) -> None:
    """A group that does not exist is status 216 at start."""
    made = [line.split()[:2] for line in lines(repository / "systemd/sysusers.d/kvd.conf")]
    users = {name for kind, name in made if kind == "u"}
    groups = {name for kind, name in made if kind in "ug"}
    assert set(unit["User"]) <= users
    assert {*unit["Group"], *unit["SupplementaryGroups"][0].split()} <= groups


def test_udev_opens_the_performance_monitor_to_the_services_group_only(repository: Path, unit: Unit) -> None:
    rules = lines(repository / "systemd/udev/60-kvbench.rules")
    [apm] = [rule for rule in rules if 'SUBSYSTEM=="uio"' in rule]
    assert 'ATTR{name}=="axi-pmon"' in apm
    assert f'GROUP="{unit["Group"][0]}"' in apm
    assert 'MODE="0660"' in apm


def test_the_socket_lies_in_the_folder_that_systemd_makes(unit: Unit) -> None:
    assert Path(SOCKET).parent == Path("run", unit["RuntimeDirectory"][0])


def test_the_folder_of_socket_and_state_is_the_same_everywhere_and_open_to_the_group(
    repository: Path, unit: Unit
) -> None:
    [line] = lines(repository / "systemd/tmpfiles.d/kvbench.conf")
    kind, path, mode, user, group = line.split()[:5]
    assert (kind, path) == ("d", f"/run/{unit['RuntimeDirectory'][0]}")
    assert mode == unit["RuntimeDirectoryMode"][0] == "2775"
    assert (user, group) == (unit["User"][0], unit["Group"][0])
    assert unit["RuntimeDirectoryPreserve"] == ["yes"], "the monitor's state must outlive a crash of the service"


def test_systemd_hears_from_the_service_and_does_not_restart_what_cannot_work(unit: Unit) -> None:
    assert (unit["Type"], unit["NotifyAccess"]) == (["notify"], ["main"])
    assert int(unit["WatchdogSec"][0]) * 1_000_000_000 > 2 * SILENT_NS
    assert unit["RestartPreventExitStatus"] == [str(CONFIG_EXIT_CODE)]
    assert unit["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def test_systemd_analyze_has_nothing_to_say_and_finds_the_service_confined(repository: Path, tmp_path: Path) -> None:
    """Its exit code is 0 also for a key it does not know, so it must be silent too."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / "kv260-telemetry.service"
    text = (repository / "systemd/kv260-telemetry.service").read_text(encoding="utf-8")
    copy.write_text(re.sub("^ExecStart=.*$", "ExecStart=/bin/true", text, flags=re.MULTILINE), encoding="utf-8")
    said = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
    assert (said.returncode, said.stdout + said.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=25", copy], capture_output=True, text=True
    )
    assert judged.returncode == 0, judged.stdout
