"""Any external benchmark; `{model}` in its arguments stands for the model's path."""

from __future__ import annotations

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.workloads import Observation, RunContext, RunRequest, WorkloadSpec
from kv260_runtime.workloads.external import first_fault, observe_command, require_program
from telemetry.errors import ConfigError
from telemetry.markers import CommandResult, PatternParser


class Command:
    """A command that runs until it ends by itself."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec
        self._parser()  # a bad pattern is said before anything starts

    def command(self) -> list[str]:
        """The command line, the model's path put in."""
        model = "" if self._spec.model is None else str(self._spec.model)
        return [argument.replace("{model}", model) for argument in self._spec.command]

    def run(self, request: RunRequest, context: RunContext) -> Observation:
        command = self.command()
        require_program(command, context)
        return observe_command(
            command, self._parser(), self._why_unfit, f"the command {' '.join(self._spec.command)}", request, context
        )

    def _parser(self) -> PatternParser:
        patterns = self._spec.patterns
        try:
            return PatternParser(patterns.get("begin"), patterns.get("end"), patterns.get("count"))
        except ConfigError as error:
            raise KvbenchError(str(error), ExitCode.USAGE) from error

    def _why_unfit(self, told: CommandResult, code: int | None) -> str | None:
        fault = first_fault(told, code)
        if fault is None and "begin" in self._spec.patterns and told.window is None:
            return "no line matched the begin pattern and, after it, the end pattern"
        return fault


def open_workload(spec: WorkloadSpec) -> Command:
    """The workload for a spec of kind `command`."""
    return Command(spec)
