"""What a session records about its board."""

from __future__ import annotations

import json

from kv260_runtime.profile.identity import overlay, query_dpu, temperatures
from telemetry.files import SystemFiles

QUERY = {
    "DPU IP Spec": {"DPU Core Count": 1, "IP version": "v4.1.0"},
    "VAI Version": {"libxir.so": "Xilinx xir Version: 2.5.0"},
    "kernels": [
        {"IP Type": "pp", "fingerprint": "0x0"},
        {
            "DPU Arch": "DPUCZDX8G_ISA1_B4096",
            "DPU Frequency (MHz)": 300,
            "IP Type": "DPU",
            "cu_name": "DPUCZDX8G:DPUCZDX8G_1",
            "fingerprint": "0x101000016010407",
        },
    ],
}


def test_the_dpu_is_found_among_other_kernels_behind_a_warning_line():
    printed = "WARNING: Logging before InitGoogleLogging()\n" + json.dumps(QUERY)

    told = query_dpu({}, lambda _: printed)

    assert told == {
        "architecture": "DPUCZDX8G_ISA1_B4096",
        "fingerprint": "0x101000016010407",
        "frequency_mhz": 300,
        "cu_name": "DPUCZDX8G:DPUCZDX8G_1",
        "cores": 1,
        "libraries": {"libxir.so": "Xilinx xir Version: 2.5.0"},
    }


def test_a_query_that_fails_or_prints_nonsense_is_absent():
    assert [query_dpu({}, lambda _, text=text: text) for text in (None, "", "Bus error", "{", '{"kernels": []}')] == [
        None
    ] * 5


def test_the_overlay_is_read_from_the_card_that_has_compute_units(tmp_path):
    display, zocl = (tmp_path / "sys/class/drm" / name / "device" for name in ("card0", "renderD129"))
    for folder in (display, zocl):
        folder.mkdir(parents=True)
    (zocl / "kds_custat_raw").write_text("0,0,DPUCZDX8G:DPUCZDX8G_1,0xa0010000,0x4,0\n")
    (zocl / "xclbinid").write_text("0 5f2cf1a4-0000-0000-0000-000000000000\n")
    (zocl / "kds_xrt_version").write_text("XRT GIT BRANCH: 2022.1\nXRT GIT HASH: 0\n")

    assert overlay(SystemFiles(), tmp_path) == {"xclbin_uuid": "5f2cf1a4-0000-0000-0000-000000000000", "xrt": "2022.1"}


def test_temperatures_that_are_no_numbers_are_left_out(tmp_path):
    for index, (kind, milli) in enumerate([("ps", "41250\n"), ("pl", "-256000\n"), ("bad", "garbage\n")]):
        zone = tmp_path / f"sys/class/thermal/thermal_zone{index}"
        zone.mkdir(parents=True)
        (zone / "type").write_text(f"{kind}\n")
        (zone / "temp").write_text(milli)

    assert temperatures(SystemFiles(), tmp_path) == {"ps": 41.25}
