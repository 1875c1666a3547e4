"""Kill a recording at random moments and see what is left: every session must open, and lose one second at most.

    python -m tools.bench.kill_recorder --kills 50

Each time either the recorder, the measuring program or both get SIGKILL. Exit code 1 if a session needed repair.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
from itertools import cycle
from pathlib import Path

import numpy as np

from telemetry.boards import BoardProfile, StreamPlan
from telemetry.clock import SystemClock
from telemetry.errors import TelemetryError
from telemetry.model import Marker
from telemetry.recording import RecorderPlan, Recording
from telemetry.session import RunInfo, SessionLog, SessionReader

STATE = "sys/class/drm/renderD128/device/kds_custat_raw"
BOARD = BoardProfile(
    name="killed",
    title="A compute unit and the CPU",
    streams=(StreamPlan("xrt-cu", 1, jitter=True, group="fast"), StreamPlan("proc-stat", 100)),
)
VICTIMS = ("recorder", "program", "both")
MOST_LOST_NS = 1_000_000_000
LONGEST_LIFE_SECONDS = 2.5
PERIOD_NS = 1_000_000


def program(session: Path, root: Path) -> None:
    """Stand for the measuring program: record, and write runs and markers until killed."""
    log = SessionLog.create(session)
    recording = Recording.start(RecorderPlan(str(root), BOARD, str(session)))
    print(recording.ready.pid, flush=True)
    clock = SystemClock()
    number = 0
    while True:
        run = log.start_run(RunInfo("model", "formal", number, 1))
        for _ in range(20):
            number += 1
            log.marker(run, Marker(clock.now_ns(), str(number)))
            print(number, flush=True)
        log.executions(run, None, np.arange(2500))
        log.end_run(run, "kept")


def kill_once(folder: Path, victim: str, life_ns: int) -> list[str]:
    """One recording, killed `life_ns` after its start; what is wrong with the session that is left."""
    clock, session = SystemClock(), folder / "killed.kvs"
    command = [sys.executable, "-m", "tools.bench.kill_recorder", "--program", str(session), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        recorder = int(process.stdout.readline())
        started_ns = clock.now_ns()
        clock.sleep_until_ns(started_ns + life_ns)
        killed_ns = clock.now_ns()
        if victim != "program":
            os.kill(recorder, signal.SIGKILL)
        if victim == "recorder":
            # The program may be inside a commit, so it is asked for nothing more: it dies a moment later.
            clock.sleep_until_ns(killed_ns + 20_000_000)
        process.kill()
        written = process.stdout.read().split()[:-1]
        _wait_for(recorder)
    left = [path.name for path in folder.glob("*.kvs-*")] if victim == "program" else []
    beside = [f"the recorder outlived its parent and left {', '.join(left)}"] if left else []
    return inspect(session, started_ns, killed_ns, len(written)) + beside


def inspect(session: Path, started_ns: int, killed_ns: int, markers: int) -> list[str]:
    """What is wrong with a session that was recorded between two instants."""
    try:
        with SessionReader(session) as reader:
            cu, cpu, found = reader.series("cu"), reader.series("cpu"), len(reader.markers())
    except TelemetryError as error:
        return [str(error)]
    wrong = []
    for series in (cu, cpu):
        lost_ns = killed_ns - (int(series.t_ns[-1]) if len(series.t_ns) else started_ns)
        if lost_ns > MOST_LOST_NS:
            wrong.append(f"{series.stream.name}: the last {lost_ns / 1e9:.3f} s are lost")
    slots = (int(cu.t_ns[-1]) - int(cu.t_ns[0])) / PERIOD_NS if len(cu.t_ns) else 0
    missed = sum(gap.missed for gap in cu.gaps)
    if abs(len(cu.t_ns) + missed - slots) > 2:
        wrong.append(f"cu: {len(cu.t_ns)} samples and {missed} missed in {slots:.1f} slots")
    if found < markers:
        wrong.append(f"{markers} markers were written, {found} are left")
    return wrong


def _wait_for(pid: int) -> None:
    """Until a process that is not our child has ended, whether or not the system's first process has collected it."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended, _, _ = select.select([descriptor], [], [], 10)
    os.close(descriptor)
    if not ended:
        raise TimeoutError(f"the recorder {pid} outlives its parent")


def main() -> int:
    """Kill as often as asked and print what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=None, help="of the moments (default: drawn and printed)")
    parser.add_argument("--program", nargs=2, type=Path, metavar=("SESSION", "ROOT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        program(*options.program)
    seed = random.randrange(2**32) if options.seed is None else options.seed
    moments = random.Random(seed)
    failures = 0
    for number, victim in zip(range(options.kills), cycle(VICTIMS)):
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / STATE
            state.parent.mkdir(parents=True)
            state.write_text("0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x4,0\n")
            (Path(folder) / "proc").mkdir()
            (Path(folder) / "proc/stat").write_text("cpu  1 0 1 9 0 0 0 0 0 0\ncpu0 1 0 1 9 0 0 0 0 0 0\n")
            life_ns = int(moments.uniform(0.01, LONGEST_LIFE_SECONDS) * 1e9)
            for wrong in kill_once(Path(folder), victim, life_ns):
                failures += 1
                print(f"kill {number} of {victim} after {life_ns / 1e9:.3f} s: {wrong}")
    print(f"{options.kills} kills with seed {seed}: {failures} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
