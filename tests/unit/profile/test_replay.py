"""A replay computes what the session stores, or says what differs."""

from __future__ import annotations

import ast
import json
from contextlib import closing

import jsonschema
import pytest

from kv260_runtime.cli.main import main
from kv260_runtime.errors import ExitCode
from kv260_runtime.profile.evaluate import evaluate
from kv260_runtime.profile.replay import META_KEY, Difference, count, differences, figures_of
from telemetry.session.log import SessionLog
from tests.unit.profile import synthetic


def store(path, figures):
    with closing(SessionLog.open(path)) as log:
        log.put_meta(META_KEY, figures)


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "s.kvs"
    synthetic.write_session(path, synthetic.Truth(), runs=2, models=("a", "b"))
    return path


@pytest.fixture
def figures(session):
    return figures_of(evaluate(session))


def test_every_run_and_every_mean_is_kept(figures):
    assert set(figures["runs"]) == {"1", "2", "3", "4"}
    assert "energy_per_execution.som" in figures["runs"]["1"]
    assert {"throughput.mean", "throughput.sd"} <= set(figures["models"]["a"])
    assert count(figures) > 100


def test_a_session_that_stores_its_figures_replays_equal(session, figures, capsys):
    store(session, figures)

    assert main(["replay", str(session)]) == ExitCode.OK
    assert capsys.readouterr().out.startswith(f"equal: all {count(figures)} figures are the same to the last bit")


def test_one_last_bit_is_found_and_told(session, figures, capsys, repository):
    changed = figures["runs"]["3"]["throughput"]
    figures["runs"]["3"]["throughput"] = changed * (1 + 2**-52)
    store(session, figures)

    assert main(["replay", str(session), "--json"]) == ExitCode.REGRESSION
    told = json.loads(capsys.readouterr().out)
    schema = json.loads((repository / "docs/schemas/replay.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(told, schema)
    assert told["differences"] == [
        {"place": "run 3: throughput", "stored": changed * (1 + 2**-52), "computed": changed}
    ]

    assert main(["replay", str(session)]) == ExitCode.REGRESSION
    assert capsys.readouterr().out.splitlines()[1] == (
        f"run 3: throughput: stored {changed * (1 + 2**-52)!r}, computed {changed!r}"
    )


def test_a_figure_that_came_or_went_is_a_difference():
    stored = {"runs": {"1": {"power.som": 5.0}}, "models": {"m": {}}}
    computed = {"runs": {"1": {"bandwidth.total": 1.0}}, "models": {"m": {}}}

    assert list(differences(stored, computed)) == [
        Difference("run 1: power.som", 5.0, None),
        Difference("run 1: bandwidth.total", None, 1.0),
    ]


def test_a_session_without_stored_figures_cannot_be_judged(session, capsys):
    assert main(["replay", str(session)]) == ExitCode.INCONCLUSIVE
    assert "stores no figures" in capsys.readouterr().err


UNEVEN = {"dot", "vdot", "inner", "matmul", "einsum", "tensordot", "convolve", "correlate", "interp", "polyfit"}
UNEVEN |= {"exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "power", "linalg", "fft"}
UNEVEN |= {"sum", "mean", "average", "std", "var", "quantile"}
"""numpy functions that go through BLAS, libm or loops that a release vectorises in its own way."""
STORED = ("busy", "counters", "cpu", "energy", "latency", "memory", "pieces", "power", "temperature", "throughput")
"""Modules of the figures that sessions store."""


def uneven(tree):
    """Lines that call for such a function, unless the result is a whole number, whose sum is exact."""
    whole = {id(call.args[0]) for call in ast.walk(tree) if is_call_of(call, "int") and call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and id(node) not in whole:
            of_numpy = isinstance(node.func.value, ast.Name) and node.func.value.id == "np"
            if node.func.attr in (UNEVEN if of_numpy else {"sum", "mean", "std", "var", "dot"}):
                yield node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno


def is_call_of(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def test_figures_use_only_arithmetic_that_every_machine_rounds_alike(repository):
    sources = [repository / f"telemetry/figures/{name}.py" for name in STORED]
    sources.append(repository / "kv260_runtime/profile/figures.py")

    found = [f"{path.name}:{line}" for path in sources for line in uneven(ast.parse(path.read_text()))]

    assert found == []


@pytest.mark.parametrize("planted", ["float(x.sum() * 2)", "a[b].mean()", "np.mean(x)", "x @ y", "np.log(x)"])
def test_planted_arithmetic_that_machines_round_differently_is_found(planted):
    assert list(uneven(ast.parse(planted))) == [1]


def test_sums_of_whole_numbers_are_exact_and_allowed():
    assert list(uneven(ast.parse("int(x.sum()) + math.fsum(y) + mean(z)"))) == []
