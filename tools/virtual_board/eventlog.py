"""The ground truth: what was played, with the instants at which it could be read, as JSON lines.

The first line is an object (version, seed, constants, sensor errors); every other line is an array led by its kind:

    ["client", client, pid, ordinal, t_ns]                          a process connected (ordinal 0: no workload)
    ["plan", plan, client, {plan}]                                  what the client is going to execute
    ["run", client, plan, segment, start_ns, end_ns, active_ns]     one run of the compute unit
    ["core", core, start_ns, end_ns]                                one stretch of a core
    ["done", client, plan, execution, t_ns, due_ns]                 an execution completed
    ["charge", core, from_ns, to_ns, cpu_ns]                        observers' CPU time shown on a core
    ["fault", name, t_ns, "begin" or "end"]
    ["end", t_ns]

`start_ns` to `end_ns` of a run is how long the status showed it; `active_ns` how long it moved bytes and drew power.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VERSION = 1
Value = str | int | Mapping[str, Any]
FLUSH_NS = 500_000_000


class EventLog:
    """Buffers lines; `flush` writes them. Without a path it swallows everything."""

    def __init__(self, path: Path | None, header: Mapping[str, Any]) -> None:
        self._lines: list[str] = []
        self._file = path.open("w", encoding="utf-8") if path else None
        self._lines.append(json.dumps({"virtual_board_log": VERSION, **header}))
        self.flush()

    def add(self, *record: Value) -> None:
        """Append a record."""
        if self._file is not None:
            self._lines.append(json.dumps(record, separators=(",", ":")))

    def flush(self) -> None:
        """Hand everything to the system."""
        if self._file is not None and self._lines:
            self._file.write("\n".join(self._lines) + "\n")
            self._file.flush()
        self._lines.clear()

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        if self._file is not None:
            self._file.close()
