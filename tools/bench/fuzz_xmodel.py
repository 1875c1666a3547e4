"""Fuzz bench: broken XModels must end in XModelError or be read, in bounded time and memory, and in nothing else.

Usage: python tools/bench/fuzz_xmodel.py [--count N] [--seed S] [--processes P] [--files FOLDER] [--keep FOLDER]

Files are mutated from the real ones in ../shared/xmodels (or FOLDER), or from generated ones where there are none. Each
is read, inspected in full, rendered and written again. The address space is limited, so that an allocation beyond
512 MiB is a MemoryError and hence a failure. Exit code 1 if anything failed; `--keep` saves the files that did.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from bench.xmodel_mutations import mutate, reduced  # noqa: E402
from kv260_runtime.report import inspect_json, inspect_text  # noqa: E402
from kv260_runtime.xmodel import XModelError, encode_xmodel, parse_xmodel  # noqa: E402
from kv260_runtime.xmodel.facts import model_facts  # noqa: E402
from telemetry.clock import SystemClock  # noqa: E402

REAL_FILES = ROOT.parent / "shared" / "xmodels"
MOST_SECONDS = 2.0
MOST_BYTES = 512 << 20
CHUNK = 500
WHOLE_FILES = 0.02  # share of mutations of files as they are; the rest are of reduced ones, which cost a tenth


@dataclass
class Outcome:
    """What happened to a number of files."""

    counts: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    peak_bytes: int = 0

    def add(self, other: Outcome) -> None:
        """Merge the outcome of other files."""
        self.counts.update(other.counts)
        self.slowest_seconds = max(self.slowest_seconds, other.slowest_seconds)
        self.failures += other.failures
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)


class Fuzzer:
    """Makes and examines broken files; each is fixed by the seed and its number."""

    def __init__(self, folder: Path, seed: int, keep: Path | None) -> None:
        whole = [path.read_bytes() for path in sorted(folder.glob("*.xmodel"))] or _generated()
        self._whole, self._reduced = whole, [reduced(data) for data in whole]
        self._seed, self._keep = seed, keep

    def run(self, first: int, count: int) -> Outcome:
        """Examine `count` files from number `first` on."""
        outcome = Outcome()
        for number in range(first, first + count):
            rng = random.Random(f"{self._seed}:{number}")
            data = mutate(rng, self._whole if rng.random() < WHOLE_FILES else self._reduced)
            failure = _examined(data, outcome)
            if failure:
                outcome.failures.append(f"file {number} of seed {self._seed}: {failure}")
                if self._keep is not None:
                    (self._keep / f"{self._seed}-{number}.xmodel").write_bytes(data)
        outcome.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return outcome


def _generated() -> list[bytes]:
    from virtual_board.models import demo_graph

    return [encode_xmodel(demo_graph(split_offline=offline, size=64)) for offline in (False, True)]


def _examined(data: bytes, outcome: Outcome) -> str | None:
    """Examine one file; what was wrong with how it went, if anything."""
    clock = SystemClock()
    began_ns = clock.now_ns()
    failure = None
    try:
        _use(data)
        outcome.counts["read"] += 1
    except XModelError as error:
        outcome.counts["refused"] += 1
        if "\n" in str(error) or not error.reason or not str(error).startswith("fuzzed: "):
            failure = f"the error is not one line of file, place and reason: {str(error)!r}"
    except Exception as error:  # noqa: BLE001  # any other type is what the bench is there to find
        failure = f"{type(error).__name__}: {error}"
    seconds = (clock.now_ns() - began_ns) * 1e-9
    outcome.slowest_seconds = max(outcome.slowest_seconds, seconds)
    return failure or (f"took {seconds:.2f} s" if seconds > MOST_SECONDS else None)


def _use(data: bytes) -> None:
    """Do with a file all that kvbench does with one without running it."""
    graph = parse_xmodel(data, "fuzzed")
    models = [(graph, model_facts(graph))]
    inspect_text.render(models, with_ops=True)
    json.dumps(inspect_json.as_json(models, None, with_ops=True), allow_nan=False)
    for index in range(min(2, len(graph.subgraphs))):
        inspect_text.render(models, index)
    encode_xmodel(graph)


_fuzzer: Fuzzer | None = None


def _start(folder: Path, seed: int, keep: Path | None) -> None:
    """Prepare a process: the files once, then no more memory than allowed."""
    global _fuzzer  # noqa: PLW0603  # one per process, made before its first task
    _fuzzer = Fuzzer(folder, seed, keep)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + MOST_BYTES, in_use + MOST_BYTES))


def _run(first: int, count: int) -> Outcome:
    assert _fuzzer is not None
    return _fuzzer.run(first, count)


def main() -> int:
    """Run the bench and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--files", type=Path, default=REAL_FILES)
    parser.add_argument("--keep", type=Path, help="folder for the files that failed")
    options = parser.parse_args()
    total = Outcome()
    starts = range(0, options.count, CHUNK)
    with ProcessPoolExecutor(options.processes, None, _start, (options.files, options.seed, options.keep)) as pool:
        for outcome in pool.map(_run, starts, [min(CHUNK, options.count - first) for first in starts]):
            total.add(outcome)
    print(f"{options.count} files: {total.counts['read']} read, {total.counts['refused']} refused")
    print(f"slowest {total.slowest_seconds:.3f} s, peak memory of a process {total.peak_bytes / 2**20:.0f} MiB")
    for failure in total.failures[:20]:
        print(f"FAILED {failure}")
    limits = total.peak_bytes < MOST_BYTES and not total.failures
    print("passed" if limits else f"FAILED: {len(total.failures)} files")
    return 0 if limits else 1


if __name__ == "__main__":
    sys.exit(main())
