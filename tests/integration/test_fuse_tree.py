"""The readers on a file system that gives real errors; needs /dev/fuse, libfuse and mfusepy, else it skips."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from telemetry.boards import load_board
from telemetry.errors import ReadGap
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from telemetry.readers.sensor_file import SEARCH_EVERY
from tests.unit.readers.trees import CU_LINE, CUSTAT, ZOCL, kv260, write

SERVER = Path(__file__).with_name("fuse_tree.py")


class Mounted:
    """A mounted tree: what lies behind it, where it is seen, and a way to make its reads fail."""

    def __init__(self, source: Path, root: Path, server: subprocess.Popen[str]) -> None:
        self.source = source
        self.root = root
        self._server = server

    def fail(self, name: str, *outcomes: str) -> None:
        """The next reads of files called `name` bring these outcomes."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(" ".join([name, *outcomes]) + "\n")
        self._server.stdin.flush()
        assert self._server.stdout.readline() == "ok\n"

    def reader(self, kind: str) -> Reader:
        """The first sensor of a kind, opened as the KV260's profile says."""
        options = next(plan.options for plan in load_board("kv260").streams if plan.kind == kind)
        return open_kind(kind, SystemFiles(), self.root, options)[0][1]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Mounted]:
    """The tree of a KV260 behind FUSE."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("/dev/fuse is absent or not ours: real errors cannot be served here")
    source, root = tmp_path / "source", tmp_path / "mounted"
    root.mkdir()
    _with_relative_links(kv260(source))
    command = [sys.executable, str(SERVER), str(source), str(root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        if server.stdout.readline() != "mounted\n":
            last = (server.stderr.read().strip().splitlines() or ["no message"])[-1]
            pytest.skip(f"FUSE cannot be mounted here: {last}")
        try:
            yield Mounted(source, root, server)
        finally:
            assert server.stdin is not None
            server.stdin.close()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()
            if root.is_mount():
                subprocess.run(["umount", "-l", str(root)], check=True)


def _with_relative_links(root: Path) -> None:
    """As sysfs has them: absolute ones would lead out of the mount."""
    for path in [path for path in root.rglob("*") if path.is_symlink()]:
        target = os.path.relpath(path.readlink(), path.parent)
        path.unlink()
        path.symlink_to(target)


@pytest.mark.parametrize(
    ("kind", "file"),
    [("hwmon-power", "power1_input"), ("xrt-cu", "kds_custat_raw"), ("proc-stat", "stat"), ("thermal", "temp1_input")],
)
def test_real_errors_are_gaps_with_their_reasons_and_then_the_value_is_back(
    mounted: Mounted, kind: str, file: str
) -> None:
    reader = mounted.reader(kind)
    truth = reader.read()
    outcomes = {
        "EBUSY": "busy (EBUSY)",
        "EAGAIN": "try again (EAGAIN)",
        "ENODATA": "no data (ENODATA)",
        "EIO": "input/output error (EIO)",
        "ENXIO": "no device (ENXIO)",
        "ENODEV": "vanished",
        "ESTALE": "stale (ESTALE)",
        "ETIMEDOUT": "timed out (ETIMEDOUT)",
        "EREMOTEIO": "error (EREMOTEIO)",
        "EMPTY": "empty",
    }
    for outcome, reason in outcomes.items():
        mounted.fail(file, outcome)
        with pytest.raises(ReadGap) as caught:
            reader.read()
        assert caught.value.reason == reason
        assert reader.read() == truth
    reader.close()


def test_a_storm_of_ebusy_is_as_many_gaps(mounted: Mounted) -> None:
    reader = mounted.reader("hwmon-power")
    mounted.fail("power1_input", *["EBUSY"] * 50)
    gaps = 0
    while True:
        try:
            assert reader.read() == (4.67,)
            break
        except ReadGap as caught:
            assert caught.reason == "busy (EBUSY)"
            gaps += 1
    assert gaps == 50
    reader.close()


def test_a_kept_descriptor_sees_each_new_value(mounted: Mounted) -> None:
    reader = mounted.reader("hwmon-power")
    for microwatts in (4_680_000, 4_690_000, 10_000_000):
        write(mounted.source, {"sys/class/hwmon/hwmon1/power1_input": f"{microwatts}\n"})
        assert reader.read() == (pytest.approx(microwatts * 1e-6),)
    reader.close()


def test_a_chip_that_is_renumbered_while_open_is_found_again(mounted: Mounted) -> None:
    reader = mounted.reader("hwmon-power")
    assert reader.read() == (4.67,)
    (mounted.source / "sys/class/hwmon/hwmon1").rename(mounted.source / "sys/class/hwmon/hwmon9")
    with pytest.raises(ReadGap, match="vanished"):
        reader.read()
    assert reader.read() == (4.67,)
    reader.close()


def test_a_firmware_reload_is_a_gap_of_which_the_reader_recovers(mounted: Mounted) -> None:
    reader = mounted.reader("xrt-cu")
    assert reader.read() == (4, 1234, 1234)
    write(mounted.source, {CUSTAT: ""})
    (mounted.source / ZOCL / "CU.2.auto").rename(mounted.source / ZOCL / "CU.7.auto")
    for _ in range(3 * SEARCH_EVERY):
        with pytest.raises(ReadGap, match="empty"):
            reader.read()
    write(mounted.source, {f"{ZOCL}/CU.7.auto/stat": "0 1\n", CUSTAT: CU_LINE.format(status="0x1", usage=1)})
    assert reader.read() == (1, 1, 0)
    reader.close()
