"""What is installed, and pages that repeat what the code says."""

from __future__ import annotations

import configparser
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kv260_runtime.errors import ExitCode

FOLDERS = {
    "telemetry": "telemetry",
    "kv260_runtime": "kv260_runtime",
    "configs": "configs",
    "virtual_board": "tools/virtual_board",
}
"""Installed top-level package to its folder."""


@pytest.fixture(scope="module")
def setup_cfg(repository: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(repository / "setup.cfg", encoding="utf-8")
    return parser


def lines(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip() and not line.strip().startswith("#")]


def files_of(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


def test_every_package_is_listed_in_setup_cfg(repository: Path, setup_cfg: configparser.ConfigParser) -> None:
    """A folder that setup.cfg forgets is silently left out of the wheel."""
    found = {
        ".".join([package, *path.parent.relative_to(repository / folder).parts])
        for package, folder in FOLDERS.items()
        for path in files_of(repository / folder)
        if path.suffix == ".py"
    }
    assert found == set(lines(setup_cfg["options"]["packages"]))


def test_every_file_that_is_not_python_is_package_data(repository: Path, setup_cfg: configparser.ConfigParser) -> None:
    section = setup_cfg["options.package_data"]
    data = {package: lines(patterns.replace(",", "\n")) for package, patterns in section.items()}
    left_out = []
    for package in lines(setup_cfg["options"]["packages"]):
        top, _, rest = package.partition(".")
        folder = repository / FOLDERS[top] / rest.replace(".", "/")
        shipped = {path for pattern in data.get(package, []) for path in folder.glob(pattern)}
        inner = [path for path in folder.iterdir() if path.is_dir() and not (path / "__init__.py").exists()]
        own = [path for path in folder.iterdir() if path.is_file()] + [path for sub in inner for path in files_of(sub)]
        left_out += [path for path in own if path.suffix != ".py" and path not in shipped]
    assert left_out == []


def test_the_emulated_commands_are_executable(repository: Path) -> None:
    commands = [path for path in files_of(repository / "tools/virtual_board/bin") if path.suffix != ".py"]
    assert "xdputil" in [path.name for path in commands]
    assert [path.name for path in commands if path.stat().st_mode & 0o777 != 0o755] == []


def test_entry_points_lead_to_modules_that_exist(setup_cfg: configparser.ConfigParser) -> None:
    rows = [row for group in setup_cfg["options.entry_points"].values() for row in lines(group)]
    modules = [re.split(r"[=:]", row)[1].strip() for row in rows]
    assert {"kv260_runtime.cli.main", "virtual_board.launch"} <= set(modules)
    assert [module for module in modules if find_spec(module) is None] == []


def test_constraints_for_boards_keep_numpy_at_1(repository: Path) -> None:
    text = (repository / "constraints/board-numpy1.txt").read_text(encoding="utf-8")
    limits = {requirement.name: requirement.specifier for requirement in map(Requirement, lines(text))}
    assert "1.26.4" in limits["numpy"]
    assert "2.0.0" not in limits["numpy"]
    assert "4.11.0.86" in limits["opencv-python-headless"]
    assert "4.12.0.88" not in limits["opencv-python-headless"], "needs numpy 2"


def test_the_page_of_exit_codes_lists_exactly_the_codes_there_are(repository: Path) -> None:
    page = (repository / "docs/exit-codes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\w+) \| [^|]{10,} \|", page, re.MULTILINE)
    assert rows == [(str(code.value), code.name) for code in ExitCode]


def test_decisions_have_unique_numbers_and_the_three_parts(repository: Path) -> None:
    pages = sorted((repository / "docs/decisions").glob("[0-9]*.md"))
    numbers = [page.name[:4] for page in pages]
    assert len(set(numbers)) == len(numbers) > 0
    for page in pages:
        headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings[0].startswith(f"{page.name[:4]}: "), page.name
        assert headings[1:] == ["Context", "Decision", "Consequences"], page.name
