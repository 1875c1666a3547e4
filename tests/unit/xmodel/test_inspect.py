"""`kvbench inspect`: agreement with the vendor's own reading, the schema, and what is said of files that are odd."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from kv260_runtime.xmodel import Graph, write_xmodel
from tests.unit.xmodel.graphs import OLD_FORMAT
from virtual_board.models import demo_graph

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = main(["inspect", *map(str, arguments)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "fragmented.xmodel"
    write_xmodel(demo_graph(split_offline=False, size=64), path)
    return path


def _tensors(listed: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["name"], tuple(one["shape"]), one["dtype"], one["fix_point"]) for one in listed]


@pytest.mark.shared
def test_json_agrees_with_the_vendors_reading_of_every_file(shared_dir: Path, run: Run) -> None:
    readings = [json.loads(path.read_text()) for path in sorted((shared_dir / "xmodels" / "xir").glob("*.json"))]
    assert len(readings) >= 23
    code, text, _ = run("--json", "--ops", *(shared_dir / "xmodels" / theirs["file"] for theirs in readings))
    assert code == ExitCode.OK
    for ours, theirs in zip(json.loads(text)["models"], readings, strict=True):
        _compare(ours, theirs)


def _compare(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert ours["graph"] == theirs["graph"]
    assert ours["attributes"] == theirs["graph_attrs"]
    assert ours["root_attributes"] == theirs["root_attrs"]
    assert ours["operator_counts"] == theirs["op_types"]
    assert ours["table5"]["subgraphs_by_device"] == theirs["by_device"]
    for device in ("USER", "DPU", "CPU"):
        assert ours["operator_counts_by_device"].get(device, {}) == theirs[f"op_types_{device}"]
    assert sorted(_tensors(ours["inputs"])) == sorted(_tensors([head["tensor"] for head in theirs["heads"]]))
    assert sorted(_tensors(ours["outputs"])) == sorted(_tensors([tail["tensor"] for tail in theirs["tails"]]))
    _compare_subgraphs(ours["subgraphs"], theirs["subgraphs"])
    _compare_operators(ours, theirs["ops"])


def _compare_subgraphs(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> None:
    assert [(part["name"], part["device"]) for part in ours] == [(part["name"], part["device"]) for part in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert len(mine["operators"]) == other["op_num"]
        assert mine["operator_counts"] == other["op_types"]
        assert len(mine["superlayers"]) == other["children_num"]
        assert _tensors(mine["inputs"]) == _tensors(other["inputs"])
        assert _tensors(mine["outputs"]) == _tensors(other["outputs"])
        # The vendor's module gives None for maps of bytes: the weights are invisible to it.
        readable = {key: value for key, value in other["attrs"].items() if value is not None}
        assert {key: _shortened(mine["attributes"][key], value) for key, value in readable.items()} == readable
        assert mine["attributes"].keys() == other["attrs"].keys()


def _shortened(ours: Any, theirs: Any) -> Any:
    """Long lists stand in their file as a count and the first items."""
    if isinstance(ours, list) and isinstance(theirs, dict):
        return {**theirs, "list": len(ours), "head": ours[: len(theirs["head"])]}
    return ours


def _compare_operators(model: dict[str, Any], theirs: list[dict[str, Any]]) -> None:
    ours = {op["name"]: op for part in model["subgraphs"] for op in part["operators"]}
    ours |= {op["name"]: op for op in model["operators"]}
    assert ours.keys() == {op["name"] for op in theirs}
    for other in theirs:
        mine = ours[other["name"]]
        assert mine["type"] == other["type"]
        assert mine["inputs"] == other["inputs"]
        shown = {key: _shortened(value, other["attrs"].get(key)) for key, value in mine["attributes"].items()}
        assert shown == other["attrs"]
        assert _tensors([mine["tensor"]]) == _tensors([other["output"]])
        assert mine["tensor"]["attributes"] == other["output"]["attrs"]


@pytest.mark.shared
def test_json_follows_its_schema_for_every_real_file(shared_dir: Path, repository: Path, run: Run) -> None:
    schema = json.loads((repository / "docs/schemas/inspect.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    files = [path for path in sorted((shared_dir / "xmodels").glob("*.xmodel")) if path.name != OLD_FORMAT]
    _, text, _ = run("--json", *files)
    validator.validate(json.loads(text))
    _, text, _ = run("--json", "--ops", "--subgraph", 1, files[0])
    validator.validate(json.loads(text))


def test_json_of_a_generated_file_follows_its_schema(repository: Path, run: Run, demo: Path) -> None:
    schema = json.loads((repository / "docs/schemas/inspect.schema.json").read_text())
    code, text, _ = run("--json", "--ops", demo)
    assert code == ExitCode.OK
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def test_one_subgraph_is_shown_alone_and_one_out_of_range_is_refused(run: Run, demo: Path) -> None:
    code, text, _ = run("--json", "--subgraph", 2, demo)
    (model,) = json.loads(text)["models"]
    assert code == ExitCode.OK
    assert [(part["index"], part["device"]) for part in model["subgraphs"]] == [(2, "CPU")]
    assert Counter(op["type"] for op in model["subgraphs"][0]["operators"]) == {
        "fix2float": 1,
        "strided_slice": 1,
        "float2fix": 1,
    }
    code, text, error = run("--subgraph", 29, demo)
    assert (code, text) == (ExitCode.USAGE, "")
    assert error == f"kvbench: {demo}: has no subgraph 29; there are 0 to 28\n"


def test_text_counts_subgraphs_and_operations_apart_for_several_files(run: Run, demo: Path, tmp_path: Path) -> None:
    other = tmp_path / "consolidated.xmodel"
    write_xmodel(demo_graph(split_offline=True, size=64), other)
    code, text, _ = run(demo, other)
    assert code == ExitCode.OK
    table = [line.split() for line in text.partition("Partition")[2].splitlines()]
    rows = {" ".join(cells[:-2]): cells[-2:] for cells in table if len(cells) > 2}
    assert rows["total top-level subgraphs"] == ["29", "5"]
    assert rows["DPU subgraphs"] == ["9", "1"]
    assert rows["CPU strided_slice operations"] == ["16", "0"]
    assert rows["total CPU-assigned operations"] == ["51", "3"]


@pytest.mark.parametrize("option", [[], ["--ops"], ["--subgraph", "4"], ["--subgraph", "4", "--ops"]])
def test_text_has_no_trailing_blanks_and_no_internal_error(run: Run, demo: Path, option: list[str]) -> None:
    code, text, error = run(demo, *option)
    assert (code, error) == (ExitCode.OK, "")
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_a_missing_and_a_broken_file_are_one_line_each(run: Run, demo: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.xmodel"
    broken.write_bytes(demo.read_bytes()[:1000])
    for path, expected in ((tmp_path / "absent.xmodel", ExitCode.NO_INPUT), (broken, ExitCode.BAD_DATA)):
        code, text, error = run(demo, path)
        assert (code, text) == (expected, "")
        assert error.startswith(f"kvbench: {path}: ")
        assert error.count("\n") == 1


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cnn28_u50_unsupported_target", "compiled for DPUCAHX8H_ISA2 (Alveo"),
        ("cnn28_vck190_unsupported_target", "compiled for DPUCVDX8G_ISA3_C32B6 (Versal"),
        ("retinaface_aie2_unsupported_target", "compiled for AMD_AIE2_Nx4_Overlay (Ryzen AI)"),
        ("gru_rnn_overlay", "RNN overlay"),
        ("lenet_quantized", "not compiled for any DPU"),
    ],
)
def test_a_file_that_a_dpu_cannot_run_says_what_it_is(shared_dir: Path, run: Run, name: str, words: str) -> None:
    _, text, _ = run("--json", shared_dir / "xmodels" / f"{name}.xmodel")
    (model,) = json.loads(text)["models"]
    assert words in model["rejection"]
    assert model["warnings"][0] == {"code": "not-runnable", "text": model["rejection"]}


@pytest.mark.shared
def test_warnings_name_what_stands_in_the_way(shared_dir: Path, run: Run) -> None:
    expected = {
        "yolov5n_640_b4096": {"fingerprint"},
        "pointpillars_custom_op_b4096": {"fingerprint", "custom-operators", "fragmented", "cpu-between-dpu"},
        "tf2_custom_op_vai20_isa0": {
            "traffic-estimated", "fingerprint", "custom-operators", "fragmented", "cpu-between-dpu",
        },
        "mnist_mlp_b512": {"size", "fingerprint"},
    }  # fmt: skip
    _, text, _ = run("--json", *(shared_dir / "xmodels" / f"{name}.xmodel" for name in expected))
    document = json.loads(text)
    found = {Path(model["file"]).stem: {one["code"] for one in model["warnings"]} for model in document["models"]}
    assert found == expected
    assert [one["code"] for one in document["warnings"]] == ["fingerprints-differ"]


def test_the_bound_falls_with_the_clock_and_never_below_the_memorys(run: Run, demo: Path) -> None:
    bounds = []
    for clock in (150, 300, 10_000):
        _, text, _ = run("--json", "--clock", clock, demo)
        bounds.append(json.loads(text)["models"][0]["lower_bound"])
    assert bounds[0]["compute_seconds"] == pytest.approx(2 * bounds[1]["compute_seconds"])
    assert bounds[0]["memory_seconds"] == bounds[1]["memory_seconds"] == bounds[2]["memory_seconds"]
    assert all(bound["seconds"] >= max(bound["compute_seconds"], bound["memory_seconds"]) for bound in bounds)


def test_the_bound_is_two_operations_a_weight_and_pixel_at_the_arrays_rate(run: Run, tmp_path: Path) -> None:
    graph = demo_graph(split_offline=True, size=64)
    write_xmodel(graph, tmp_path / "m.xmodel")
    _, text, _ = run("--json", tmp_path / "m.xmodel")
    least = 2 * _multiply_accumulates(graph) / (4096 * 300e6)
    compute = json.loads(text)["models"][0]["lower_bound"]["compute_seconds"]
    assert least <= compute <= 1.2 * least  # above it only where channels are filled up to 16


def _multiply_accumulates(graph: Graph) -> int:
    total = 0
    for op in graph.ops:
        if op.type == "conv2d-fix":
            weights = graph.op(op.args["weights"][0]).tensor
            total += op.tensor.element_count * weights.element_count // weights.shape[0]
    return total
