"""What is compared: one model in one or more sessions, on each side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.profile.result import ModelResult, ProfileResult

Evaluate = Callable[[Path], ProfileResult]

TWO_SIDES = "compare needs two sides: A[:MODEL] B[:MODEL]; FILE alone compares its two models"


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    sessions: tuple[ProfileResult, ...]
    models: tuple[ModelResult, ...]
    """The model in each of the sessions."""

    @property
    def label(self) -> str:
        """Model and files."""
        return f"{self.models[0].name} in {', '.join(session.session for session in self.sessions)}"

    @property
    def kept(self) -> int:
        """How many runs count, over all sessions."""
        return sum(model.kept for model in self.models)

    def values(self, metric: str) -> list[list[float]]:
        """The figure's run values of each session that has it."""
        return [list(model.summaries[metric].values) for model in self.models if metric in model.summaries]


@dataclass(frozen=True)
class Word:
    """`FILE[,FILE...][:MODEL]` taken apart."""

    paths: tuple[Path, ...]
    model: str | None


def parse_side(text: str, exists: Callable[[Path], bool] = Path.is_file) -> Word:
    """Files may have commas and colons in their names: what exists as a whole is taken as one.

    Raises KvbenchError naming the first file that does not exist.
    """
    for cut in (len(text), *(place for place in range(len(text) - 1, 0, -1) if text[place] == ":")):
        files, model = text[:cut], text[cut + 1 :]
        names = [files] if exists(Path(files)) else files.split(",")
        if all(name and exists(Path(name)) for name in names):
            return Word(tuple(map(Path, names)), model or None)
    names = text.split(",")
    missing = next((name for name in names if not exists(Path(name))), text)
    what = "it is a folder" if Path(missing).is_dir() else "the file does not exist"
    raise KvbenchError(f"no session {missing}: {what} (FILE[,FILE...][:MODEL])", ExitCode.NO_INPUT)


def open_sides(first: Word, second: Word | None, evaluate: Evaluate, alone: bool = False) -> tuple[Side, Side | None]:
    """Both sides with their models found; each session is evaluated once.

    Without a second word the session's second model is compared with its first. With `alone`, one model may stand by
    itself. Raises KvbenchError where that is not what the sessions hold, and for a model compared with itself.
    """
    if second is None and first.model and not alone:
        raise KvbenchError(TWO_SIDES, ExitCode.USAGE)
    known: dict[Path, ProfileResult] = {}
    for path in (*first.paths, *(second.paths if second else ())):
        if path.resolve() not in known:
            known[path.resolve()] = evaluate(path)
    one = _sessions(first, known)
    if alone and second is None and (first.model or len(one[0].models) == 1):
        return _side(one, first.model or _names(one[0])[0]), None
    if second is None:
        before, after = _both_models(one[0])
        return _side(one, before), _side(one, after)
    other = _sessions(second, known)
    same_files = _files(first) == _files(second)
    if same_files and first.model is None and second.model is None:
        raise _with_itself(one[0])
    left = _side(one, first.model or _only_model(one[0], second.model))
    right = _side(other, second.model or _only_model(other[0], left.models[0].name))
    if same_files and left.models[0].name == right.models[0].name:
        raise _with_itself(one[0])
    return left, right


def _files(word: Word) -> set[Path]:
    return {path.resolve() for path in word.paths}


def _with_itself(session: ProfileResult) -> KvbenchError:
    """The same runs on both sides differ by nothing; what may have been meant depends on the models there are."""
    file, names = session.session, _names(session)
    hint = f"for two of its models write {file}:A {file}:B" if len(names) > 1 else "name another session"
    if len(names) == 2:
        hint = f"write compare {file}, or {file}:{names[0]} {file}:{names[1]}"
    return KvbenchError(
        f"{file} would be compared with itself; it has: {', '.join(names) or 'no model'}; {hint}", ExitCode.USAGE
    )


def _sessions(word: Word, known: dict[Path, ProfileResult]) -> tuple[ProfileResult, ...]:
    return tuple(known[path.resolve()] for path in word.paths)


def _names(session: ProfileResult) -> list[str]:
    return [model.name for model in session.models]


def _both_models(session: ProfileResult) -> tuple[str, str]:
    names = _names(session)
    if len(names) < 2:
        raise KvbenchError(
            f"{session.session} has {len(names)} models ({', '.join(names)}): {TWO_SIDES}", ExitCode.USAGE
        )
    if len(names) != 2:
        raise KvbenchError(
            f"{session.session} has {len(names)} models ({', '.join(names)}): "
            f"say which as {session.session}:A {session.session}:B",
            ExitCode.USAGE,
        )
    return names[0], names[1]


def _only_model(session: ProfileResult, other: str | None) -> str:
    """The model of a session when none is named: the other side's, or the only one."""
    names = _names(session)
    if other in names and other is not None:
        return other
    if len(names) != 1:
        raise KvbenchError(
            f"{session.session} has {len(names)} models ({', '.join(names)}): say which as {session.session}:MODEL",
            ExitCode.USAGE,
        )
    return names[0]


def _side(sessions: Sequence[ProfileResult], name: str) -> Side:
    found = []
    for session in sessions:
        model = next((model for model in session.models if model.name == name), None)
        if model is None:
            known = ", ".join(_names(session)) or "none"
            raise KvbenchError(f"{session.session} has no model {name!r}; it has: {known}", ExitCode.USAGE)
        found.append(model)
    return Side(tuple(sessions), tuple(found))
