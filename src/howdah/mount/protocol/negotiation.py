"""The first request of all: version and features (pure).

The kernel says what it can do, the filesystem what of it is to be used. Kernels of another major
version are offered ours, and ask again.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from howdah.mount.protocol.operations import Feature
from howdah.mount.protocol.requests import Init, Malformed

MAJOR: Final = 7
MINOR: Final = 31
"""Of Linux 5.4, and of all later ones."""
_ANSWER: Final = struct.Struct("=IIIIHHIIHHI28x")
_PAGE_BYTES: Final = 4096
MAX_WRITE_BYTES: Final = 1 << 20
"""The longest WRITE."""
MAX_READ_BYTES: Final = MAX_WRITE_BYTES
"""The longest READ: so many pages go into a request."""
MAX_READAHEAD_BYTES: Final = 8 << 20
_MAX_BACKGROUND: Final = 64
"""So many requests that no process waits for, such as those of reading ahead, are under way."""
_CONGESTION: Final = 48
_TIME_UNIT_NS: Final = 1_000_000
WANTED: Final = (
    Feature.ASYNC_READ
    | Feature.ATOMIC_O_TRUNC
    | Feature.BIG_WRITES
    | Feature.AUTO_INVAL_DATA
    | Feature.DO_READDIRPLUS
    | Feature.PARALLEL_DIROPS
    | Feature.MAX_PAGES
    | Feature.HANDLE_KILLPRIV_V2
)
NEEDED: Final = Feature.ATOMIC_O_TRUNC | Feature.BIG_WRITES
BUFFER_BYTES: Final = MAX_WRITE_BYTES + _PAGE_BYTES
"""The longest request, with its header."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """What both sides do from now on; no features yet, if the kernel has to ask again."""

    features: Feature
    answer: bytes
    is_final: bool


def negotiate(init: Init) -> Agreed:
    """Raises Malformed for a kernel that is too old."""
    if init.major > MAJOR:
        return Agreed(Feature(0), _packed(0, Feature(0)), is_final=False)
    if init.major < MAJOR or init.minor < MINOR:
        raise Malformed(
            f"the kernel speaks version {init.major}.{init.minor} of FUSE's protocol, and "
            f"{MAJOR}.{MINOR} is needed (Linux 5.4)"
        )
    missing = NEEDED & ~Feature(init.flags & WANTED)
    if missing:
        raise Malformed(f"the kernel lacks what is needed: {missing!r}")
    features = Feature(init.flags & WANTED)
    readahead_bytes = min(init.max_readahead_bytes, MAX_READAHEAD_BYTES)
    return Agreed(features, _packed(readahead_bytes, features), is_final=True)


def _packed(readahead_bytes: int, features: Feature) -> bytes:
    return _ANSWER.pack(
        MAJOR,
        MINOR,
        readahead_bytes,
        int(features),
        _MAX_BACKGROUND,
        _CONGESTION,
        MAX_WRITE_BYTES,
        _TIME_UNIT_NS,
        MAX_READ_BYTES // _PAGE_BYTES,
        0,
        0,
    )
