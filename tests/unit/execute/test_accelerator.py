"""The executor behind the protocol of the vendor's runners."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kv260_runtime.accelerators import open_runner
from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import open_executor
from kv260_runtime.xmodel import write_xmodel
from tests.unit.execute.graphs import int8
from tests.unit.execute.test_plan import chain, compiled

IMAGE = int8(np.random.default_rng(14), (1, 4, 4, 2))


@pytest.mark.parametrize("subgraph", [None, 0])
def test_a_runner_loads_executes_and_fetches(tmp_path: Path, subgraph: int | None) -> None:
    write_xmodel(compiled("DPUCZDX8G_ISA1_B4096"), tmp_path / "small.xmodel")
    runner = open_runner("executor", tmp_path / "small.xmodel", subgraph)
    assert [(spec.name, spec.shape, spec.dtype, spec.fix_point) for spec in runner.inputs] == [
        ("x_fix", (1, 4, 4, 2), "int8", 5)
    ]
    assert [spec.name for spec in runner.outputs] == ["y_fix"]
    runner.load({"x_fix": IMAGE})
    runner.execute()
    expected = open_executor(chain().graph()).run({"x_fix": IMAGE})["y_fix"]
    np.testing.assert_array_equal(runner.fetch()["y_fix"], expected)
    runner.close()


def test_a_subgraph_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write_xmodel(chain().graph(), tmp_path / "small.xmodel")
    with pytest.raises(ModelRejected, match="has no subgraph 1; it has 0"):
        open_runner("executor", tmp_path / "small.xmodel", 1)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "small.xmodel").write_bytes(b"no model")
    with pytest.raises(ModelRejected, match="is not an XModel"):
        open_runner("executor", tmp_path / "small.xmodel")
