"""Every runner keeps the same contract: executor, emulated DPU, with `--hardware MODEL.xmodel` a real one as well."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import virtual_board
from kv260_runtime.accelerators import Array, Runner, open_runner
from kv260_runtime.accelerators.ownership import RunnerClosed, WrongThread
from kv260_runtime.accelerators.tensors import load_real, quantise, random_inputs
from kv260_runtime.errors import ModelRejected
from kv260_runtime.execute import open_executor
from kv260_runtime.xmodel import read_xmodel, write_xmodel
from virtual_board.launch import open_board
from virtual_board.models import demo_graph

DPU = 1
"""Index of the DPU subgraph in the model made here."""
VENDOR_MODULES = ("vart", "xir", "vitis_ai_library")

KINDS = ("executor graph", "executor dpu", "virtual graph", "virtual dpu", "hardware graph", "hardware dpu")


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


@pytest.fixture(scope="module")
def emulated() -> Iterator[None]:
    """This process as a client of an emulated board."""
    before, niceness = dict(os.environ), os.getpriority(os.PRIO_PROCESS, 0)
    vendor = str(Path(virtual_board.__file__).parent / "vendor")
    with open_board({}) as board:
        os.environ.update(board.environment)
        sys.path.insert(0, vendor)
        yield
        sys.path.remove(vendor)
        for name in VENDOR_MODULES:
            sys.modules.pop(name, None)
        os.environ.clear()
        os.environ.update(before)
    os.setpriority(os.PRIO_PROCESS, 0, niceness)


@pytest.fixture(scope="module", params=KINDS)
def opener(request: pytest.FixtureRequest, small_model: Path) -> tuple[Callable[[], Runner], Path, str]:
    """What opens a runner, its model and its boundary."""
    place, boundary = request.param.split()
    model = small_model
    if place == "virtual":
        request.getfixturevalue("emulated")
    if place == "hardware":
        given = request.config.getoption("--hardware")
        if given is None:
            pytest.skip("no --hardware MODEL.xmodel: only for a board")
        model = Path(given)
    graph = read_xmodel(model)
    index = graph.subgraphs.index(graph.on_device("DPU")[0]) if boundary == "dpu" else None
    name = "executor" if place == "executor" else boundary
    return lambda: open_runner(name, model, index), model, boundary


@pytest.fixture
def runner(opener: tuple[Callable[[], Runner], Path, str]) -> Iterator[Runner]:
    opened = opener[0]()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def expected(opener: tuple[Callable[[], Runner], Path, str]) -> Callable[[dict[str, Array]], dict[str, Array]]:
    """What int64 arithmetic computes."""
    graph = read_xmodel(opener[1])
    subgraph = graph.on_device("DPU")[0] if opener[2] == "dpu" else None
    return open_executor(graph, subgraph, "integer").run


def equal(given: dict[str, Array], wanted: dict[str, Array]) -> bool:
    return set(given) == set(wanted) and all(np.array_equal(given[name], wanted[name]) for name in wanted)


def test_specs_name_shape_type_and_fix_point(runner: Runner) -> None:
    for spec in runner.inputs:
        assert spec.name and spec.shape and spec.dtype == "int8" and isinstance(spec.fix_point, int)
    assert runner.outputs


def test_outputs_are_those_of_exact_arithmetic(
    runner: Runner, expected: Callable[[dict[str, Array]], dict[str, Array]]
) -> None:
    for inputs in random_inputs(runner.inputs, seed=5, count=2):
        runner.load(inputs)
        runner.execute()
        results = runner.fetch()
        assert equal(results, expected(inputs))
        assert [(spec.name, spec.shape, spec.dtype) for spec in runner.outputs] == [
            (name, values.shape, values.dtype.name) for name, values in results.items()
        ]


def test_load_and_fetch_copy(runner: Runner, expected: Callable[[dict[str, Array]], dict[str, Array]]) -> None:
    first, second = random_inputs(runner.inputs, seed=6, count=2)
    given = {name: values.copy() for name, values in first.items()}
    runner.load(given)
    for values in given.values():
        values[...] = 0
    runner.execute()
    results = runner.fetch()
    runner.load(second)
    runner.execute()
    assert equal(results, expected(first))
    for values in results.values():
        values[...] = 0
    assert equal(runner.fetch(), expected(second))


def test_arrays_of_any_stride_and_read_only_ones_are_taken(
    runner: Runner, expected: Callable[[dict[str, Array]], dict[str, Array]]
) -> None:
    [inputs] = random_inputs(runner.inputs, seed=7, count=1)
    odd = {name: np.asfortranarray(values) for name, values in inputs.items()}
    for values in odd.values():
        values.flags.writeable = False
    runner.load(odd)
    runner.execute()
    assert equal(runner.fetch(), expected(inputs))


def test_what_the_vendor_would_abort_on_or_misread_is_refused_by_name(runner: Runner) -> None:
    [inputs] = random_inputs(runner.inputs, seed=8, count=1)
    spec = runner.inputs[0]
    good = inputs[spec.name]
    for wrong, words in (
        ({**inputs, spec.name: good.astype(np.float64)}, "has type float64"),
        ({**inputs, spec.name: good.view(np.uint8)}, "has type uint8"),
        ({**inputs, spec.name: good[:, 1:]}, "has shape"),
        ({}, "is missing"),
        ({**inputs, "nobody": good}, "no input is called 'nobody'"),
    ):
        with pytest.raises(ModelRejected, match=words):
            runner.load(wrong)


def test_reals_are_rounded_half_up_and_saturated(
    runner: Runner, expected: Callable[[dict[str, Array]], dict[str, Array]]
) -> None:
    generator = np.random.default_rng(9)
    reals = {spec.name: generator.standard_normal(spec.shape).astype(np.float32) * 4 for spec in runner.inputs}
    load_real(runner, reals)
    runner.execute()
    stored = {spec.name: quantise(reals[spec.name], spec.fix_point or 0) for spec in runner.inputs}
    assert equal(runner.fetch(), expected(stored))


def test_another_thread_must_adopt_the_runner_first(runner: Runner) -> None:
    raised: list[type[BaseException]] = []

    def use(adopt: bool) -> None:
        if adopt:
            runner.adopt()
        try:
            runner.load(random_inputs(runner.inputs, seed=1, count=1)[0])
            runner.execute()
        except WrongThread as error:
            raised.append(type(error))

    for adopt in (False, True):
        thread = threading.Thread(target=use, args=(adopt,))
        thread.start()
        thread.join()
    assert raised == [WrongThread]
    with pytest.raises(WrongThread, match="open one for each thread"):
        runner.execute()


def test_a_closed_runner_says_so(opener: tuple[Callable[[], Runner], Path, str]) -> None:
    opened = opener[0]()
    opened.close()
    opened.close()
    with pytest.raises(RunnerClosed):
        opened.execute()
