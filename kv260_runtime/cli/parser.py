"""An argument parser whose every complaint is one line that names the nearest known word."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from kv260_runtime.errors import one_line
from telemetry.readers.options import nearest


class Parser(argparse.ArgumentParser):
    """argparse's, without the usage text that buries the complaint."""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Refuse unknown words here, where the options of this command are known."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return options, unknown

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"unexpected argument {word!r}; options go before or after all other arguments, not between"
        known = [option for action in self._actions for option in action.option_strings]
        return f"unknown option {word!r}{nearest(word.partition('=')[0], known)}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401  as argparse has it
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(action, f"unknown {value!r}{nearest(str(value), known)}")

    def error(self, message: str) -> NoReturn:
        """End with one line."""
        self.exit(2, f"{self.prog}: {one_line(message)}; see {self.prog} --help\n")
