"""The order in which Hadoop keeps names (pure).

Hadoop looks names up by bisection, in lists that are ordered by the names' UTF-8
bytes, taken as Java takes bytes: from -128 to 127. So a name that begins with `é`
comes before `a`. It does not sort such a list when it reads an image: there, every
list has to have that order, or it does not find what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_SIGNED: Final = bytes(byte ^ 0x80 for byte in range(256))


def name_key(name: str) -> bytes:
    """What to sort by."""
    return name.encode("utf-8", "surrogatepass").translate(_SIGNED)


def in_order(names: Iterable[str]) -> list[str]:
    """Return the names in Hadoop's order; quick where all are ASCII, as most are."""
    ordered = sorted(names)
    # A name that is not ASCII holds a character beyond it; so does what is joined.
    return ordered if "".join(ordered).isascii() else sorted(ordered, key=name_key)
