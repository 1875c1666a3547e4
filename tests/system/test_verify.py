"""`kvbench verify` as a user runs it: agreement, a faulty device, another model, another DPU."""

from __future__ import annotations

import json
import os
import subprocess

import jsonschema
import pytest

from kv260_runtime.errors import ExitCode
from kv260_runtime.verify.verifying import make_jobs, run_on_board
from kv260_runtime.xmodel import read_xmodel, write_xmodel
from tests.system.harness import command
from virtual_board.launch import open_board
from virtual_board.models import demo_graph


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), path)
    return path


def verify(*words):
    return subprocess.run(
        command("verify", *words, "--board", "virtual"), capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_the_emulated_board_agrees_with_the_executor(small_model, repository):
    done = verify(small_model, "--json", "--seed", "4")
    told = json.loads(done.stdout)

    assert done.returncode == ExitCode.OK, done.stderr
    jsonschema.validate(told, json.loads((repository / "docs/schemas/verify.schema.json").read_text()))
    assert told["emulated"] is True
    assert [boundary["runner"] for boundary in told["boundaries"]] == ["dpu", "graph"]
    tensors = [tensor for boundary in told["boundaries"] for tensor in boundary["tensors"]]
    assert all(tensor["elements"] > 0 and tensor["differing"] == 0 for tensor in tensors)
    assert told["first_difference"] is None


def test_a_faulty_device_is_found_and_the_first_wrong_tensor_named(small_model):
    done = verify(small_model, "--json", "--board-option", "fault=bit-flip")
    told = json.loads(done.stdout)

    assert done.returncode == ExitCode.REGRESSION
    first = told["boundaries"][0]["tensors"][0]
    assert told["first_difference"] == {"runner": "dpu", "subgraph": 1, "tensor": first["name"]}
    assert (first["differing"], first["largest_difference"]) == (1, 64.0)


def test_other_weights_on_one_side_are_found(small_model):
    graph = read_xmodel(small_model)
    child = graph.on_device("DPU")[0]
    block = bytearray(child.attrs["reg_id_to_parameter_value"]["REG_0"])
    last = [op for op in graph.ops if op.type == "conv2d-fix"][-1]
    weights = graph.op(last.args["weights"][0]).tensor
    begin = weights.attrs["ddr_addr"]
    # One byte of a small layer may vanish in its rounding.
    for place in range(begin, begin + weights.element_count):
        block[place] ^= 0x40
    child.attrs["reg_id_to_parameter_value"] = {"REG_0": bytes(block)}
    jobs, _ = make_jobs(graph, None, seed=0)

    with open_board({}) as board:
        boundaries = run_on_board(small_model, jobs, {**os.environ, **board.environment})

    assert boundaries[0].first_difference is not None
    assert boundaries[0].first_difference.differing > 0


def test_a_model_for_another_dpu_is_told_in_one_line(small_model):
    done = verify(small_model, "--board-option", "dpu=2.5")

    assert done.returncode == ExitCode.NOT_MEASURED
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "is compiled for the DPU 0x101000056010407, 0x101000016010407 is loaded" in done.stderr


def test_a_board_that_hangs_is_told_in_the_vendors_words(small_model):
    done = verify(small_model, "--board-option", "fault=wedged-cu@1+0")

    assert done.returncode == ExitCode.NOT_MEASURED
    assert "was killed by SIGABRT: dpu timeout!" in done.stderr
