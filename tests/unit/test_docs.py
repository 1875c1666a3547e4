"""Pages do not rot: commands they show are run or at least parsed, links lead somewhere, shown output has a command.

A fenced block marked `console` is run line by line, one marked `console long` is only parsed.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from kv260_runtime.cli.main import build_parser

REPOSITORY = Path(__file__).resolve().parents[2]
JOBS = {"profile", "test", "lint", "run", "help"}


@dataclass(frozen=True)
class Shown:
    """One command a page shows, and the output below it."""

    page: str
    line: int
    command: str
    output: str
    long: bool

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages(root: Path) -> list[Path]:
    """Every Markdown page of ours."""
    return sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))


def shown(page: str, text: str) -> Iterator[Shown]:
    """The commands of all `console` blocks of a page."""
    for block in re.finditer(r"^```console( long)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first = text[: block.start(2)].count("\n") + 1
        commands = list(re.finditer(r"^\$ (.*)\n", block[2], re.MULTILINE))
        for found, after in zip(commands, [*commands[1:], None], strict=True):
            output = block[2][found.end() : after.start() if after else None]
            line = first + block[2][: found.start()].count("\n")
            yield Shown(page, line, found[1], output, bool(block[1]))


def kvbench_arguments(command: str) -> list[str] | None:
    """What reaches `kvbench`, None if the command is none of ours or stops at bootstrap."""
    words = shlex.split(command)
    if words[:2] in (["./bootstrap", "run"], ["./bootstrap", "profile"]) and words != ["./bootstrap", "profile"]:
        return words[2:] if words[1] == "run" else words[1:]
    return words[1:] if words[0] == "kvbench" else None


def complaint(command: str) -> str | None:
    """Why a shown command cannot be right, None if it can."""
    words = shlex.split(command)
    if words[0] == "./bootstrap" and words[1:2] and words[1] not in JOBS:
        return f"./bootstrap has no job {words[1]!r}"
    arguments = kvbench_arguments(command)
    if arguments is None:
        return None
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    try:
        build_parser(None).parse_args(arguments[:cut])
    except SystemExit as ending:
        return f"kvbench does not understand {command!r}" if ending.code else None
    return None


COMMANDS = [
    one
    for page in pages(REPOSITORY)
    for one in shown(str(page.relative_to(REPOSITORY)), page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("one", COMMANDS, ids=str)
def test_a_shown_command_is_one_that_can_be_typed(one: Shown) -> None:
    assert complaint(one.command) is None


@pytest.mark.parametrize("one", [one for one in COMMANDS if not one.long], ids=str)
def test_a_short_command_works_and_prints_what_the_page_shows(one: Shown) -> None:
    """`./bootstrap` runs here in the environment the tests run in: setting up another is not what the page is about."""
    scripts = Path(sys.executable).parent
    command = one.command
    arguments = kvbench_arguments(command)
    if arguments is not None:
        command = shlex.join([str(scripts / "kvbench"), *arguments])
    elif command.startswith("./bootstrap test"):
        command = command.replace("./bootstrap test", f"{shlex.quote(sys.executable)} -m pytest", 1)
    environment = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=REPOSITORY, env=environment, text=True, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not one.output or done.stdout == one.output


@pytest.mark.parametrize("page", pages(REPOSITORY), ids=lambda page: page.name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_index_leads_to_every_page(repository: Path) -> None:
    index = (repository / "docs/README.md").read_text(encoding="utf-8")
    names = [page.name for page in (repository / "docs").glob("*.md") if page.name != "README.md"]
    assert [name for name in names if f"]({name})" not in index] == []


@pytest.fixture(scope="module")
def refresh_readme(repository: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location("refresh_readme", repository / "tools/refresh_readme.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_readme_shows_real_output_of_a_command_that_can_be_typed(repository: Path, refresh_readme: ModuleType) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    commands = refresh_readme.commands(text)
    assert commands == ["./bootstrap profile"]
    assert len(commands) == text.count("<!-- output of:") == text.count("<!-- end of output -->")
    assert [complaint(command) for command in commands] == [None]
    assert "```text\n```" not in text, "run `make readme`"


def test_output_is_written_between_its_marks_and_nowhere_else(refresh_readme: ModuleType) -> None:
    page = "a\n<!-- output of: x y -->\n```text\nold\nold\n```\n<!-- end of output -->\nb\n```text\nkept\n```\n"
    once = refresh_readme.filled(page, lambda command: f"<{command}>\n\n")
    assert once == page.replace("old\nold\n", "<x y>\n")
    assert refresh_readme.filled(once, lambda command: f"<{command}>") == once


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("kvbench profile a.xmodel --board virtual --runs 5", None),
        ("kvbench profile a.xmodel -- any --thing {model}", None),
        ("./bootstrap", None),
        ("./bootstrap profile", None),
        ("git clone somewhere", None),
        ("kvbench profile a.xmodel --run-count 5", "does not understand"),
        ("kvbench profil a.xmodel", "does not understand"),
        ("./bootstrap profile --board", "does not understand"),
        ("./bootstrap run profile --runs many", "does not understand"),
        ("./bootstrap measure", "no job 'measure'"),
    ],
)
def test_a_planted_wrong_command_is_found(command: str, said: str | None) -> None:
    found = complaint(command)
    assert found is None if said is None else said in str(found)


def test_commands_and_their_output_are_found_in_a_page() -> None:
    run = "```console\n$ kvbench --version\nkvbench 1\n$ true\n```\n"
    text = f"x\n{run}```sh\n$ no\n```\n```console long\n$ kvbench top\n```\n"
    assert list(shown("p.md", text)) == [
        Shown("p.md", 3, "kvbench --version", "kvbench 1\n", long=False),
        Shown("p.md", 5, "true", "", long=False),
        Shown("p.md", 11, "kvbench top", "", long=True),
    ]
