"""What users and groups may be called in a request, as it is configured (pure).

Hadoop's `UserParam` and `AclPermissionParam`. Their keys have patterns of Java, which differ from
Python's where a class is within a class: that is a class with both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNION: Final = re.compile(r"(?<!\\)\[((?:\[[^\[\]^][^\[\]]*\])+)\]")
_CLASS: Final = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class Domain:
    """The values of a parameter; `text` is the pattern as it is configured."""

    text: str
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> Domain:
        """Raises ValueError for what is no pattern."""
        try:
            return cls(text, re.compile(_UNION.sub(_joined, text)))
        except re.error as error:
            raise ValueError(f"{text!r} is no pattern: {error}") from error

    def read(self, value: str) -> str:
        """Raises ValueError for a value that does not belong to it."""
        if self.pattern.fullmatch(value) is None:
            raise ValueError(f'Invalid value: "{value}" does not belong to the domain {self.text}')
        return value


def _joined(match: re.Match[str]) -> str:
    """Return `[[A-Z_][0-9-]]` as one class. A dash at an end means itself: no range to what
    follows."""
    parts = _CLASS.findall(match[1])
    return "[" + "".join(re.sub(r"^-|(?<!\\)-$", r"\\-", part) for part in parts) + "]"


@dataclass(frozen=True, slots=True)
class Patterns:
    """The domains of `user.name` and `aclspec`."""

    user: Domain
    acl: Domain
