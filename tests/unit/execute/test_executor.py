"""Running: inputs that fit and inputs that do not, batches, threads, and the life of arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kv260_runtime.errors import KvbenchError, RunFailed
from kv260_runtime.execute import InputError, backends, open_executor, register_operator
from kv260_runtime.execute.backends import BackendUnavailable
from kv260_runtime.execute.operators import custom
from kv260_runtime.execute.plan import make_plan
from kv260_runtime.execute.units import KernelUnit, Program
from tests.unit.execute.graphs import Array, Builder, int8
from tests.unit.execute.running import BACKENDS, needs_onnxruntime
from tests.unit.execute.test_plan import chain

IMAGE = int8(np.random.default_rng(11), (1, 4, 4, 2))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "input 'x_fix' is missing; given: none"),
        ({"x": IMAGE, "x_fix": IMAGE}, "has no input 'x'; its inputs: 'x_fix'"),
        ({"x_fix": IMAGE.astype(np.float32)}, "input 'x_fix' is float32, int8 expected"),
        ({"x_fix": IMAGE[:, :3]}, r"has the shape \[1, 3, 4, 2\], \[1, 4, 4, 2\] expected"),
        ({"x_fix": IMAGE[0]}, r"has the shape \[4, 4, 2\]"),
        ({"x_fix": IMAGE[:0]}, r"has the shape \[0, 4, 4, 2\]"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_one_line(inputs: dict[str, Array], message: str) -> None:
    executor = open_executor(chain().graph(), backend="integer")
    with pytest.raises(InputError, match=rf"^small.xmodel: .*{message}"):
        executor.run(inputs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_batch_gives_what_its_items_give(backend: str) -> None:
    executor = open_executor(chain().graph(), backend=backend)
    batch = int8(np.random.default_rng(12), (5, 4, 4, 2))
    singly = [executor.run({"x_fix": item[None]})["y_fix"] for item in batch]
    np.testing.assert_array_equal(executor.run({"x_fix": batch})["y_fix"], np.concatenate(singly))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_array_of_any_layout_is_read_as_what_it_holds(backend: str) -> None:
    executor = open_executor(chain().graph(), backend=backend)
    expected = executor.run({"x_fix": IMAGE})["y_fix"]
    strided = np.zeros((1, 4, 8, 2), np.int8)
    strided[:, :, ::2] = IMAGE
    strided.flags.writeable = False
    np.testing.assert_array_equal(executor.run({"x_fix": strided[:, :, ::2]})["y_fix"], expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_may_share_an_executor(backend: str) -> None:
    executor = open_executor(chain().graph(), backend=backend, threads=2)
    images = [int8(np.random.default_rng(seed), (1, 4, 4, 2)) for seed in range(40)]
    alone = [executor.run({"x_fix": image})["y_fix"] for image in images]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda image: executor.run({"x_fix": image})["y_fix"], images))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_result_is_not_overwritten_by_the_next_run(backend: str) -> None:
    executor = open_executor(chain().graph(), backend=backend, keep=["p_fix"])
    first = executor.run({"x_fix": IMAGE})
    before = {name: values.copy() for name, values in first.items()}
    executor.run({"x_fix": ~IMAGE})
    for name, values in first.items():
        np.testing.assert_array_equal(values, before[name])


def test_inputs_are_left_as_they_were() -> None:
    image = IMAGE.copy()
    for backend in BACKENDS:
        open_executor(chain().graph(), backend=backend).run({"x_fix": image})
    np.testing.assert_array_equal(image, IMAGE)


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_the_callers_own(backend: str) -> None:
    """Neither the input that a copy hands on nor a constant of the plan may be written to through a result."""
    graph = Builder()
    graph.input((1, 2, 2, 1), 3)
    graph.add("same", "download", (1, 2, 2, 1), {"input": ["x"]}, 3)
    graph.constant(np.array([1.0, 2.0]), None)
    graph.add("known", "fix", (2,), {"input": ["w"]}, fix_point=1, bit_width=8)
    executor = open_executor(graph.graph(), backend=backend)
    image = np.array([1, 2, 3, 4], np.int8).reshape(1, 2, 2, 1)
    results = executor.run({"x_fix": image})
    results["same_fix"] += 1
    results["known_fix"] += 1
    assert image.ravel().tolist() == [1, 2, 3, 4]
    assert executor.run({"x_fix": image})["known_fix"].tolist() == [1, 2]


def test_an_array_is_dropped_after_its_last_reader() -> None:
    plan = make_plan(chain().graph())
    program = Program(plan, [KernelUnit(step) for step in plan.steps])
    assert program.dying == (("x",), ("c",), ("p",))


def test_a_closed_executor_says_so() -> None:
    executor = open_executor(chain().graph(), backend="integer")
    executor.close()
    executor.close()
    with pytest.raises(RunFailed, match="the executor is closed"):
        executor.run({"x_fix": IMAGE})


def test_an_unknown_backend_is_refused_with_those_known() -> None:
    with pytest.raises(KvbenchError, match="no backend is called 'tpu'; known: auto, onnxruntime, numpy, integer"):
        open_executor(chain().graph(), backend="tpu")


def test_without_onnxruntime_auto_falls_back_to_numpy_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = backends.Backend("kv260_runtime.execute.backends.not_there:compile_plan", np.float64)
    monkeypatch.setitem(backends.BACKENDS, "onnxruntime", absent)
    executor = open_executor(chain().graph())
    assert executor.backend == "numpy"
    assert "not installed (pip install 'kvbench[execution]'): computing with numpy" in executor.notes[0]
    with pytest.raises(BackendUnavailable, match="not installed"):
        open_executor(chain().graph(), backend="onnxruntime")


@needs_onnxruntime
def test_this_onnxruntime_adds_plainly() -> None:
    from kv260_runtime.execute.backends.probe import sums_are_plain

    assert sums_are_plain(1)
    assert sums_are_plain(2)


def with_custom() -> dict[str, Array]:
    graph = chain()
    graph.constant(np.array([2.0, 4.0, 8.0]), None, "factors")
    graph.add("z", "Scale", (1, 2, 2, 3), {"input": ["y"], "factors": ["factors"]}, None, offset=1)
    return open_executor(graph.graph(), backend="integer", keep=["y_fix"]).run({"x_fix": IMAGE})


def test_a_registered_function_computes_a_custom_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "_FUNCTIONS", {})
    register_operator("Scale", lambda arrays, attrs, _: arrays[0] * arrays[1] + np.float32(attrs["offset"]))
    results = with_custom()
    np.testing.assert_array_equal(results["z_fix"], results["y_fix"] * np.float32([2, 4, 8]) + 1)


def test_a_registered_function_whose_result_does_not_fit_is_a_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "_FUNCTIONS", {})
    register_operator("Scale", lambda arrays, *_: arrays[0].astype(np.float64))
    with pytest.raises(RunFailed, match=r"operator 'z': .* gave float64 \[1, 2, 2, 3\], float32"):
        with_custom()
