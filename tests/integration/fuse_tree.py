"""A FUSE file system that shows a folder as it is, except that reads of a named file fail as told on standard input.

Run as `python fuse_tree.py SOURCE MOUNTPOINT`. It prints `mounted`, then answers each line `NAME OUTCOME...` (an errno
by name, or EMPTY) with `ok`: the next reads of files called NAME bring these outcomes. It ends when its input ends.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections import defaultdict, deque
from pathlib import Path
from typing import Any

import mfusepy


class Tree(mfusepy.Operations):
    """The folder `source`, with faults."""

    use_ns = True

    def __init__(self, source: Path) -> None:
        self._source = source
        self._outcomes: dict[str, deque[str]] = defaultdict(deque)

    def listen(self) -> None:
        for line in sys.stdin:
            name, *outcomes = line.split()
            self._outcomes[name].extend(outcomes)
            print("ok", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    def init(self, path: str) -> None:
        print("mounted", flush=True)

    def getattr(self, path: str, fh: Any = None) -> dict[str, Any]:
        try:
            status = (self._source / path[1:]).lstat()
        except OSError as error:
            raise mfusepy.FuseOSError(error.errno) from error
        keys = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size")
        return {key: getattr(status, key) for key in keys}

    def readdir(self, path: str, fh: Any) -> list[str]:
        return [".", "..", *sorted(entry.name for entry in (self._source / path[1:]).iterdir())]

    def readlink(self, path: str) -> str:
        return str((self._source / path[1:]).readlink())

    def open(self, path: str, fi: Any) -> int:
        fi.direct_io = 1  # every pread reaches `read`, whatever size the file claims
        return 0

    def read(self, path: str, size: int, offset: int, fi: Any) -> bytes:
        outcomes = self._outcomes[Path(path).name]
        outcome = outcomes.popleft() if outcomes else ""
        if outcome == "EMPTY":
            return b""
        if outcome:
            raise mfusepy.FuseOSError(getattr(errno, outcome))
        try:
            return (self._source / path[1:]).read_bytes()[offset : offset + size]
        except FileNotFoundError as error:
            # What sysfs answers on a descriptor whose device has gone.
            raise mfusepy.FuseOSError(errno.ENODEV) from error


if __name__ == "__main__":
    tree = Tree(Path(sys.argv[1]))
    threading.Thread(target=tree.listen, daemon=True).start()
    mfusepy.FUSE(tree, sys.argv[2], raw_fi=True, foreground=True, nothreads=True, attr_timeout=0, entry_timeout=0)
