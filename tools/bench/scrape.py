"""How long a scrape of kv260-telemetry takes with several scrapers, and what scraping does to the sampler.

    python -m tools.bench.scrape [--short] [--scrapers 4] [--json FILE]

The service reads a folder with a KV260's files. Each scraper asks four times a second on a connection of its own, far
more often than Prometheus does, so that most scrapes find a state that has not been rendered yet. `/-/ready`, which
renders nothing, shows what connecting and asking cost by themselves. Exit code 1 if the 99th percentile exceeds 10 ms.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import numpy as np

from telemetry.client import Connection, socket_path
from telemetry.clock import SystemClock
from telemetry.model import Int64Array

from .static_tree import build

PERIOD_NS = 250_000_000
MOST_P99_MS = 10.0


@dataclass(frozen=True)
class Outcome:
    """What one bench found."""

    scrapers: int
    scrapes: int
    scrape_p50_ms: float
    scrape_p99_ms: float
    scrape_worst_ms: float
    ready_p50_ms: float
    ready_p99_ms: float
    series: int
    late_p99_us_alone: float
    """99th percentile of how late the compute unit was read, with nobody scraping."""
    late_p99_us_scraped: float

    @property
    def exceeded(self) -> bool:
        """Whether the bound is broken."""
        return self.scrape_p99_ms > MOST_P99_MS


class Service:
    """A running service of a folder with sensor files."""

    def __init__(self, root: Path) -> None:
        words = [sys.executable, "-m", "telemetry.daemon", "--root", str(root), "--board", "kv260"]
        self._process = subprocess.Popen([*words, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        found = None
        for line in self._process.stderr:
            if found := re.match(r"metrics on http://[^:]*:(\d+)/", line):
                break
        if found is None:
            raise SystemExit("the service did not start")
        self.port = int(found[1])
        self.connection = Connection(socket_path(root))

    def get(self, path: str) -> bytes:
        """One page on a connection of its own, as HTTP/1.0 goes."""
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nAccept-Encoding: identity\r\n\r\n".encode())
            parts = []
            while data := connection.recv(1 << 16):
                parts.append(data)
        return b"".join(parts)

    def end(self) -> None:
        """Stop it."""
        self.connection.close()
        self._process.terminate()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


def timed(service: Service, path: str, seconds: float, scrapers: int) -> Int64Array:
    """How long each request took, in nanoseconds, of so many scrapers over a time."""
    took_ns: list[list[int]] = [[] for _ in range(scrapers)]
    begin_ns = SystemClock.now_ns()

    def scrape(number: int) -> None:
        random = Random(number)
        due_ns = begin_ns + random.randrange(PERIOD_NS)
        while due_ns < begin_ns + seconds * 1e9:
            SystemClock.sleep_until_ns(due_ns)
            asked_ns = SystemClock.now_ns()
            if not service.get(path).startswith(b"HTTP/1.0 200"):
                raise SystemExit(f"{path} was refused")
            took_ns[number].append(SystemClock.now_ns() - asked_ns)
            due_ns += random.randrange(PERIOD_NS // 2, PERIOD_NS * 3 // 2)

    threads = [threading.Thread(target=scrape, args=(number,)) for number in range(scrapers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array([one for mine in took_ns for one in mine], np.int64)


def lateness(service: Service, begin_ns: int) -> Int64Array:
    """How late the compute unit was read from an instant on, by what has been collected since."""
    late: list[int] = []
    service.connection.send("flush")
    while True:
        line = service.connection.receive()
        if line.get("samples") == "cu":
            late += [one for t_ns, one in zip(line["t_ns"], line["late_ns"], strict=True) if t_ns >= begin_ns]
        if "ok" in line:
            return np.array(late, np.int64)


def run(root: Path, seconds: float, scrapers: int) -> Outcome:
    """All of it: nobody, then `/-/ready`, then metrics."""
    service = Service(build(root))
    try:
        service.connection.ask("subscribe", "cu")
        begin_ns = SystemClock.now_ns()
        SystemClock.sleep_until_ns(begin_ns + int(seconds * 1e9))
        alone = lateness(service, begin_ns)
        ready = timed(service, "/-/ready", seconds / 2, scrapers)
        lateness(service, 0)
        begin_ns = SystemClock.now_ns()
        took = timed(service, "/metrics", seconds, scrapers)
        scraped = lateness(service, begin_ns)
        body = service.get("/metrics").partition(b"\r\n\r\n")[2].decode()
    finally:
        service.end()
    return Outcome(
        scrapers=scrapers,
        scrapes=took.size,
        scrape_p50_ms=_percentile(took, 50, 1e6),
        scrape_p99_ms=_percentile(took, 99, 1e6),
        scrape_worst_ms=_percentile(took, 100, 1e6),
        ready_p50_ms=_percentile(ready, 50, 1e6),
        ready_p99_ms=_percentile(ready, 99, 1e6),
        series=sum(not line.startswith("#") for line in body.splitlines()),
        late_p99_us_alone=_percentile(alone, 99, 1e3),
        late_p99_us_scraped=_percentile(scraped, 99, 1e3),
    )


def _percentile(values_ns: Int64Array, share: float, unit_ns: float) -> float:
    return float(np.percentile(values_ns, share)) / unit_ns


def main() -> int:
    """Measure, print, compare with the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="10 s of scrapes instead of 60")
    parser.add_argument("--scrapers", type=int, default=4, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here as well")
    options = parser.parse_args()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        found = run(Path(folder), 10 if options.short else 60, options.scrapers)
    print(f"{found.scrapes} scrapes of {found.series} series by {found.scrapers} scrapers")
    print(
        f"scrape:   p50 {found.scrape_p50_ms:.2f} ms, p99 {found.scrape_p99_ms:.2f} ms (bound {MOST_P99_MS:g} ms), "
        f"worst {found.scrape_worst_ms:.2f} ms{'  EXCEEDED' if found.exceeded else ''}"
    )
    print(f"/-/ready: p50 {found.ready_p50_ms:.2f} ms, p99 {found.ready_p99_ms:.2f} ms")
    print(
        f"p99 lateness of the compute unit: {found.late_p99_us_alone:.0f} us alone, "
        f"{found.late_p99_us_scraped:.0f} us while scraped"
    )
    if options.json:
        options.json.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    return 1 if found.exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
