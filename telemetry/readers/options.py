"""Options as frozen structs: a mapping becomes a struct, or one line says which key or value is wrong and where."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import msgspec.inspect as mi

from telemetry.errors import ConfigError

T = TypeVar("T")

WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
"""What msgspec calls a type, in words."""


def decode(struct: type[T], options: Mapping[str, Any], source: str, place: str = "") -> T:
    """`options` as a `struct`.

    Raises ConfigError that names `source`, the path of the key inside it (from `place`), and for an unknown key the
    nearest known one.
    """
    refuse_unknown(mi.type_info(struct), options, source, place)
    try:
        return msgspec.convert(options, struct)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        where = f"{place}{path.rstrip('`')}".lstrip(".") or "top level"
        got = _got(options, path, message)
        # A value says more than its type.
        reason = f"{re.sub(', got .*$', '', _plainly(message)) if got else _plainly(message)}{got}"
        raise ConfigError(f"{source}: {where}: {reason}") from error


def refuse_unknown(info: mi.Type, value: Any, source: str, place: str) -> None:  # noqa: ANN401 - any parsed YAML
    """Walk `value` along its type and refuse the first key that no struct there has."""
    if isinstance(info, mi.UnionType):
        structured = [t for t in info.types if isinstance(t, (mi.StructType, mi.ListType, mi.VarTupleType))]
        if len(structured) == 1:
            refuse_unknown(structured[0], value, source, place)
    elif isinstance(info, (mi.ListType, mi.VarTupleType)) and isinstance(value, list):
        for index, item in enumerate(value):
            refuse_unknown(info.item_type, item, source, f"{place}[{index}]")
    elif isinstance(info, mi.StructType) and isinstance(value, Mapping):
        known = {field.encode_name: field.type for field in info.fields}
        for key, item in value.items():
            if key not in known:
                raise ConfigError(f"{source}: {place or 'top level'}: unknown key {key!r}{nearest(str(key), known)}")
            refuse_unknown(known[key], item, source, f"{place}.{key}".lstrip("."))


def _plainly(message: str) -> str:
    """A message of msgspec in the words of a YAML file.

    >>> _plainly("Expected `float`, got `str`"), _plainly("Expected `array` of length >= 1")
    ('expected a number, got a text', 'expected a list of length >= 1')
    """
    message = re.sub("^Object missing required field `(.*)`$", r"the key '\1' is missing", message)
    message = re.sub("^Invalid enum value", "unknown value", message).replace("matching regex", "that matches")
    kind = "|".join(WORDS)
    named = re.sub(
        rf"`((?:{kind})(?: \| (?:{kind}))*)`",
        lambda found: " or ".join(WORDS[word] for word in found[1].split(" | ")),
        message,
    )
    return f"{named[:1].lower()}{named[1:]}"


def _got(value: Any, path: str, message: str) -> str:  # noqa: ANN401 - any parsed YAML
    """The value at msgspec's `path` (`.rails[0].gain_u`) as the end of a message that does not tell it yet."""
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", path):
        try:
            value = value[key] if key else value[int(index)]
        except (LookupError, TypeError):
            return ""
    if not isinstance(value, (str, int, float)) or (isinstance(value, str) and repr(value) in message):
        return ""
    return f", not {value!r}"


def nearest(word: str, known: Mapping[str, Any] | list[str]) -> str:
    """A hint to end a message with: the nearest known word, or all of them if none is near."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(known)) or 'none'}"
