"""Board profiles: what is shipped, what is refused and in which words, which machine is which board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from telemetry.boards import (
    BoardProfile,
    board_names,
    detect_board,
    from_json,
    json_schema,
    load_board,
    parse_board,
    to_json,
)
from telemetry.errors import ConfigError, TelemetryError
from telemetry.files import SystemFiles
from telemetry.readers import READERS, open_kind
from tests.unit.readers.trees import jetson, kv260, laptop, write

MINIMAL: dict[str, Any] = {"name": "b", "title": "B", "streams": [{"kind": "proc-stat", "period_ms": 1000}]}


def refused(content: object) -> str:
    """The message with which a board file of this content is refused."""
    with pytest.raises(ConfigError) as caught:
        parse_board(yaml.safe_dump(content), "b.yaml")
    message = str(caught.value)
    assert message.startswith("b.yaml: ")
    assert "\n" not in message
    return message.removeprefix("b.yaml: ")


def with_stream(**stream: object) -> dict[str, Any]:
    return MINIMAL | {"streams": [MINIMAL["streams"][0] | stream]}


def test_the_folder_is_the_list() -> None:
    assert board_names() == ["jetson-orin-nx", "kv260", "linux"]


@pytest.mark.parametrize("name", board_names())
def test_a_shipped_profile_is_named_as_its_file_and_survives_the_trip_to_another_process(name: str) -> None:
    board = load_board(name)
    assert board.name == name
    assert from_json(to_json(board)) == board
    assert "\n" not in to_json(board)


@pytest.mark.parametrize("name", board_names())
def test_a_shipped_profile_fits_the_published_schema(name: str, repository: Path) -> None:
    content = yaml.safe_load((repository / "configs" / "boards" / f"{name}.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(content, json_schema(), cls=jsonschema.Draft202012Validator)


def test_the_schema_refuses_what_the_loader_refuses() -> None:
    for wrong in (with_stream(kind="aqm"), with_stream(options={"x": 1}), with_stream(period_ms=0), MINIMAL | {"x": 1}):
        refused(wrong)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, json_schema())


def test_every_rail_with_a_name_says_what_it_covers_and_how_sure_it_is() -> None:
    for board in map(load_board, board_names()):
        for plan in board.streams:
            for rail in plan.options.get("rails", []):
                assert {"covers", "boundary", "gain_u", "offset_u_watts", "resolution_watts"} <= rail.keys()
                assert rail["watts_min"] < rail["watts_max"]


def test_the_kv260_samples_as_the_rules_of_measurement_say() -> None:
    plans = {plan.kind: plan for plan in load_board("kv260").streams}
    assert plans["xrt-cu"].period_ms == 1
    assert plans["xrt-cu"].jitter
    assert plans["xrt-cu"].group == "fast"
    assert [plans[kind].period_ms for kind in ("hwmon-power", "apm", "proc-stat")] == [10, 100, 1000]
    assert not any(plan.jitter for plan in plans.values() if plan.kind != "xrt-cu")


@pytest.mark.parametrize(("build", "name"), [(kv260, "kv260"), (jetson, "jetson-orin-nx")])
def test_a_board_is_known_by_its_device_tree_and_all_its_sensors_open(build: Any, name: str, tmp_path: Path) -> None:
    root = build(tmp_path)
    board = detect_board(SystemFiles(), root)
    assert board is not None
    assert board.name == name
    for plan in board.streams:
        for _, reader in open_kind(plan.kind, SystemFiles(), root, plan.options):
            assert len(reader.read()) == len(reader.columns)
            reader.close()


def test_the_sensors_of_a_laptop_open_by_the_generic_profile(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    streams, missing = [], []
    for plan in load_board("linux").streams:
        try:
            streams += [name for name, _ in open_kind(plan.kind, SystemFiles(), root, plan.options)]
        except TelemetryError:
            missing.append(plan.kind)
    assert streams == ["energy.package-0", "power.battery", "cpu", "temperature", "frequency", "observer"]
    assert missing == ["hwmon-power"]


def test_an_unknown_machine_is_no_board_and_never_the_generic_one(tmp_path: Path) -> None:
    assert detect_board(SystemFiles(), laptop(tmp_path)) is None
    assert load_board("linux").detect == ()


def test_a_related_board_is_not_taken_for_a_known_one(tmp_path: Path) -> None:
    tree = "proc/device-tree"
    root = kv260(tmp_path)
    write(root, {f"{tree}/model": "ZynqMP KR260 revB\0", f"{tree}/compatible": "xlnx,zynqmp-sk-kr260\0xlnx,zynqmp\0"})
    assert detect_board(SystemFiles(), root) is None


def test_a_rule_needs_all_its_parts(tmp_path: Path) -> None:
    root = jetson(tmp_path)
    write(root, {"sys/class/hwmon/hwmon3/name": "other\n"})
    assert detect_board(SystemFiles(), root) is None


def test_a_profile_may_be_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "b.yaml"
    path.write_text(yaml.safe_dump(MINIMAL))
    assert load_board(str(path)).name == "b"
    path.rename(tmp_path / "mine.yaml")
    with pytest.raises(ConfigError, match=r"mine.yaml: name: expected 'mine' as the file is called, not 'b'"):
        load_board(str(tmp_path / "mine.yaml"))
    with pytest.raises(ConfigError, match=r"absent.yaml: cannot be read as a board profile"):
        load_board(str(tmp_path / "absent.yaml"))


@pytest.mark.parametrize(
    ("name", "hint"), [("kv26", "did you mean 'kv260'?"), ("zcu102", "known: jetson-orin-nx, kv260, linux")]
)
def test_an_unknown_board_names_the_nearest_or_all(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_board(name)
    assert str(caught.value) == f"no board profile is called {name!r}; {hint}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (MINIMAL | {"titel": "B"}, "top level: unknown key 'titel'; did you mean 'title'?"),
        (with_stream(perod_ms=1), "streams[0]: unknown key 'perod_ms'; did you mean 'period_ms'?"),
        (MINIMAL | {"detect": [{"modle": ["x"]}]}, "detect[0]: unknown key 'modle'; did you mean 'model'?"),
        (with_stream(options={"zones": []}), "streams[0].options: unknown key 'zones'; known: none"),
        (
            with_stream(kind="thermal", options={"zone": ["*"]}),
            "streams[0].options: unknown key 'zone'; did you mean 'zones'?",
        ),
        (with_stream(kind="xrt_cu"), "streams[0].kind: unknown sensor kind 'xrt_cu'; did you mean 'xrt-cu'?"),
        (with_stream(period_ms=0), "streams[0].period_ms: expected a number >= 0.1, not 0"),
        (with_stream(period_ms="1 s"), "streams[0].period_ms: expected a number, not '1 s'"),
        (with_stream(group="quick"), "streams[0].group: unknown value 'quick'"),
        (MINIMAL | {"streams": []}, "streams: expected a list of length >= 1"),
        (MINIMAL | {"dpu_ports": ["slot0"]}, "dpu_ports[0]: expected a text that matches '^slot[1-5]$', not 'slot0'"),
        (MINIMAL | {"streams": MINIMAL["streams"] * 2}, "top level: sensor kind proc-stat stands twice in `streams`"),
        (MINIMAL | {"detect": [{"chips": ["ina"]}]}, "detect[0]: a detection rule needs `model` or `compatible`"),
        ({"name": "b", "title": "B"}, "top level: the key 'streams' is missing"),
        (MINIMAL | {"accelerator": "vrt"}, "accelerator: unknown 'vrt'; did you mean 'vart'?"),
        (MINIMAL | {"accelerator": "xyz"}, "accelerator: unknown 'xyz'; known: vart"),
        (["a"], "a board profile is a mapping with `name`, `title` and `streams`"),
        ("a", "a board profile is a mapping with `name`, `title` and `streams`"),
    ],
)
def test_a_wrong_file_is_refused_by_the_place_of_its_fault(content: object, message: str) -> None:
    assert refused(content) == message


def test_a_file_that_is_not_yaml_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^b.yaml: not YAML: [^\n]+$"):
        parse_board("name: [", "b.yaml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.sampled_from(["name", "title", "streams", "detect", "accelerator", "dpu_ports", "other"]), value=JSON)
def test_any_value_under_any_key_is_a_profile_or_one_line_of_refusal(key: str, value: object) -> None:
    try:
        board = parse_board(yaml.safe_dump(MINIMAL | {key: value}), "b.yaml")
    except ConfigError as error:
        assert str(error).startswith("b.yaml: ")
        assert "\n" not in str(error)
    else:
        assert isinstance(board, BoardProfile)


def test_the_page_on_profiles_names_every_kind_and_key(repository: Path) -> None:
    page = (repository / "docs" / "board-profiles.md").read_text(encoding="utf-8")
    definitions = json_schema()["$defs"]
    keys = {key for definition in definitions.values() for key in definition.get("properties", {})}
    assert [word for word in sorted(keys | READERS.keys()) if f"`{word}`" not in page] == []
