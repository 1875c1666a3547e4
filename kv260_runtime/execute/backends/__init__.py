"""The libraries that can compute a plan: one row each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from kv260_runtime.errors import ExitCode, KvbenchError
from kv260_runtime.execute.plan import Plan
from kv260_runtime.execute.units import Unit


class BackendUnavailable(KvbenchError, ImportError):
    """The library of a backend is not installed, or does not compute as it must."""

    exit_code = ExitCode.UNAVAILABLE


Compiler = Callable[[Plan, int], list[Unit]]


@dataclass(frozen=True)
class Backend:
    """One way to compute."""

    compiler: str
    """`module:function` from a plan and a number of threads to units in order."""
    accumulator: type[np.generic]
    """What the numpy kernels keep wide sums in."""

    def compile(self, plan: Plan, threads: int) -> list[Unit]:
        """Make the units; BackendUnavailable where the library is of no use."""
        module, _, name = self.compiler.partition(":")
        try:
            function: Compiler = getattr(import_module(module), name)
        except BackendUnavailable:
            raise
        except ImportError as error:
            raise BackendUnavailable(f"{error.name} is not installed (pip install 'kvbench[execution]')") from error
        return function(plan, threads)


BACKENDS = {
    "onnxruntime": Backend("kv260_runtime.execute.backends.onnxruntime:compile_plan", np.float64),
    "numpy": Backend("kv260_runtime.execute.backends.plain:compile_plan", np.float64),
    "integer": Backend("kv260_runtime.execute.backends.plain:compile_plan", np.int64),
}
"""`integer` keeps every sum in int64 and is what the others are compared with; `numpy` uses the float64 matrix product,
which is exact below 2 ** 53 and many times faster."""
