"""Which model of which session is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from kv260_runtime.compare.sides import open_sides, parse_side
from kv260_runtime.errors import ExitCode, KvbenchError
from tests.unit.compare.sessions import model, session

FILES = {"a.kvs", "b.kvs", "odd,name.kvs", "odd:name.kvs", "C:\\x.kvs"}


def parse(text):
    word = parse_side(text, lambda path: str(path) in FILES)
    return [str(path) for path in word.paths], word.model


@pytest.mark.parametrize(
    ("text", "paths", "name"),
    [
        ("a.kvs", ["a.kvs"], None),
        ("a.kvs:yolo", ["a.kvs"], "yolo"),
        ("a.kvs:yolo#2", ["a.kvs"], "yolo#2"),
        ("a.kvs:v1:best", ["a.kvs"], "v1:best"),
        ("a.kvs,b.kvs", ["a.kvs", "b.kvs"], None),
        ("a.kvs,b.kvs:yolo", ["a.kvs", "b.kvs"], "yolo"),
        ("odd,name.kvs", ["odd,name.kvs"], None),
        ("odd:name.kvs:yolo", ["odd:name.kvs"], "yolo"),
    ],
)
def test_files_and_models_are_told_apart(text, paths, name):
    assert parse(text) == (paths, name)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(KvbenchError, match=r"no session c\.kvs") as caught:
        parse("a.kvs,c.kvs")
    assert caught.value.exit_code == ExitCode.NO_INPUT


def opened(first, second, **sessions):
    calls = []

    def evaluate(path):
        calls.append(path.name)
        return sessions[path.stem]

    found = open_sides(
        parse_side(first, lambda path: path.suffix == ".kvs"),
        None if second is None else parse_side(second, lambda path: path.suffix == ".kvs"),
        evaluate,
    )
    return [(side.sessions[0].session, side.models[0].name) for side in found], calls


def two(path):
    return session(model("x", throughput=[1.0]), model("y", throughput=[2.0]), path=path)


def one(path, name="x"):
    return session(model(name, throughput=[1.0]), path=path)


def test_a_session_alone_compares_its_second_model_with_its_first():
    assert opened("a.kvs", None, a=two("a.kvs")) == ([("a.kvs", "x"), ("a.kvs", "y")], ["a.kvs"])


def refusal(first, second, **sessions):
    with pytest.raises(KvbenchError) as caught:
        opened(first, second, **sessions)
    assert caught.value.exit_code == ExitCode.USAGE
    return str(caught.value)


@pytest.mark.parametrize("name", ["x", "typo"])
def test_a_model_named_on_the_only_side_is_not_ignored(name):
    assert refusal(f"a.kvs:{name}", None, a=two("a.kvs")).startswith("compare needs two sides")


@pytest.mark.parametrize(
    ("first", "second"),
    [("a.kvs", "a.kvs"), ("a.kvs", "./a.kvs"), ("a.kvs:x", "a.kvs:x"), ("a.kvs:x", "a.kvs"), ("a.kvs", "a.kvs:x")],
)
def test_a_model_is_not_compared_with_itself(first, second):
    message = refusal(first, second, a=two("a.kvs"))
    assert message.endswith("compared with itself; it has: x, y; write compare a.kvs, or a.kvs:x a.kvs:y")


def test_a_session_of_one_model_is_told_what_it_lacks():
    assert refusal("a.kvs", "a.kvs", a=one("a.kvs")).endswith("it has: x; name another session")
    assert "compare needs two sides" in refusal("a.kvs", None, a=one("a.kvs"))


def test_two_models_of_one_session_may_be_named():
    assert opened("a.kvs:y", "a.kvs:x", a=two("a.kvs"))[0] == [("a.kvs", "y"), ("a.kvs", "x")]


@pytest.mark.parametrize("second", ["a.kvs", "b.kvs", "b.kvs:x"])
def test_an_unknown_model_is_named_with_those_there_are(second):
    message = refusal("a.kvs:w", second, a=two("a.kvs"), b=two("b.kvs"))
    assert message == "a.kvs has no model 'w'; it has: x, y"


def test_a_model_named_on_one_side_is_looked_for_on_the_other():
    assert opened("a.kvs:y", "b.kvs", a=two("a.kvs"), b=two("b.kvs"))[0] == [("a.kvs", "y"), ("b.kvs", "y")]
    assert opened("a.kvs", "b.kvs:y", a=two("a.kvs"), b=two("b.kvs"))[0] == [("a.kvs", "y"), ("b.kvs", "y")]


def test_sessions_of_one_model_each_need_no_names():
    assert opened("a.kvs", "b.kvs", a=one("a.kvs"), b=one("b.kvs", "z"))[0] == [("a.kvs", "x"), ("b.kvs", "z")]


def test_what_is_ambiguous_or_unknown_is_said():
    with pytest.raises(KvbenchError, match=r"b\.kvs has 2 models \(x, y\): say which as b\.kvs:MODEL"):
        opened("a.kvs", "b.kvs", a=one("a.kvs", "z"), b=two("b.kvs"))
    with pytest.raises(KvbenchError, match="no model 'w'; it has: x, y"):
        opened("a.kvs:w", "a.kvs:x", a=two("a.kvs"))
    with pytest.raises(KvbenchError, match="has 1 models"):
        opened("a.kvs", None, a=one("a.kvs"))


@pytest.mark.parametrize(("text", "made", "name"), [("a.kvs:y", two, "y"), ("a.kvs", one, "x")])
def test_a_model_may_stand_alone_where_that_is_enough(text, made, name):
    word = parse_side(text, lambda path: path == Path("a.kvs"))
    side, other = open_sides(word, None, lambda path: made(str(path)), alone=True)

    assert (side.models[0].name, other) == (name, None)
