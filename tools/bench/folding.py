"""Folding bench: energy per subgraph on the virtual board against what the board's event log says.

Usage: python -m tools.bench.folding [--short] [--seed N] [--keep DIR]

A model of three subgraphs of different length and power runs through the whole of `kvbench profile` and `kvbench fold`.
Each subgraph must come within 10 % and the sum within 3 % of the truth. Exit code 1 if a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kv260_runtime.xmodel import Attributes, Graph, Op, Subgraph, Tensor, write_xmodel
from telemetry.session.reader import SessionReader
from virtual_board.truth import Truth, read_truth

MS = 1_000_000
SHAPE = (1, 8, 8, 4)
FINGERPRINT = 0x101000056010407
PART_LIMIT, SUM_LIMIT = 0.10, 0.03
SUBGRAPHS = ((41_300_000, 4.3), (23_100_000, 2.1), (31_700_000, 3.4))
"""Length and power above idle of each command; no multiple of the sensor's period together."""


@dataclass(frozen=True)
class Check:
    """One energy, mean over the runs, against the truth."""

    name: str
    measured: float
    true: float
    limit: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.measured / self.true - 1

    @property
    def passed(self) -> bool:
        """Whether the error is within its limit."""
        return abs(self.error) <= self.limit


def three_subgraphs() -> Graph:
    """A chain of three DPU subgraphs, each copying its input, and one conversion on the CPU."""
    fixed = {"fix_point": 4, "bit_width": 8, "if_signed": True, "round_mode": "DPU_ROUND"}

    def tensor(name: str) -> Tensor:
        return Tensor(name, SHAPE, "xint8", Attributes(dict(fixed)))

    ops = [Op("in", "data-fix", tensor("in"))]
    children = [Subgraph("user", ["in"], Attributes({"device": "USER"}))]
    dpu = {"device": "DPU", "dpu_name": "DPUCZDX8G_ISA1_B4096", "dpu_fingerprint": FINGERPRINT, "workload": 10**9}
    source = "in"
    for number in range(len(SUBGRAPHS)):
        up, down = f"up{number}", f"down{number}"
        ops.append(Op(up, "upload", tensor(up), {"input": [source]}))
        ops.append(Op(down, "download", tensor(down), {"input": [up]}))
        children.append(Subgraph(f"dpu{number}", [up, down], Attributes(dict(dpu))))
        source = down
    ops.append(Op("out", "fix2float", Tensor("out", SHAPE, "float32", Attributes()), {"input": [source]}))
    children.append(Subgraph("cpu", ["out"], Attributes({"device": "CPU"})))
    return Graph("three", ops, Subgraph("root", [], Attributes(), children))


def run_bench(folder: Path, seconds: float, runs: int, seed: int) -> list[Check]:
    """Profile and fold the model in `folder`, and compare with the truth of the same spans."""
    model, timing, log, session = (folder / name for name in ("three.xmodel", "t.json", "board.log", "s.kvs"))
    write_xmodel(three_subgraphs(), model)
    segments = [{"kind": "dpu", "duration_ns": length_ns, "watts": watts} for length_ns, watts in SUBGRAPHS]
    timing.write_text(json.dumps({model.name: {"overhead_ns": 2_000_000, "segments": segments}}))
    words = [model, "--board", "virtual", "--runs", runs, "--duration", seconds, "--smoke", 0, "--idle", 0.5]
    for option in (f"seed={seed}", f"timing={timing}", f"log={log}"):
        words += ["--board-option", option]
    _kvbench("profile", *words, "--trim", 0.5, "--out", session, "--json")
    [folding] = _kvbench("fold", session, "--json")["models"]
    return list(_checks(folding, session, log))


def _checks(folding: dict[str, Any], session: Path, log: Path) -> Iterator[Check]:
    truth = read_truth(log)
    with SessionReader(session) as source:
        spans = [source.executions(run["id"])[1][[10, -10]].tolist() for run in folding["runs"]]
    if not spans:
        raise SystemExit(f"nothing was folded: {folding['refused']}")
    true = [_true_joules(truth, *span) for span in spans]
    found = {part["name"]: part["joules"]["value"] for part in folding["parts"]}
    for number in range(len(SUBGRAPHS)):
        name = f"run {number + 1}"
        expected = sum(one[number] for one in true) / len(true)
        yield Check(name, found.get(name, float("nan")), expected, PART_LIMIT)
    whole = sum(one[-1] for one in true) / len(true)
    yield Check("sum", folding["joules"]["value"], whole, SUM_LIMIT)


def _true_joules(truth: Truth, start_ns: int, end_ns: int) -> list[float]:
    """Mean energy of each command in turn and of a whole execution between two completions, from the log."""
    inside = [run for run in truth.runs if start_ns <= run.start_ns and run.end_ns <= end_ns]
    executions = len(inside) / len(SUBGRAPHS)
    energies = [truth.joules(run.start_ns, run.end_ns) for run in inside]
    each = [sum(energies[number :: len(SUBGRAPHS)]) / executions for number in range(len(SUBGRAPHS))]
    return [*each, truth.joules(start_ns, end_ns) / executions]


def _kvbench(*words: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "kv260_runtime.cli.main", *map(str, words)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, check=False)
    if not done.stdout:
        raise SystemExit(f"{' '.join(command)} printed nothing, exit code {done.returncode}")
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def main() -> int:
    """Run, print a table, say by the exit code whether all limits hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="one run of 15 s instead of three of 60 s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="leave session and log in this folder")
    arguments = parser.parse_args()
    seconds, runs = (15.0, 1) if arguments.short else (60.0, 3)
    with ExitStack() as stack:
        folder = arguments.keep or Path(stack.enter_context(TemporaryDirectory(prefix="kvbench-fold-")))
        folder.mkdir(exist_ok=True)
        checks = run_bench(folder, seconds, runs, arguments.seed)
    for check in checks:
        verdict = "ok" if check.passed else "MISSED"
        print(
            f"{check.name:6} {1e3 * check.measured:9.3f} mJ, true {1e3 * check.true:9.3f} mJ: "
            f"{check.error:+.2%} of {check.limit:.0%}  {verdict}"
        )
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
