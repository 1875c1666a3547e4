"""DDR traffic: exact where the instructions can be read, marked as an estimate where not."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from kv260_runtime.xmodel import read_xmodel, static_traffic
from kv260_runtime.xmodel.estimate import estimate_traffic
from kv260_runtime.xmodel.instructions import transferred_bytes


@pytest.mark.shared
def test_decoded_traffic_equals_the_table_of_real_files(shared_dir: Path) -> None:
    with (shared_dir / "xmodels" / "static_traffic.tsv").open(newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    assert len(rows) == 16
    for row in rows:
        graph = read_xmodel(shared_dir / "xmodels" / row["file"])
        subgraph = graph.on_device("DPU")[int(row["dpu_subgraph"])]
        traffic = static_traffic(graph, subgraph)
        columns = [name for name in row if name.endswith("_bytes")]
        decoded = {name: getattr(traffic, name) for name in columns}
        assert decoded == {name: int(row[name]) for name in columns}, row["file"]
        assert not traffic.estimated
        assert subgraph.workload == int(row["workload_ops"])
        assert traffic.instruction_bytes == len(subgraph.attrs["mc_code"])
        assert traffic.total_bytes == sum(int(row[name]) for name in columns) + traffic.instruction_bytes


@pytest.mark.shared
@pytest.mark.parametrize("name", ["tf2_custom_op_vai20_isa0", "trafficsign_cnn_isa0"])
def test_another_instruction_set_is_estimated_and_says_so(shared_dir: Path, name: str) -> None:
    graph = read_xmodel(shared_dir / "xmodels" / f"{name}.xmodel")
    traffic = static_traffic(graph, graph.on_device("DPU")[0])
    assert traffic.estimated
    assert traffic.load_interface_bytes > 0
    assert traffic.save_interface_bytes > 0


@pytest.mark.shared
def test_the_estimate_is_within_8_percent_of_every_decoded_total(shared_dir: Path) -> None:
    with (shared_dir / "xmodels" / "static_traffic.tsv").open(newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    for row in rows:
        graph = read_xmodel(shared_dir / "xmodels" / row["file"])
        estimate = estimate_traffic(graph, graph.on_device("DPU")[int(row["dpu_subgraph"])])
        decoded = sum(int(value) for name, value in row.items() if name.endswith("_bytes"))
        assert sum(vars(estimate).values()) == pytest.approx(decoded, rel=0.08), row["file"]
        assert estimate.load_const_bytes == int(row["load_const_bytes"])


def test_one_load_and_one_save_count_length_times_channels_of_their_register() -> None:
    load = [0x0 << 28, 0, (7 - 1) | (64 - 1) << 10, 2, 0]
    save = [0x4 << 28, 0, (3 - 1) | (16 - 1) << 10, 5, 0]
    end = [0x7 << 28]
    total = transferred_bytes(b"".join(word.to_bytes(4, "little") for word in load + save + end))
    assert total[2] == 7 * 64
    assert total[8 + 5] == 3 * 16
    assert sum(total) == 7 * 64 + 3 * 16


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (b"\x00\x00\x00", "no whole number of 32-bit words"),
        (b"\x00\x00\x00\xf0", "word 0 has the unknown opcode 0xf"),
        (b"\x00\x00\x00\x70\x00\x00\x00\x00", "inside the instruction at word 1"),
    ],
)
def test_a_broken_program_is_refused_with_its_word(code: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        transferred_bytes(code)
