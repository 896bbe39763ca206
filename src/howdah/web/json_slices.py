"""JSON of many things, a slice at a time (pure).

The encoder of Python's `json` is one call of C that lets no other thread run until it ends: of ten
thousand datanodes that is 32 ms, in which a namenode's loop stands. Between slices it has its
turn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

SLICE: Final = 50


def object_of(things: Sequence[T], member: Callable[[T], tuple[str, object]]) -> str:
    """An object with the name and the value that `member` says of each, as `json.dumps` writes it.

    >>> object_of([1, 2], lambda number: (str(number), number))
    '{"1": 1, "2": 2}'
    """
    return "{" + ", ".join(_slices(things, lambda part: dict(map(member, part)))) + "}"


def list_of(things: Sequence[T], shown: Callable[[T], object]) -> str:
    """Return a list of what `shown` returns for each thing, as `json.dumps` writes it.

    >>> list_of([1, 2], str)
    '["1", "2"]'
    """
    return "[" + ", ".join(_slices(things, lambda part: [shown(thing) for thing in part])) + "]"


def _slices(things: Sequence[T], made: Callable[[Sequence[T]], object]) -> list[str]:
    """What is between the brackets, of each slice."""
    return [
        json.dumps(made(things[first : first + SLICE]))[1:-1]
        for first in range(0, len(things), SLICE)
    ]
