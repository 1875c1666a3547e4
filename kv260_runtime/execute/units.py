"""Running a plan: units in order, each from arrays to arrays, and every array dropped after its last use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kv260_runtime.execute.plan import Plan, Step
from kv260_runtime.execute.specs import Array


class Unit(Protocol):
    """A piece of the plan that one library computes; threads share it."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors it reads."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the tensors it makes."""
        ...

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Compute the outputs from the inputs, both in the order of their names."""
        ...


@dataclass(frozen=True)
class KernelUnit:
    """One step, computed by its kernel in numpy."""

    step: Step

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those of the step."""
        return self.step.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The one tensor of the step."""
        return (self.step.name,)

    def run(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Run the kernel."""
        return (self.step.kernel.run(*arrays),)


class Program:
    """The units of a plan with the life of each tensor; runs may overlap, as they share nothing they write."""

    def __init__(self, plan: Plan, units: Sequence[Unit]) -> None:
        """Find the last reader of every tensor."""
        self.units = tuple(units)
        self._constants = dict(plan.constants)
        self._outputs = tuple(plan.outputs)
        self.dying = _last_uses(units, keep={*plan.outputs, *plan.constants})

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """From the plan's inputs to its outputs, both by operator name."""
        alive: dict[str, Array] = {**self._constants, **inputs}
        for unit, dying in zip(self.units, self.dying, strict=True):
            alive.update(zip(unit.outputs, unit.run([alive[name] for name in unit.inputs]), strict=True))
            for name in dying:
                del alive[name]
        return {name: alive[name] for name in self._outputs}


def _last_uses(units: Iterable[Unit], keep: set[str]) -> tuple[tuple[str, ...], ...]:
    seen: set[str] = set(keep)
    dying: list[tuple[str, ...]] = []
    for unit in reversed(list(units)):
        ending = {*unit.inputs, *unit.outputs} - seen
        seen |= ending
        dying.append(tuple(sorted(ending)))
    return tuple(reversed(dying))
