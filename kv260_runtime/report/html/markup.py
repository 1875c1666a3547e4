"""HTML from Python values, with every text escaped unless it is markup already."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = {"meta", "br", "hr", "rect", "path", "line"}


class Markup(str):
    """Text that is HTML already; only this module and constants of ours make it."""

    __slots__ = ()


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. Attributes that are None are left out; `class_` and `data_x` become `class` and `data-x`.

    >>> tag("b", "1 < 2", class_="x")
    '<b class="x">1 &lt; 2</b>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{written}>" if name in ("meta", "br", "hr") else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[object]) -> Markup:
    """Children one after another; lists are flattened, None is nothing, all else is text."""
    return Markup("".join(map(_child, children)))


def _child(child: object) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return str(child)
    if isinstance(child, str):
        return escape(child)
    if isinstance(child, Iterable):
        return str(join(child))
    return escape(str(child))
