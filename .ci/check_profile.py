"""Check what `kvbench profile --demo --runs 2 --json` printed: valid, both models, all runs, every sensor's figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema

SCHEMA = Path(__file__).resolve().parent.parent / "docs/schemas/profile.schema.json"
RUNS = 2
FIGURES = ("throughput", "busy_share", "power", "energy_per_execution", "bytes_per_execution", "system_share_net")
"""Each is there, perhaps of several rails or units (`power.som`), and above 0: the virtual board has all sensors."""


def faults(result: dict) -> list[str]:
    """What is wrong with a result, one line each."""
    found = [] if result["emulated"] else ["not marked as emulated"]
    if len(result["models"]) != 2:
        found.append(f"{len(result['models'])} models instead of the two of the demo")
    if not result["changes"]:
        found.append("no change between the models")
    for model in result["models"]:
        if model["kept_runs"] != RUNS:
            found.append(f"{model['name']}: {model['kept_runs']} of {RUNS} runs kept")
        for name in FIGURES:
            parts = {key: one for key, one in model["figures"].items() if key.partition(".")[0] == name}
            if not parts:
                found.append(f"{model['name']}: no {name}: {model['absent'].get(name, 'no reason given')}")
            found += [f"{model['name']}: {key} = {one['mean']}" for key, one in parts.items() if not one["mean"] > 0]
    return found


def main(path: str) -> int:
    """Exit code 1 and the faults on standard output if there are any."""
    result = json.loads(Path(path).read_text(encoding="utf-8"))
    jsonschema.validate(result, json.loads(SCHEMA.read_text(encoding="utf-8")))
    found = faults(result)
    print("\n".join(found) or f"{path}: both models, {RUNS} runs each, every figure there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
