"""Hadoop's file name patterns, as a matcher over names and nothing else (pure).

`?` is any character, `*` any run of them (never a slash), `[abc]` and `[a-c]` a
set, `[^a]` and `[!a]` what is not in it, `{ab,cd}` either, nested as you like,
and `\\` takes the meaning from the next character. Braces may span components
(`/{a/b,c}/d`): they are expanded first, so a pattern becomes several, each of
which is matched component by component.

Two differences to a shell: a leading dot needs no dot in the pattern, and `**`
is the same as `*`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from howdah.errors import IllegalArgument, InvalidPath

_SPECIAL = frozenset("*?[{\\")
MAX_EXPANSIONS = 10_000
_RUN, _OPEN, _OR, _CLOSE = ".*", "(?:", "|", ")"
_SIGNS = frozenset((_RUN, _OPEN, _OR, _CLOSE))
_MOST_BRANCHES = 2
"""So many `*` and braces may be tried one way after the other, which is quickest for few."""


def has_wildcard(pattern: str) -> bool:
    """Whether the text means anything but itself."""
    return any(char in _SPECIAL for char in pattern)


def is_literal(component: str) -> bool:
    """Whether a component matches one name only, which `unescape` gives."""
    index = 0
    while index < len(component):
        if component[index] == "\\":
            index += 1
        elif component[index] in "*?[{":
            return False
        index += 1
    return True


def unescape(component: str) -> str:
    """The name that a literal component stands for."""
    return re.sub(r"\\(.)", r"\1", component, flags=re.DOTALL)


def escape(name: str) -> str:
    """A pattern that matches `name` and nothing else."""
    return re.sub(r"([*?\[\]{}\\,])", r"\\\1", name)


def expand(pattern: str) -> list[str]:
    """The patterns that remain when braces around slashes are written out.

    Braces without a slash stay, since the matcher knows them.

    >>> expand("/{a/b,c}/{x,y}")
    ['/a/b/{x,y}', '/c/{x,y}']
    """
    out: list[str] = []
    waiting = [pattern]
    while waiting:
        current = waiting.pop(0)
        span = _first_group_with_slash(current)
        if span is None:
            out.append(current)
        else:
            start, end, alternatives = span
            waiting[:0] = [
                current[:start] + alternative + current[end:] for alternative in alternatives
            ]
        if len(out) + len(waiting) > MAX_EXPANSIONS:
            raise IllegalArgument(
                f"Pattern {pattern!r} stands for more than {MAX_EXPANSIONS} others"
            )
    return out


def split(pattern: str) -> list[str]:
    """The components of a pattern; a slash inside brackets or braces doesn't part them."""
    parts: list[str] = []
    current: list[str] = []
    for token, depth in _tokens(pattern):
        if token == "/" and depth == 0:
            if current:
                parts.append("".join(current))
            current = []
        else:
            current.append(token)
    if current:
        parts.append("".join(current))
    return parts


def normal(components: list[str]) -> list[str]:
    """Resolve `.` and `..` in the components of a pattern, as in a path.

    >>> normal(["a", ".", "*", "..", "b?"])
    ['a', 'b?']
    """
    normalized: list[str] = []
    for component in components:
        name = unescape(component) if is_literal(component) else component
        if name == "..":
            if not normalized:
                raise InvalidPath(f"{'/'.join(components)!r} leads above the root")
            normalized.pop()
        elif name != ".":
            normalized.append(component)
    return normalized


def _tokens(pattern: str) -> Iterator[tuple[str, int]]:
    """Characters (an escaped one with its backslash) and how deep in braces they stand."""
    depth = 0
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            yield pattern[index : index + 2], depth
            index += 2
            continue
        if char == "{":
            depth += 1
        yield char, depth
        if char == "}" and depth:
            depth -= 1
        index += 1


def _first_group_with_slash(pattern: str) -> tuple[int, int, list[str]] | None:
    """(start, end, alternatives) of the first outermost group that has a slash in it."""
    position = 0
    start = 0
    alternatives: list[str] = []
    current: list[str] = []
    slash = False
    for token, depth in _tokens(pattern):
        if depth == 0:
            pass
        elif token == "{" and depth == 1:
            start, alternatives, current, slash = position, [], [], False
        elif token == "," and depth == 1:
            alternatives.append("".join(current))
            current = []
        elif token == "}" and depth == 1:
            if slash:
                return start, position + 1, [*alternatives, "".join(current)]
        else:
            slash = slash or token == "/"
            current.append(token)
        position += len(token)
    return None


@lru_cache(maxsize=1024)
def compile_component(component: str) -> Callable[[str], bool]:
    """A test of whether one name matches one component of a pattern.

    Raises `IllegalArgument` for an open bracket or brace and a backslash at the end.
    """
    parts = _parts(component)
    if parts.count(_RUN) + parts.count(_OPEN) > _MOST_BRANCHES:
        return _stepwise(parts)
    expression = re.compile("".join(parts), re.DOTALL)
    return lambda name: expression.fullmatch(name) is not None


def matches(pattern: str, path: str) -> bool:
    """Return whether a whole absolute path matches a whole pattern, component by component."""
    names = [part for part in path.split("/") if part]
    for alternative in expand(pattern):
        components = split(alternative)
        if len(components) == len(names) and all(
            compile_component(component)(name)
            for component, name in zip(components, names, strict=True)
        ):
            return True
    return False


def _parts(pattern: str) -> list[str]:
    """What one component consists of: a regular expression for each character, and the signs
    below for the rest."""
    out: list[str] = []
    depth = 0
    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "\\":
            if index == len(pattern):
                raise IllegalArgument(
                    f"Pattern {pattern!r} ends in a backslash that escapes nothing"
                )
            out.append(re.escape(pattern[index]))
            index += 1
        elif char == "*":
            if out[-1:] != [_RUN]:
                out.append(_RUN)
        elif char == "?":
            out.append(".")
        elif char == "[":
            text, index = _set(pattern, index)
            out.append(text)
        elif char == "{":
            depth += 1
            out.append(_OPEN)
        elif char == "}" and depth:
            depth -= 1
            out.append(_CLOSE)
        elif char == "," and depth:
            out.append(_OR)
        else:
            out.append(re.escape(char))
    if depth:
        raise IllegalArgument(f"Pattern {pattern!r} has an open brace")
    return out


def _stepwise(parts: list[str]) -> Callable[[str], bool]:
    """A test that follows all the ways through a pattern at once, so that its time is that of
    the pattern's length times the name's: an expression with many `*` or braces that tries one
    way after the other may take years."""
    ones = [None if part in _SIGNS else re.compile(part, re.DOTALL).fullmatch for part in parts]
    onward: list[tuple[int, ...]] = [(index + 1,) for index in range(len(parts))]
    # An opening brace leads to its alternatives, and what ends one of them behind the closing one.
    groups: list[tuple[int, list[int]]] = []
    for index, part in enumerate(parts):
        if part == _OPEN:
            groups.append((index, []))
        elif part == _OR:
            groups[-1][1].append(index)
        elif part == _CLOSE:
            start, commas = groups.pop()
            onward[start] = (start + 1, *(comma + 1 for comma in commas))
            for comma in commas:
                onward[comma] = (index,)

    def reached(waiting: list[int]) -> set[int]:
        """From these places, those at which a character is wanted, or the end."""
        seen: set[int] = set()
        while waiting:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                if place < len(parts) and ones[place] is None:
                    waiting += onward[place]
        return seen

    def test(name: str) -> bool:
        places = reached([0])
        for char in name:
            ahead: list[int] = []
            for place in places:
                if place == len(parts):
                    continue
                one = ones[place]
                if one is not None:
                    if one(char) is not None:
                        ahead.append(place + 1)
                elif parts[place] == _RUN:
                    ahead.append(place)
            if not ahead:
                return False
            places = reached(ahead)
        return len(parts) in places

    return test


def _set(pattern: str, index: int) -> tuple[str, int]:
    """The regular expression of the set that opened before `index`, and where it ends."""
    negated = index < len(pattern) and pattern[index] in "^!"
    if negated:
        index += 1
    members: list[str] = []
    while index < len(pattern):
        char = pattern[index]
        if char == "]" and members:
            return f"[{'^' if negated else ''}{''.join(members)}]", index + 1
        if char == "\\":
            index += 1
            if index == len(pattern):
                break
            char = pattern[index]
        index += 1
        if _is_range(pattern, index):
            last = pattern[index + 1]
            index += 2
            if last == "\\" and index < len(pattern):
                last = pattern[index]
                index += 1
            if last < char:
                raise IllegalArgument(f"Pattern {pattern!r} has a range that runs backwards")
            members.append(f"{re.escape(char)}-{re.escape(last)}")
        else:
            members.append(re.escape(char))
    raise IllegalArgument(f"Pattern {pattern!r} has an open bracket")


def _is_range(pattern: str, index: int) -> bool:
    return index + 1 < len(pattern) and pattern[index] == "-" and pattern[index + 1] != "]"
