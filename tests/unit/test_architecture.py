"""The rules of ARCHITECTURE.md, read from the syntax trees of all packages."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGES = {"telemetry": "telemetry", "kv260_runtime": "kv260_runtime", "virtual_board": "tools/virtual_board"}
"""Package name to its folder in the repository."""

MAY_IMPORT = {
    "telemetry": {"telemetry"},
    "kv260_runtime": {"kv260_runtime", "telemetry"},
    "kv260_runtime.xmodel": {"kv260_runtime.xmodel"},
    "virtual_board": {"virtual_board", "kv260_runtime.xmodel"},
}
"""What of ours a module may import; the longest key that covers it decides."""

PRODUCTION = ("telemetry", "kv260_runtime")

ONLY_IN = {
    "time": ("telemetry.clock", "virtual_board"),
    "vart": ("kv260_runtime.accelerators", "virtual_board.vendor"),
    "xir": ("kv260_runtime.accelerators", "virtual_board.vendor"),
    "vitis_ai_library": ("kv260_runtime.accelerators", "virtual_board.vendor"),
    "pyxrt": ("kv260_runtime.accelerators", "virtual_board.vendor"),
}
"""A module of others, and the modules of ours that may import it."""

IN_ONE_MODULE = {"prometheus_client"}

INPUT_OUTPUT = {"os", "pathlib", "socket", "sqlite3", "subprocess"}

NEVER_IN = {
    "telemetry.model": {*INPUT_OUTPUT, "threading"},
    "telemetry.figures": {*INPUT_OUTPUT, "threading", "telemetry.clock", "telemetry.session"},
    "telemetry.readers": {"sqlite3", "threading", "telemetry.clock", "telemetry.session"},
    "kv260_runtime.report": {*INPUT_OUTPUT, "threading", "telemetry.clock"},
}
"""The invariants of absence in the code map."""

MOST_LINES_IN_A_FILE = 400
MOST_LINES_IN_A_FUNCTION = 60


@dataclass(frozen=True)
class Module:
    """One parsed file of ours."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def package(self) -> str:
        """What a relative import of one dot refers to."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def within(name: str, prefixes: set[str] | tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def modules(root: Path) -> dict[str, Module]:
    """All modules of our packages below a repository root, by dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = [package, *path.relative_to(root / folder).with_suffix("").parts]
            name = ".".join(parts).removesuffix(".__init__")
            found[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return found


def imports(module: Module, known: dict[str, Module]) -> Iterator[tuple[int, str]]:
    """Line and dotted target of every import, wherever it stands, and of every string that names a module of ours.

    Such strings are how tables load a row (`module:callable`), so they bind as an import does.
    """
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.package.split(".")[: len(module.package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in known else base
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = re.fullmatch(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)*)(?::\w+)?", node.value)
            if named and (":" in node.value or "." in node.value):
                yield node.lineno, named[1]


def import_violations(root: Path) -> list[str]:
    """Every import against the rules, as `file:line: what is wrong`."""
    known = modules(root)
    found = []
    homes: dict[str, set[str]] = {name: set() for name in IN_ONE_MODULE}
    for module in known.values():
        allowed = MAY_IMPORT[max((key for key in MAY_IMPORT if within(module.name, {key})), key=len)]
        never = set().union(*(names for key, names in NEVER_IN.items() if within(module.name, {key})))
        for line, target in imports(module, known):
            place = f"{module.path.relative_to(root)}:{line}: {module.name}"
            top = target.partition(".")[0]
            if top in PACKAGES and not within(target, allowed):
                found.append(f"{place} may not import {target}")
            if top in ONLY_IN and not within(module.name, ONLY_IN[top]):
                found.append(f"{place} may not import {target}: only {' and '.join(ONLY_IN[top])} may")
            if within(target, never):
                found.append(f"{place} must do without {target}")
            if top in IN_ONE_MODULE:
                homes[top].add(module.name)
    crowded = {name: sorted(users) for name, users in homes.items() if len(users) > 1}
    return found + [f"{name} is imported by {users}: one module is enough" for name, users in crowded.items()]


def limit_violations(root: Path, folders: tuple[str, ...]) -> list[str]:
    """Files and functions longer than the house allows."""
    found = []
    for path in sorted(file for folder in folders for file in (root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(root)
        if (lines := text.count("\n")) > MOST_LINES_IN_A_FILE:
            found.append(f"{place}: {lines} lines, {MOST_LINES_IN_A_FILE} are allowed")
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_IN_A_FUNCTION:
                    allowed = MOST_LINES_IN_A_FUNCTION
                    found.append(f"{place}:{node.lineno}: {node.name}: {lines} lines, {allowed} are allowed")
    return found


def code_map(text: str) -> Iterator[tuple[str, str]]:
    """(folder, name) of each entry of ARCHITECTURE.md's code map; a name in capitals stands for any and is left out."""
    section = text.partition("## Code map")[2].partition("\n## ")[0]
    for part in section.split("\n### ")[1:]:
        folder, _, body = part.partition("\n")
        for entry in re.findall(r"^- (.*)$", body, re.MULTILINE):
            lead = re.split(r": | is ", re.sub(r"\([^)]*\)", "", entry))[0]
            for name in re.findall(r"`([\w/.-]+)`", lead):
                if not re.search(r"\b[A-Z]{2,}\b", name):
                    yield folder.strip(), name


def missing_from_disk(root: Path, text: str) -> list[str]:
    """Entries of the code map behind which there is no file or folder."""
    return [
        f"{folder}/{name}"
        for folder, name in code_map(text)
        if not (root / folder / name).exists() and not (root / folder / f"{name}.py").is_file()
    ]


def missing_from_map(root: Path, text: str) -> list[str]:
    """Modules and packages directly below ours that the code map does not mention."""
    section = text.partition("## Code map")[2].partition("\n## ")[0]
    found = []
    for part in section.split("\n### ")[1:]:
        folder = part.partition("\n")[0].strip()
        for path in sorted((root / folder).iterdir()):
            name = path.stem if path.suffix == ".py" else path.name
            is_ours = path.suffix == ".py" or (path / "__init__.py").is_file()
            if is_ours and not name.startswith("__") and not re.search(rf"`(?:{name}|{name}/[\w/.]*)`", part):
                found.append(f"{folder}/{path.name}")
    return found


def test_imports_go_in_one_direction(repository: Path) -> None:
    assert import_violations(repository) == []


def test_files_and_functions_keep_to_the_house_limits(repository: Path) -> None:
    assert limit_violations(repository, ("telemetry", "kv260_runtime", "tools", "tests")) == []


def test_every_name_of_the_code_map_exists(repository: Path) -> None:
    text = (repository / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert len(list(code_map(text))) > 20
    assert missing_from_disk(repository, text) == []


def test_the_code_map_mentions_every_module(repository: Path) -> None:
    assert missing_from_map(repository, (repository / "ARCHITECTURE.md").read_text(encoding="utf-8")) == []


@pytest.fixture
def small_repository(tmp_path: Path) -> Path:
    """A repository that keeps all rules."""
    for file in (
        "telemetry/__init__.py",
        "telemetry/figures/__init__.py",
        "telemetry/readers/__init__.py",
        "kv260_runtime/__init__.py",
        "kv260_runtime/accelerators/__init__.py",
        "kv260_runtime/cli/__init__.py",
        "kv260_runtime/xmodel/__init__.py",
        "tools/virtual_board/__init__.py",
        "tools/virtual_board/vendor/__init__.py",
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    (tmp_path / "telemetry/clock.py").write_text("import time\n")
    (tmp_path / "telemetry/exporter.py").write_text("import prometheus_client\n")
    (tmp_path / "kv260_runtime/accelerators/graph.py").write_text("def f():\n    import vitis_ai_library, xir\n")
    (tmp_path / "kv260_runtime/cli/main.py").write_text("from telemetry import clock\nfrom ..xmodel import Graph\n")
    (tmp_path / "tools/virtual_board/launch.py").write_text("import time\nfrom kv260_runtime import xmodel\n")
    (tmp_path / "tools/virtual_board/vendor/vart.py").write_text("import xir\n")
    return tmp_path


def test_a_repository_that_keeps_the_rules_has_no_violation(small_repository: Path) -> None:
    assert import_violations(small_repository) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("telemetry/a.py", "import kv260_runtime.errors", "telemetry.a may not import kv260_runtime.errors"),
        ("telemetry/a.py", "def f():\n    from kv260_runtime import xmodel", "may not import kv260_runtime.xmodel"),
        ("telemetry/readers/a.py", "from ..clock import Clock", "telemetry.readers.a must do without telemetry.clock"),
        ("telemetry/figures/a.py", "import sqlite3", "telemetry.figures.a must do without sqlite3"),
        ("telemetry/a.py", "from time import monotonic_ns", "only telemetry.clock and virtual_board may"),
        ("telemetry/a.py", "import prometheus_client", "one module is enough"),
        ("kv260_runtime/a.py", "import virtual_board", "may not import virtual_board"),
        ("kv260_runtime/a.py", "ROWS = {'virtual': 'virtual_board.launch:open_board'}", "import virtual_board.launch"),
        ("kv260_runtime/a.py", "import importlib\nimportlib.import_module('virtual_board.cu')", "virtual_board.cu"),
        ("kv260_runtime/a.py", "import time", "kv260_runtime.a may not import time"),
        ("kv260_runtime/a.py", "try:\n    import vart\nexcept ImportError:\n    pass", "may not import vart"),
        ("kv260_runtime/xmodel/a.py", "from ..errors import KvbenchError", "kv260_runtime.xmodel.a may not import"),
        ("kv260_runtime/xmodel/a.py", "from telemetry import clock", "may not import telemetry.clock"),
        ("kv260_runtime/xmodel/__init__.py", "from .. import cli", "may not import kv260_runtime.cli"),
        ("tools/virtual_board/a.py", "from kv260_runtime.boards import BoardSession", "import kv260_runtime.boards"),
        ("tools/virtual_board/a.py", "from telemetry.model import Column", "may not import telemetry.model"),
        ("tools/virtual_board/a.py", "import vart", "virtual_board.a may not import vart"),
    ],
)
def test_a_planted_import_is_found(small_repository: Path, file: str, source: str, complaint: str) -> None:
    (small_repository / file).write_text(source + "\n")
    [violation] = import_violations(small_repository)
    assert complaint in violation


def test_planted_long_files_and_functions_are_found(tmp_path: Path) -> None:
    (tmp_path / "telemetry").mkdir()
    (tmp_path / "telemetry/just.py").write_text("def f():\n" + "    x = 1\n" * 59 + "x = 1\n" * 340)
    assert limit_violations(tmp_path, ("telemetry",)) == []
    (tmp_path / "telemetry/long.py").write_text("x = 1\n" * 401)
    (tmp_path / "telemetry/tall.py").write_text("class C:\n    async def f(self):\n" + "        x = 1\n" * 60)
    too_long, too_tall = limit_violations(tmp_path, ("telemetry",))
    assert too_long == "telemetry/long.py: 401 lines, 400 are allowed"
    assert too_tall == "telemetry/tall.py:2: f: 61 lines, 60 are allowed"


def test_a_wrong_code_map_is_found(tmp_path: Path) -> None:
    (tmp_path / "telemetry/session").mkdir(parents=True)
    (tmp_path / "telemetry/session/__init__.py").touch()
    (tmp_path / "telemetry/clock.py").touch()
    (tmp_path / "telemetry/stray.py").touch()
    text = """## Code map, in order
### telemetry
- `clock`, `gone` (a: `b`).
- `session/`: a file (docs/session.md): `writer`.
- `readers/KIND.py`: one sensor each.

## Next
- `other`
"""
    assert missing_from_disk(tmp_path, text) == ["telemetry/gone"]
    assert missing_from_map(tmp_path, text) == ["telemetry/stray.py"]
