"""Board profiles: which sensors a board has, how it is recognised, what its rails cover; one YAML file a board."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from telemetry.errors import ConfigError
from telemetry.files import Files
from telemetry.readers import READERS, options_type
from telemetry.readers.hwmon import chips
from telemetry.readers.options import decode, nearest
from telemetry.readers.sensor_file import text

if TYPE_CHECKING:
    from importlib.abc import Traversable

PACKAGE = "configs.boards"
SUFFIX = ".yaml"
DEVICE_TREE = "proc/device-tree"

ACCELERATORS = ["vart"]
"""Vendor APIs that run models, as kv260_runtime knows them."""

Text = Annotated[str, msgspec.Meta(min_length=1)]


class DetectRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way to recognise a board: every list given must have a pattern that fits. Patterns are as in a shell."""

    model: tuple[Text, ...] = ()
    """The device tree's `model`."""
    compatible: tuple[Text, ...] = ()
    """Any of the device tree's `compatible` strings."""
    chips: tuple[Text, ...] = ()
    """The name of any hwmon chip."""

    def __post_init__(self) -> None:
        if not (self.model or self.compatible):
            raise ValueError("a detection rule needs `model` or `compatible`")


class StreamPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One kind of sensor at one period."""

    kind: str
    """A key of telemetry.readers.READERS."""
    period_ms: Annotated[float, msgspec.Meta(ge=0.1, le=3_600_000)]
    options: dict[str, Any] = {}
    """As the kind's `Options` has them."""
    required: bool = False
    """A recording without it does not start; otherwise it is reported missing."""
    jitter: bool = False
    """Read at a uniformly random instant of each slot, not at its end (measurement_rules.md, Compute unit)."""
    group: Literal["fast", "slow"] = "slow"
    """Sensors that answer in microseconds are `fast` and are not kept waiting by those on a bus."""


class BoardProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a board file says."""

    name: Annotated[str, msgspec.Meta(pattern="^[a-z0-9-]+$")]
    title: Text
    streams: Annotated[tuple[StreamPlan, ...], msgspec.Meta(min_length=1)]
    detect: tuple[DetectRule, ...] = ()
    """Any of these; a board without rules is used by name only."""
    accelerator: str | None = None
    """The vendor API that runs models here, one of ACCELERATORS."""
    dpu_ports: tuple[Annotated[str, msgspec.Meta(pattern="^slot[1-5]$")], ...] = ()
    """APM slots that carry the accelerator's traffic."""

    def __post_init__(self) -> None:
        kinds = [plan.kind for plan in self.streams]
        twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
        if twice:
            raise ValueError(f"sensor kind {twice[0]} stands twice in `streams`")


def board_names() -> list[str]:
    """The names of the profiles shipped: the folder is the list."""
    return sorted(file.name[: -len(SUFFIX)] for file in _folder().iterdir() if file.name.endswith(SUFFIX))


def is_path(name: str) -> bool:
    """Whether a board is named by its file."""
    return name.endswith((SUFFIX, ".yml")) or "/" in name


def load_board(name: str) -> BoardProfile:
    """A shipped profile by name, or one in a YAML file by its path.

    Raises ConfigError naming the file and the key at fault.
    """
    if is_path(name):
        path = Path(name)
        try:
            board = parse_board(path.read_text(encoding="utf-8"), name)
        except OSError as error:
            raise ConfigError(f"{name}: cannot be read as a board profile: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{name}: cannot be read as a board profile: it is no UTF-8 text") from error
        if board.name != path.stem:
            raise ConfigError(f"{name}: name: expected {path.stem!r} as the file is called, not {board.name!r}")
        return board
    if name not in board_names():
        raise ConfigError(f"no board profile is called {name!r}{nearest(name, board_names())}")
    file = _folder() / f"{name}{SUFFIX}"
    return parse_board(file.read_text(encoding="utf-8"), f"configs/boards/{name}{SUFFIX}")


def _folder() -> Traversable:
    from importlib import resources

    return resources.files(PACKAGE)


def parse_board(yaml_text: str, source: str) -> BoardProfile:
    """A profile from the text of its file; `source` stands in messages."""
    import yaml

    try:
        content = yaml.safe_load(yaml_text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{source}: a board profile is a mapping with `name`, `title` and `streams`")
    board = decode(BoardProfile, content, source)
    named = board.accelerator
    if named is not None and named not in ACCELERATORS:
        raise ConfigError(f"{source}: accelerator: unknown {named!r}{nearest(named, ACCELERATORS)}")
    for index, plan in enumerate(board.streams):
        try:
            struct = options_type(plan.kind)
        except ConfigError as error:
            raise ConfigError(f"{source}: streams[{index}].kind: {error}") from error
        decode(struct, plan.options, source, f"streams[{index}].options")
    return board


def detect_board(files: Files, root: Path) -> BoardProfile | None:
    """The first shipped profile whose rules fit the device tree and chips under `root`; None if none does."""
    seen = _Seen(
        model=(text(files, root / DEVICE_TREE / "model") or "").strip("\0"),
        compatible=(text(files, root / DEVICE_TREE / "compatible") or "").split("\0"),
        chips=[chip.name for chip in chips(files, root)],
    )
    for board in map(load_board, board_names()):
        if any(seen.fits(rule) for rule in board.detect):
            return board
    return None


@dataclass(frozen=True)
class _Seen:
    """What a machine shows of itself."""

    model: str
    compatible: list[str]
    chips: list[str]

    def fits(self, rule: DetectRule) -> bool:
        return (
            _any_fits(rule.model, [self.model])
            and _any_fits(rule.compatible, self.compatible)
            and _any_fits(rule.chips, self.chips)
        )


def _any_fits(patterns: tuple[str, ...], words: list[str]) -> bool:
    return not patterns or any(fnmatchcase(word, pattern) for word in words for pattern in patterns)


def to_json(board: BoardProfile) -> str:
    """One line of JSON, for handing a profile to another process."""
    return msgspec.json.encode(board).decode()


def from_json(encoded: str | bytes) -> BoardProfile:
    """The profile that `to_json` wrote."""
    return msgspec.json.decode(encoded, type=BoardProfile)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a board file, in which the options of a stream follow from its kind."""
    kinds = sorted(READERS)
    types = [BoardProfile, *(options_type(kind) for kind in kinds)]
    (board, *options), definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    definitions["StreamPlan"]["properties"]["kind"] = {"enum": kinds}
    definitions["StreamPlan"]["allOf"] = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"options": schema}}}
        for kind, schema in zip(kinds, options, strict=True)
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **board, "$defs": definitions}
