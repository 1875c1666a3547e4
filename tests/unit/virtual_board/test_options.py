"""Options are checked in one line that names the value and the remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from virtual_board.errors import VirtualBoardError
from virtual_board.faults import FAULTS, Fault, parse_faults
from virtual_board.options import parse_options


def test_nothing_asked_gives_the_nominal_board() -> None:
    options = parse_options({})
    assert (options.seed, options.draw, options.apm, options.power, options.charged) == (1, 0.0, True, True, True)
    assert options.fingerprint == 0x101000056010407


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"sed": "1"}, "no option 'sed'; did you mean seed?"),
        ({"zzz": "1"}, "no option 'zzz'; known: seed, draw, fault"),
        ({"seed": "x"}, "seed=x: expected a number"),
        ({"draw": "1.5"}, "draw=1.5: give a share from 0 to below 1"),
        ({"apm": "no"}, "apm=no: expected present or absent"),
        ({"observer": "x"}, "expected charged or ignored"),
        ({"dpu": "1.4"}, "dpu=1.4: expected 2.5 or 3.0"),
        ({"timing": "/nowhere.json"}, "timing=/nowhere.json: No such file"),
        ({"log": "/nowhere/log"}, "log=/nowhere/log: cannot be written"),
        ({"fault": "dpu-timeuot"}, "did you mean dpu-timeout?"),
        ({"fault": "xyz"}, "python -m virtual_board faults lists them"),
        ({"fault": "dpu-timeout@x"}, "expected NAME@N or NAME@N+SECONDS"),
        ({"fault": "dpu-timeout@0"}, "processes count from 1"),
        ({"fault": "dpu-timeout@1+-2"}, "processes count from 1, seconds from 0"),
        ({"fault": "counter-wrap@2"}, "acts from the beginning"),
    ],
)
def test_a_wrong_option_is_one_clear_line(asked: dict[str, str], complaint: str) -> None:
    with pytest.raises(VirtualBoardError) as caught:
        parse_options(asked)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ('{"a": {"segments": []}}', "a: expected overhead_ns and a list of segments"),
        ('{"a": {"segments": [{"kind": "gpu", "duration_ns": 1}]}}', "segment kind 'gpu' is none of host, cpu, dpu"),
        ('{"a": {"segments": [{"kind": "dpu", "duration_ns": 1.5}]}}', "duration_ns 1.5 is no whole number"),
        ('{"a": {"segments": [{"kind": "dpu", "duration_ns": 1, "bytes": 2}]}}', "a segment has no 'bytes'"),
        (
            '{"a": {"segments": [{"kind": "dpu", "duration_ns": 1, "moved_bytes": {"slot3": 1}}]}}',
            "'slot3' is no column such as read.slot3",
        ),
        (
            '{"a": {"segments": [{"kind": "dpu", "duration_ns": 1, "moved_bytes": {"read.slot3": -1}}]}}',
            "read.slot3 -1 is no whole number of bytes",
        ),
        ('{"a": {"segments": [{"kind": "dpu", "duration_ns": 1, "moved_bytes": 1}]}}', "moved_bytes is no object"),
        ('{"a": {"segments": [{"kind": "dpu", "duration_ns": 1, "watts": "x"}]}}', "watts 'x' is no power above idle"),
        ('{"a": {"overhead_ns": "x", "segments": [{"kind": "dpu", "duration_ns": 1}]}}', "overhead_ns is no whole"),
    ],
)
def test_a_wrong_timing_file_is_one_clear_line(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "timing.json"
    file.write_text(content)
    with pytest.raises(VirtualBoardError) as caught:
        parse_options({"timing": str(file)})
    assert str(file) in str(caught.value)
    assert complaint in str(caught.value)


def test_a_timing_file_is_taken_as_it_is(tmp_path: Path) -> None:
    entry = {"overhead_ns": 5, "segments": [{"kind": "dpu", "duration_ns": 1, "moved_bytes": {"read.slot3": 2}}]}
    file = tmp_path / "timing.json"
    file.write_text(json.dumps({"m.xmodel": entry}))
    assert parse_options({"timing": str(file)}).timing == {"m.xmodel": entry}


def test_faults_name_their_process_and_time() -> None:
    assert parse_faults("ebusy-storm; dpu-timeout@3 ;stuck-value@2+0.5") == (
        Fault("ebusy-storm", 1, 1.0),
        Fault("dpu-timeout", 3, 1.0),
        Fault("stuck-value", 2, 0.5),
    )


def test_every_fault_of_the_list_is_known_by_name() -> None:
    assert set(FAULTS) == {
        "sensor-vanishes", "ebusy-storm", "stuck-value", "counter-wrap", "lost-interrupt", "firmware-reload",
        "hwmon-renumbered", "dpu-timeout", "wedged-cu", "missing-100-marker", "test-failed", "bit-flip",
        "wall-clock-step",
    }  # fmt: skip
