"""RAPL energy counters."""

from __future__ import annotations

from pathlib import Path

import pytest

from telemetry.errors import ReadGap, SensorNotFound
from telemetry.files import SystemFiles
from telemetry.readers import Reader, open_kind
from tests.unit.readers.trees import FaultyFiles, laptop, write

ZONE = "sys/class/powercap/intel-rapl:0"


def opened(root: Path, *zones: str) -> dict[str, Reader]:
    return dict(open_kind("rapl", SystemFiles(), root, {"zones": list(zones)} if zones else {}))


def test_zones_are_named_with_the_zone_around_them_and_not_counted_twice(tmp_path: Path) -> None:
    readers = opened(laptop(tmp_path))
    assert sorted(readers) == ["energy.package-0", "energy.package-0.core"]
    assert readers["energy.package-0.core"].read() == (1.0,)
    assert readers["energy.package-0.core"].attributes["covers"] == "CPU cores"
    assert readers["energy.package-0"].attributes["covers"] == "CPU package"


def test_energy_is_in_joules_and_wraps_where_the_kernel_says(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    reader = opened(root, "package-*")["energy.package-0"]
    [column] = reader.columns
    assert (column.unit, column.kind) == ("J", "counter")
    assert column.wrap == pytest.approx(262143.328850)
    [before] = reader.read()
    write(root, {f"{ZONE}/energy_uj": "671150\n"})
    [after] = reader.read()
    assert column.wrap is not None
    assert (after - before) % column.wrap == pytest.approx(1.0, abs=1e-6)


def test_zones_are_chosen_by_pattern(tmp_path: Path) -> None:
    assert sorted(opened(laptop(tmp_path), "*.core")) == ["energy.package-0.core"]


def test_a_zone_that_only_root_may_read_names_the_remedy(tmp_path: Path) -> None:
    class Unprivileged(SystemFiles):
        def read(self, path: Path) -> bytes:
            if path.name == "energy_uj":
                raise PermissionError(13, "Permission denied")
            return super().read(path)

    with pytest.raises(SensorNotFound, match="energy_uj: Permission denied; only root may read it, unless a udev rule"):
        open_kind("rapl", Unprivileged(), laptop(tmp_path), {})


def test_a_machine_without_rapl_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(SensorNotFound, match="no RAPL zone"):
        opened(tmp_path)


def test_a_range_that_makes_no_sense_is_not_found(tmp_path: Path) -> None:
    root = write(laptop(tmp_path), {f"{ZONE}/max_energy_range_uj": "lots\n"})
    with pytest.raises(SensorNotFound, match="garbage"):
        opened(root)


def test_a_zone_that_comes_and_goes_is_gaps_and_then_energy_again(tmp_path: Path) -> None:
    root = laptop(tmp_path)
    files = FaultyFiles()
    reader = dict(open_kind("rapl", files, root, {"zones": ["package-0"]}))["energy.package-0"]
    reader.read()
    files.script("energy_uj", [OSError(61, "ENODATA"), OSError(19, "ENODEV")])
    for reason in ("no data", "vanished"):
        with pytest.raises(ReadGap, match=reason):
            reader.read()
    assert reader.read() == (262143.0,)
