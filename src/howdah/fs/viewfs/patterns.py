r"""Links whose mount points are a regular expression, `linkRegex` (pure).

Mirrors org.apache.hadoop.fs.viewfs.RegexMountPoint. The key is
`linkRegex.EXPRESSION` or `linkRegex.INTERCEPTORS#.EXPRESSION`; the value is a URI with
`$name`, `${name}` and `$1` for the groups of the expression. What the expression finds in a
path (to the end of its last finding) is the mount point, what follows is looked for below
the target. An interceptor `replaceresolveddstpath:EXPRESSION:TEXT` changes the target
afterwards; several stand one behind the other with `;` between them.

Expressions are Java's. What Python reads otherwise, or not at all, is refused by name:
`\p{…}`, `\Q…\E`, `\Z`, `\z`, `\G`, classes within classes and their `&&`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from howdah import errors
from howdah.fs import paths
from howdah.fs.viewfs.mount_table import Link

SEPARATOR: Final = "#."
_REPLACE: Final = "replaceresolveddstpath"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
_NAMED_GROUP = re.compile(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_NAMED_REFERENCE = re.compile(r"\\k<([A-Za-z][A-Za-z0-9]*)>")
_UNLIKE_PYTHON = re.compile(
    r"\\[pPQEZzGhHRXN]|&&|\[[^\]\\]*(?<!\[)\[(?!\^?\])|\(\?[a-zA-Z]*[dUux][a-zA-Z]*[:)-]"
)
_GROUP_IN_REPLACEMENT = re.compile(r"\\(.)|\$(?:\{([A-Za-z][A-Za-z0-9]*)\}|(\d))")


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replaces every match in the resolved target: an interceptor."""

    expression: re.Pattern[str]
    text: str

    def apply(self, target: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            def group(variable: re.Match[str]) -> str:
                literal, name, number = variable.groups()
                if literal is not None:
                    return str(literal)
                return match[name or int(number)] or ""

            return _GROUP_IN_REPLACEMENT.sub(group, self.text)

        return self.expression.sub(replaced, target)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Describes one link by regular expression."""

    key: str
    expression: re.Pattern[str]
    target: str
    replacements: tuple[Replacement, ...] = ()

    def match(self, path: str) -> tuple[str, Link] | None:
        """Return the part of the path that is the mount point, and the link that results; None
        where the expression does not match."""
        first = last = None
        for match in self.expression.finditer(path):
            first = first or match
            last = match
        if first is None or last is None:
            return None
        groups = first

        def value(variable: re.Match[str]) -> str:
            name = variable[1] or variable[2]
            text = groups[int(name) if name.isdigit() else name]
            return variable[0] if text is None else text

        target = _VARIABLE.sub(value, self.target)
        for replacement in self.replacements:
            target = replacement.apply(target)
        mount = path[: last.end()]
        return mount, Link(mount, (_location(target, self.key, path),), self.key)


def parse(key: str, written: str, target: str) -> Pattern:
    """Read a link from the part of its key after `linkRegex.`, and its value.

    Raises InvalidConfiguration, or UnsupportedOperation for a Java expression that Python reads
    differently.
    """
    settings, separator, expression = written.partition(SEPARATOR)
    if not separator:
        settings, expression = "", written
    compiled = compile_java(expression, key)
    for variable in _VARIABLE.finditer(target):
        name = variable[1] or variable[2]
        known = int(name) <= compiled.groups if name.isdigit() else name in compiled.groupindex
        if not known:
            raise errors.InvalidConfiguration(
                f"{key} = {target!r}: the expression {expression!r} has no group {name!r}"
            )
    replacements = tuple(_replacement(key, setting) for setting in settings.split(";") if setting)
    return Pattern(key, compiled, target, replacements)


def _replacement(key: str, settings: str) -> Replacement:
    kind, *parts = settings.split(":")
    if kind.lower() != _REPLACE or len(parts) != 2:
        raise errors.InvalidConfiguration(
            f"{key}: Illegal settings String {settings}: an interceptor is "
            f"{_REPLACE}:EXPRESSION:TEXT"
        )
    expression = compile_java(parts[0], key)
    for variable in _GROUP_IN_REPLACEMENT.finditer(parts[1]):
        _, name, number = variable.groups()
        if (name and name not in expression.groupindex) or (
            number and int(number) > expression.groups
        ):
            raise errors.InvalidConfiguration(
                f"{key}: the expression {parts[0]!r} has no group {variable[0]!r}"
            )
    return Replacement(expression, parts[1])


def compile_java(expression: str, key: str) -> re.Pattern[str]:
    """A regular expression of Java's, as far as Python means the same by it."""
    unlike = _UNLIKE_PYTHON.search(expression)
    if unlike is not None:
        raise errors.UnsupportedOperation(
            f"{key}: {unlike[0]!r} of Java's regular expressions is not supported"
        )
    python = _NAMED_GROUP.sub(r"(?P<\1>", expression)
    python = _NAMED_REFERENCE.sub(r"(?P=\1)", python)
    try:
        # \w, \d and \s are ASCII's in Java.
        return re.compile(python, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise errors.InvalidConfiguration(
            f"{key}: Failed to initialized mount point due to bad src path regex:{expression}: "
            f"{error}"
        ) from error


def _location(target: str, key: str, path: str) -> paths.Location:
    location = paths.parse(target)
    if not location.is_qualified:
        raise errors.InvalidConfiguration(
            f"{key} leads from {path} to {target!r}, which is no URI of a filesystem"
        )
    return paths.Location(location.scheme, location.authority, paths.normalize(location.path))
