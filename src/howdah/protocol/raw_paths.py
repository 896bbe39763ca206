"""Below `/.reserved/raw` the superuser has the whole tree once more, with cipher text where files
are encrypted, and with the attributes that say how (pure)."""

from __future__ import annotations

from typing import Final

RESERVED_RAW: Final = "/.reserved/raw"
ZONE_ATTRIBUTE: Final = "raw.hdfs.crypto.encryption.zone"
"""Of a directory, as clients name it: makes it a zone."""


def is_raw(path: str) -> bool:
    """Whether a path is there.

    >>> is_raw("/.reserved/raw/a"), is_raw("/.reserved/rawer")
    (True, False)
    """
    return path == RESERVED_RAW or path.startswith(RESERVED_RAW + "/")
