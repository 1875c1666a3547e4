"""What our runners make of the vendor's answers, with small objects in the vendor's place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from kv260_runtime.accelerators.ownership import Owned, WrongThread
from kv260_runtime.accelerators.vendor import FINGERPRINT_VARIABLE, require_fingerprint, run_to_end
from kv260_runtime.errors import RunFailed


@dataclass
class Vendor:
    """Answers as told and notes what was waited for."""

    status: int = 0
    waited_status: int = 0
    raises: type[BaseException] | None = None
    waited: list[tuple[int, int]] = field(default_factory=list)

    def execute_async(self, _inputs: Any, _outputs: Any) -> tuple[int, int]:
        if self.raises is not None:
            raise self.raises
        return (1, self.status)

    def wait(self, job: tuple[int, int]) -> int:
        self.waited.append(job)
        return self.waited_status


@dataclass
class Subgraph:
    """A DPU subgraph with a fingerprint, or without one."""

    attributes: dict[str, Any]

    def get_name(self) -> str:
        return "sub"

    def has_attr(self, key: str) -> bool:
        return key in self.attributes

    def get_attr(self, key: str) -> Any:
        return self.attributes[key]


def test_every_job_is_waited_for() -> None:
    vendor = Vendor()
    run_to_end(vendor, [], [])
    assert vendor.waited == [(1, 0)]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_job_is_waited_for_after_an_exception_too(error: type[BaseException]) -> None:
    vendor = Vendor(raises=error)
    with pytest.raises(error):
        run_to_end(vendor, [], [])
    assert vendor.waited == [(1, 0)]


@pytest.mark.parametrize("vendor", [Vendor(status=3), Vendor(waited_status=3)])
def test_an_error_status_is_a_failed_run(vendor: Vendor) -> None:
    with pytest.raises(RunFailed, match="Vendor returned status 3"):
        run_to_end(vendor, [], [])


def test_a_wrong_fingerprint_is_told_before_a_runner_is_made() -> None:
    environment = {FINGERPRINT_VARIABLE: "0x101000056010407"}
    with pytest.raises(RunFailed, match="sub is compiled for the DPU 0x101000016010407, 0x101000056010407 is loaded"):
        require_fingerprint([Subgraph({"dpu_fingerprint": 0x101000016010407})], environment)


@pytest.mark.parametrize(
    ("attributes", "environment"),
    [
        ({"dpu_fingerprint": 5}, {FINGERPRINT_VARIABLE: "0x5"}),
        ({"dpu_fingerprint": 0}, {FINGERPRINT_VARIABLE: "0x5"}),
        ({}, {FINGERPRINT_VARIABLE: "0x5"}),
        ({"dpu_fingerprint": 6}, {FINGERPRINT_VARIABLE: "0x0"}),
        ({"dpu_fingerprint": 6}, {FINGERPRINT_VARIABLE: ""}),
        ({"dpu_fingerprint": 6}, {}),
        ({"dpu_fingerprint": 6}, {FINGERPRINT_VARIABLE: "0x5", "XLNX_ENABLE_FINGERPRINT_CHECK": "0"}),
    ],
)
def test_what_the_vendor_lets_pass_passes(attributes: dict[str, Any], environment: dict[str, str]) -> None:
    require_fingerprint([Subgraph(attributes)], environment)


def test_a_runner_in_use_cannot_be_adopted() -> None:
    import threading

    class Runner(Owned):
        def hold(self, inside: threading.Event, leave: threading.Event) -> None:
            self.adopt()
            with self._use():
                inside.set()
                leave.wait()

    runner, inside, leave = Runner(), threading.Event(), threading.Event()
    thread = threading.Thread(target=runner.hold, args=(inside, leave))
    thread.start()
    inside.wait()
    with pytest.raises(WrongThread, match="is using this runner"):
        runner.adopt()
    leave.set()
    thread.join()
    runner.adopt()
