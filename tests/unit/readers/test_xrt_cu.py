"""The compute units' state: found by content, read without touching them, lost and found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.errors import ConfigError, ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from telemetry.readers.xrt_cu import ComputeUnit, parse_tail, parse_units
from tests.unit.readers.trees import CU_LINE, CUSTAT, ZOCL, FaultyFiles, kv260, write

TWO_UNITS = (
    "0,0,pp_pipeline_accel:pp_pipeline_accel_1,0xa0020000,0x4,77\n"
    "0,1,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x1,12\n"
    "0,2,DPUCZDX8G:DPUCZDX8G_2,0xa0030000,0x4,9\n"
)
INFO = "Kernel name:       DPUCZDX8G\nInstance(CU) name: {}\nCU address:        0xa0010000\n\0"


def opened(root: Path, files: SystemFiles | None = None, **options: str) -> Reader:
    [(name, reader)] = open_kind("xrt-cu", files or SystemFiles(), root, options)
    assert name == "cu"
    return reader


def names(reader: Reader) -> list[str]:
    return [column.name for column in reader.columns]


def show(root: Path, status: str, usage: int) -> None:
    write(root, {CUSTAT: CU_LINE.format(status=status, usage=usage)})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return kv260(tmp_path)


@given(
    st.lists(
        st.builds(
            ComputeUnit,
            kernel=st.from_regex("[A-Za-z0-9_]+", fullmatch=True),
            instance=st.from_regex("[A-Za-z0-9_]+", fullmatch=True),
            address=st.integers(0, 2**64 - 1).map(hex),
            status=st.integers(0, 2**32 - 1),
            usage=st.integers(0, 2**64 - 1),
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_lines_of_five_and_six_fields_are_read_back(units: list[ComputeUnit], slot: bool) -> None:
    lines = [
        f"{'0,' if slot else ''}{i},{u.kernel}:{u.instance},{u.address},0x{u.status:x},{u.usage}\n"
        for i, u in enumerate(units)
    ]
    assert parse_units("".join(lines).encode()) == units


@given(st.binary(max_size=80))
def test_any_bytes_are_units_or_garbage(data: bytes) -> None:
    try:
        units = parse_units(data)
    except ReadGap as caught:
        assert caught.reason == "garbage"
    else:
        assert units


@given(
    st.one_of(
        st.builds(
            lambda status, usage: f"0x{status:x},{usage}\n".encode(), st.integers(0, 2**32), st.integers(0, 2**64)
        ),
        st.text("0x4,1\n_ g-", max_size=12).map(str.encode),
    )
)
def test_the_short_way_of_parsing_agrees_with_the_long_one(tail: bytes) -> None:
    lead = b"0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,"
    try:
        units = parse_units(lead + tail)
    except ReadGap:
        units = []

    assert parse_tail(lead + tail, lead) == ((units[0].status, units[0].usage) if len(units) == 1 else None)
    assert parse_tail(b"1" + lead[1:] + tail, lead) is None


@given(st.integers(1, len(TWO_UNITS) - 1))
def test_a_text_cut_anywhere_but_at_a_line_end_is_garbage(length: int) -> None:
    cut = TWO_UNITS[:length].encode()
    if cut.endswith(b"\n"):
        assert len(parse_units(cut)) == cut.count(b"\n")
    else:
        with pytest.raises(ReadGap, match="garbage"):
            parse_units(cut)


def test_the_device_is_found_by_its_file_and_not_by_its_number(root: Path) -> None:
    reader = opened(root)
    assert reader.attributes["device"].endswith("sys/class/drm/renderD129/device")
    assert reader.attributes["address.DPUCZDX8G_1"] == "0xa0010000"


def test_a_device_without_such_a_unit_is_passed_over(root: Path) -> None:
    write(root, {"sys/class/drm/card1/device/kds_custat_raw": "0,0,vadd:vadd_1,0x1400000,0x4,0\n"})
    assert opened(root).attributes["device"].endswith("renderD129/device")


@pytest.mark.parametrize("bus", ["amba/amba:", "axi/axi:", "amba_pl@0/amba_pl@0:", ""])
def test_without_a_render_node_the_device_is_found_on_the_platform_bus(tmp_path: Path, bus: str) -> None:
    folder = f"sys/devices/platform/{bus}zyxclmm_drm"
    write(tmp_path, {f"{folder}/kds_custat_raw": CU_LINE.format(status="0x1", usage=5)})
    assert opened(tmp_path).read() == (1, 5)


def test_the_completed_count_of_xrt_2_13_is_a_column(root: Path) -> None:
    reader = opened(root)
    assert names(reader) == ["status.DPUCZDX8G_1", "usage.DPUCZDX8G_1", "completed.DPUCZDX8G_1"]
    assert [column.kind for column in reader.columns] == ["state", "counter", "counter"]
    assert reader.read() == (4, 1234, 1234)


def test_from_xrt_2_14_the_file_with_side_effects_is_never_opened(root: Path) -> None:
    write(root, {f"{ZOCL}/CU.2.auto/stats_begin": "", f"{ZOCL}/CU.2.auto/stat": "1 2 3 4 5 6 7 8\n"})
    files = FaultyFiles()
    reader = opened(root, files)
    assert names(reader) == ["status.DPUCZDX8G_1", "usage.DPUCZDX8G_1"]
    assert reader.read() == (4, 1234)
    assert "stat" not in files.touched


@pytest.mark.parametrize("stat", ["1 2 3\n", "1\n", "", "x y\n"])
def test_a_count_that_is_not_two_numbers_is_not_offered(root: Path, stat: str) -> None:
    write(root, {f"{ZOCL}/CU.2.auto/stat": stat})
    assert names(opened(root)) == ["status.DPUCZDX8G_1", "usage.DPUCZDX8G_1"]


def test_five_fields_of_older_releases_are_understood(root: Path) -> None:
    write(root, {CUSTAT: "0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x6,1235\n"})
    assert opened(root).read()[:2] == (6, 1235)


def test_other_kernels_are_left_out_and_several_units_are_read(root: Path) -> None:
    write(
        root,
        {
            CUSTAT: TWO_UNITS,
            f"{ZOCL}/CU.2.auto/cu_info": INFO.format("pp_pipeline_accel_1"),
            f"{ZOCL}/CU.3.auto/cu_info": INFO.format("DPUCZDX8G_1"),
            f"{ZOCL}/CU.3.auto/stat": "11 1\n",
            f"{ZOCL}/CU.4.auto/cu_info": INFO.format("DPUCZDX8G_2"),
            f"{ZOCL}/CU.4.auto/stat": "9 0\n",
        },
    )
    reader = opened(root)
    assert dict(zip(names(reader), reader.read(), strict=True)) == {
        "status.DPUCZDX8G_1": 1,
        "usage.DPUCZDX8G_1": 12,
        "completed.DPUCZDX8G_1": 11,
        "status.DPUCZDX8G_2": 4,
        "usage.DPUCZDX8G_2": 9,
        "completed.DPUCZDX8G_2": 9,
    }


def test_with_several_units_a_count_without_a_name_belongs_to_none(root: Path) -> None:
    write(root, {CUSTAT: TWO_UNITS})
    assert not any(name.startswith("completed") for name in names(opened(root)))


def test_the_kernel_is_an_option(root: Path) -> None:
    write(root, {CUSTAT: TWO_UNITS})
    assert opened(root, kernel="pp_").read() == (4, 77)


@pytest.mark.parametrize(
    ("status", "raw"), [("0x0", 0), ("0x1", 1), ("0x6", 6), ("0xe", 14), ("0xffffffff", 0xFFFFFFFF)]
)
def test_the_status_word_is_passed_on_raw(root: Path, status: str, raw: int) -> None:
    reader = opened(root)
    show(root, status, 1234)
    assert reader.read()[0] == raw


def test_an_unchanged_text_gives_the_previous_tuple(root: Path) -> None:
    write(root, {f"{ZOCL}/CU.2.auto/stat": None})
    reader = opened(root)
    first = reader.read()
    assert reader.read() is first
    show(root, "0x1", 1235)
    assert reader.read() == (1, 1235)


def test_a_completion_that_follows_the_state_by_a_moment_is_not_missed(root: Path) -> None:
    reader = opened(root)
    for _ in range(5):
        reader.read()
    show(root, "0x6", 1235)
    assert reader.read() == (6, 1235, 1234)
    write(root, {f"{ZOCL}/CU.2.auto/stat": "1235 0\n"})
    assert reader.read() == (6, 1235, 1235)
    for _ in range(3):
        settled = reader.read()
    assert reader.read() is settled


def test_a_half_written_text_is_read_once_more(root: Path) -> None:
    files = FaultyFiles()
    reader = opened(root, files)
    files.script("kds_custat_raw", [b"0,0,DPUCZDX8G:DPUCZDX8G_1,0xa00100"])
    assert reader.read() == (4, 1234, 1234)


def test_a_text_that_stays_garbage_is_a_gap(root: Path) -> None:
    files = FaultyFiles()
    reader = opened(root, files)
    files.script("kds_custat_raw", [b"0,0,DPUCZDX8G:DPUCZDX8G_1,0xa00100", b"\0\0\0\0\n"])
    with pytest.raises(ReadGap, match="garbage"):
        reader.read()
    assert reader.read() == (4, 1234, 1234)


def test_a_firmware_reload_is_a_gap_and_the_renumbered_unit_is_found_again(root: Path) -> None:
    reader = opened(root)
    assert reader.read() == (4, 1234, 1234)
    write(root, {CUSTAT: "", f"{ZOCL}/CU.2.auto/stat": None, f"{ZOCL}/CU.2.auto/cu_stat": None})
    (root / ZOCL / "CU.2.auto").rmdir()
    for _ in range(3):
        with pytest.raises(ReadGap, match="empty"):
            reader.read()
    write(root, {f"{ZOCL}/CU.5.auto/stat": "3 1\n", CUSTAT: CU_LINE.format(status="0x1", usage=4)})
    assert reader.read() == (1, 4, 3)


def test_after_a_reload_a_number_now_taken_by_another_unit_is_not_trusted(root: Path) -> None:
    def units(first: str, second: str) -> dict[str, str]:
        return {
            f"{ZOCL}/CU.2.auto/cu_info": INFO.format(first),
            f"{ZOCL}/CU.2.auto/stat": "2 0\n",
            f"{ZOCL}/CU.3.auto/cu_info": INFO.format(second),
            f"{ZOCL}/CU.3.auto/stat": "3 0\n",
        }

    write(root, {CUSTAT: TWO_UNITS, **units("DPUCZDX8G_1", "DPUCZDX8G_2")})
    reader = opened(root)
    assert reader.read() == (1, 4, 12, 9, 2, 3)
    write(root, {CUSTAT: ""})
    with pytest.raises(ReadGap):
        reader.read()
    write(root, {CUSTAT: TWO_UNITS, **units("DPUCZDX8G_2", "DPUCZDX8G_1")})
    assert reader.read() == (1, 4, 12, 9, 3, 2)


def test_a_unit_that_is_gone_is_a_gap_by_that_name(root: Path) -> None:
    reader = opened(root)
    write(root, {CUSTAT: "0,0,vadd:vadd_1,0x1400000,0x4,0\n"})
    with pytest.raises(ReadGap, match="no compute unit"):
        reader.read()
    show(root, "0x4", 0)
    assert reader.read()[:2] == (4, 0)


def test_a_render_node_that_changed_its_number_is_found_again(root: Path) -> None:
    files = FaultyFiles()
    reader = opened(root, files)
    reader.read()
    (root / "sys/class/drm/renderD129").rename(root / "sys/class/drm/renderD130")
    files.script("kds_custat_raw", [OSError(19, "ENODEV")])
    with pytest.raises(ReadGap, match="vanished"):
        reader.read()
    assert reader.read()[:2] == (4, 1234)


def test_a_board_without_an_overlay_is_told_to_load_one(root: Path) -> None:
    write(root, {CUSTAT: ""})
    with pytest.raises(SensorNotFound, match=r"no compute unit of DPU\*; load an overlay \(xmutil loadapp\)"):
        opened(root)


def test_a_board_without_xrt_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(SensorNotFound, match="zocl driver is not loaded"):
        opened(tmp_path)


def test_an_unknown_option_names_the_nearest(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"xrt-cu: top level: unknown key 'kernl'; did you mean 'kernel'\?"):
        opened(root, kernl="DPU")


def test_nothing_but_text_files_of_sysfs_is_ever_opened(root: Path) -> None:
    files = FaultyFiles()
    reader = opened(root, files)
    reader.read()
    assert files.touched == {"kds_custat_raw", "stat", "cu_info", "xclbinid"}
