"""The child process of our own loops: runs one model, stamps every execution, and may die without taking anyone along.

Lines out, on the descriptor given by --report-fd (stdout and stderr stay free for the vendor's messages):
  `ready {json}`            runners exist, inputs are loaded; json: inputs, outputs, input_source
  `x THREAD START_NS END_NS`  one execution, CLOCK_MONOTONIC
  `done COUNT`              the loop asked for has ended; idle again, runners still held
  `error {json}`            message and exit_code of a fault in one line; the process ends
Lines in, on stdin: `time NANOSECONDS`, `count EXECUTIONS`, `quit`; end of file means quit.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kv260_runtime.accelerators import Array, Runner, TensorSpec, open_runner
from kv260_runtime.errors import KvbenchError, ModelRejected
from telemetry.clock import SystemClock

Stop = Callable[[int, int], bool]
"""Given (executions begun by all threads, now_ns), whether to stop before the next execution."""


class Reporter:
    """Writes whole lines to one descriptor from any thread; a line below PIPE_BUF is atomic."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def line(self, text: str) -> None:
        """Write one line at once, so that an abort a moment later loses nothing."""
        os.write(self._descriptor, f"{text}\n".encode())

    def execution(self, thread: int, start_ns: int, end_ns: int) -> None:
        """Report one completed execution."""
        os.write(self._descriptor, b"x %d %d %d\n" % (thread, start_ns, end_ns))


def load_input_sets(path: Path | None, specs: Sequence[TensorSpec], seed: int) -> tuple[list[dict[str, Array]], str]:
    """The inputs to rotate through, and where they came from in words for the session.

    A file is an .npz with one array per input, named as the tensors; without one, four seeded random full-range sets,
    as the vendor's benchmark does (board.md 4.1).
    """
    from kv260_runtime.accelerators.tensors import random_inputs

    if path is None:
        return random_inputs(specs, seed, 4), f"4 random full-range inputs, seed {seed}"
    import numpy as np

    try:
        with np.load(path) as archive:
            return [{name: archive[name] for name in archive.files}], str(path)
    except (OSError, ValueError) as error:
        raise ModelRejected(f"{path}: not an .npz of input arrays ({error})") from error


class Tickets:
    """Hands out executions to threads until the rule says stop, so that a count is met exactly."""

    def __init__(self, stop: Stop) -> None:
        self.taken = 0
        self._stop = stop
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Whether the caller is to execute once more."""
        with self._lock:
            if self._stop(self.taken, SystemClock.now_ns()):
                return False
            self.taken += 1
            return True


def run_loop(
    runner: Runner, inputs: Sequence[Mapping[str, Array]], tickets: Tickets, reporter: Reporter, thread: int
) -> None:
    """Execute while there are tickets, loading the next input each time; the stamps bracket load and execution."""
    runner.adopt()
    now_ns = SystemClock.now_ns
    turn = thread
    while tickets.take():
        start_ns = now_ns()
        runner.load(inputs[turn % len(inputs)])
        runner.execute()
        reporter.execution(thread, start_ns, now_ns())
        turn += 1


class Pool:
    """One runner per thread: the vendor's runners are never shared between threads."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._runners = [open_runner(options.kind, options.model, options.subgraph) for _ in range(options.threads)]
        specs = self._runners[0].inputs
        self._inputs, self.input_source = load_input_sets(options.input, specs, options.seed)
        for runner in self._runners:
            runner.load(self._inputs[0])

    def describe(self) -> dict[str, Any]:
        """What the session records about this workload."""
        first = self._runners[0]
        return {
            "inputs": [asdict(spec) for spec in first.inputs],
            "outputs": [asdict(spec) for spec in first.outputs],
            "input_source": self.input_source,
        }

    def run(self, stop: Stop, reporter: Reporter) -> int:
        """Run all threads to the end of the loop; the first error of any thread is raised here."""
        tickets = Tickets(stop)
        if len(self._runners) == 1:
            run_loop(self._runners[0], self._inputs, tickets, reporter, 0)
            return tickets.taken
        errors: list[BaseException] = []

        def body(index: int) -> None:
            try:
                run_loop(self._runners[index], self._inputs, tickets, reporter, index)
            except KvbenchError as error:
                errors.append(error)

        threads = [threading.Thread(target=body, args=(i,)) for i in range(len(self._runners))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return tickets.taken

    def close(self) -> None:
        """Release all runners."""
        for runner in self._runners:
            runner.close()


def stop_rule(command: str, value: int) -> Stop | None:
    """The rule that a line `time N` or `count N` asks for; None for anything else."""
    if command == "time":
        end_ns = SystemClock.now_ns() + value
        # One execution at least, however short the time asked for.
        return lambda begun, now_ns: begun > 0 and now_ns >= end_ns
    if command == "count":
        return lambda begun, _now_ns: begun >= value
    return None


def serve(options: argparse.Namespace, reporter: Reporter) -> None:
    """Open the runners, then obey stdin."""
    pool = Pool(options)
    # The loop allocates next to nothing; a collection in the middle of it would be somebody else's milliseconds.
    gc.collect()
    gc.freeze()
    gc.disable()
    reporter.line("ready " + json.dumps(pool.describe()))
    for line in sys.stdin:
        command, _, value = line.strip().partition(" ")
        rule = stop_rule(command, int(value or 0))
        if rule is None:
            break
        reporter.line(f"done {pool.run(rule, reporter)}")
    pool.close()


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The worker's own command line; users never type it."""
    parser = argparse.ArgumentParser(prog="kvbench-worker")
    parser.add_argument("--kind", required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--subgraph", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report-fd", type=int, required=True)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to quit; faults of ours are one `error` line, the vendor's aborts speak for themselves."""
    options = parse(arguments)
    reporter = Reporter(options.report_fd)
    try:
        serve(options, reporter)
    except KvbenchError as error:
        reporter.line("error " + json.dumps({"message": str(error), "exit_code": int(error.exit_code)}))
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
