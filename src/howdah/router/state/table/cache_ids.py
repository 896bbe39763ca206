"""Ids of cache directives of several nameservices as one sequence (pure).

Every namenode counts its directives from 1. A router's id has the nameservice in its upper bits,
by a checksum of the name, so that all routers give the same directive the same id, and one that
is changed or removed is that of no other nameservice. (A router of Hadoop hands on the id as it
is, and removes what has it in every nameservice.)
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Sequence
from typing import Final

from howdah import errors

OWN_BITS: Final = 48
_OWN: Final = (1 << OWN_BITS) - 1
_TAGS: Final = (1 << 15) - 1


def tag(nameservice: str) -> int:
    """From 1 to 32767: with the bits below it no id is larger than an int64."""
    return 1 + zlib.crc32(nameservice.encode()) % _TAGS


def in_order(nameservices: Iterable[str]) -> list[str]:
    """Return the nameservices in the order in which their directives are listed.

    Raises UnsupportedOperation for two whose ids would be alike.
    """
    ordered = sorted(nameservices, key=tag)
    for one, other in itertools.pairwise(ordered):
        if tag(one) == tag(other):
            raise errors.UnsupportedOperation(
                f"cache directives of nameservices {one} and {other} would have the same ids at "
                f"a router: one of them has to be renamed"
            )
    return ordered


def routers_id(nameservice: str, own_id: int) -> int:
    """Raises UnsupportedOperation for an id that no namenode comes to by counting."""
    if not 0 < own_id <= _OWN:
        raise errors.UnsupportedOperation(
            f"cache directive {own_id} of nameservice {nameservice} has an id above {_OWN}, "
            f"which a router cannot tell from those of others"
        )
    return tag(nameservice) << OWN_BITS | own_id


def own_id(directive_id: int) -> int:
    """The id at its namenode."""
    return directive_id & _OWN


def nameservice_of(directive_id: int, nameservices: Sequence[str]) -> str | None:
    """Return the nameservice that has a directive; None if none here has it."""
    wanted = directive_id >> OWN_BITS
    return next(
        (nameservice for nameservice in in_order(nameservices) if tag(nameservice) == wanted), None
    )
