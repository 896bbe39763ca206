"""Markup in which everything is escaped that is not markup itself (pure).

>>> tag("a", "<name>", href="/x?a=1&b=2")
'<a href="/x?a=1&amp;b=2">&lt;name&gt;</a>'
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Final

_VOID: Final = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "path", "rect", "circle", "wbr"}
)


class Html(str):
    """Text that is markup. Whatever is a plain `str` is escaped where it becomes part of one."""

    __slots__ = ()


Child = str | int | None | Iterable["Child"]
Value = str | int | bool | None


def tag(element: str, /, *children: Child, **attributes: Value) -> Html:
    """An element. Attributes lose a `_` at their end (`class_`), and others become `-`; one
    that is None or False is left out, one that is True has no value."""
    head = element + "".join(map(_attribute, attributes.items()))
    if element in _VOID:
        return Html(f"<{head}/>")
    return Html(f"<{head}>{joined(children)}</{element}>")


def joined(children: Iterable[Child]) -> Html:
    """One after the other."""
    return Html("".join(map(_text, children)))


def _text(child: Child) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return html.escape(_printable(child))
    if child is None:
        return ""
    if isinstance(child, int):
        return str(child)
    return joined(child)


def _attribute(item: tuple[str, Value]) -> str:
    name, value = item
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{html.escape(_printable(str(value)))}"'


def _printable(text: str) -> str:
    """Escape what HTML cannot carry: control characters, and those that turn the direction of what
    follows."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in "\n\t " else f"\\u{ord(character):04x}"
        for character in text
    )
