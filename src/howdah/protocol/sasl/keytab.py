"""The principals of a keytab, for messages and for logins that name none. Keys are passed over.

MIT's format: `05 02`, then entries with their length in front, negative for a hole. An entry has
the number of components, the realm, the components, and what is not read here.
"""

from __future__ import annotations

import struct
from typing import Final

from howdah import errors

MAGIC: Final = b"\x05\x02"
_SIZE: Final = struct.Struct(">i")
_COUNT: Final = struct.Struct(">H")


def principals_in(data: bytes) -> tuple[str, ...]:
    """Each principal once, in their order. Raises LoginFailed for what is no keytab."""
    if not data.startswith(MAGIC):
        raise errors.LoginFailed("this is not a keytab")
    found: list[str] = []
    position = len(MAGIC)
    try:
        while len(data) - position >= _SIZE.size:
            (size,) = _SIZE.unpack_from(data, position)
            position += _SIZE.size
            if size > 0:
                name = _principal(data[position : position + size])
                if name not in found:
                    found.append(name)
            position += abs(size)
    except (struct.error, UnicodeDecodeError):
        raise errors.LoginFailed("this is not a keytab, or a damaged one") from None
    return tuple(found)


def _principal(entry: bytes) -> str:
    (count,) = _COUNT.unpack_from(entry, 0)
    position, texts = _COUNT.size, list[str]()
    for _ in range(count + 1):
        (length,) = _COUNT.unpack_from(entry, position)
        start = position + _COUNT.size
        position = start + length
        if position > len(entry):
            raise struct.error
        texts.append(entry[start:position].decode())
    realm, *components = texts
    return f"{'/'.join(components)}@{realm}"
