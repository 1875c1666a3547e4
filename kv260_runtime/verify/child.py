"""The process that runs a model on the board for a comparison, and may be taken down by the vendor's runtime.

`jobs.json` in the folder given lists {"runner", "subgraph"}; job N reads N.in.npz and writes N.out.npz.
A fault of ours is {"message", "exit_code"} in error.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kv260_runtime.accelerators import open_runner
from kv260_runtime.errors import KvbenchError
from kv260_runtime.verify.arrays import load, save

JOBS, ERROR = "jobs.json", "error.json"


def run_job(folder: Path, model: Path, number: int, runner_name: str, subgraph: int | None) -> None:
    """One execution."""
    runner = open_runner(runner_name, model, subgraph)
    try:
        runner.load(load(folder / f"{number}.in.npz"))
        runner.execute()
        save(folder / f"{number}.out.npz", runner.fetch())
    finally:
        runner.close()


def main(folder: Path, model: Path) -> int:
    """All jobs in order."""
    jobs = json.loads((folder / JOBS).read_text(encoding="utf-8"))
    try:
        for number, job in enumerate(jobs):
            run_job(folder, model, number, job["runner"], job["subgraph"])
    except KvbenchError as error:
        told = {"message": str(error), "exit_code": int(error.exit_code)}
        (folder / ERROR).write_text(json.dumps(told), encoding="utf-8")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
