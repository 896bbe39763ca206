"""Keys and names of blobs (pure).

A key that ends with a slash is a directory's marker. Hadoop's filesystems write it as a blob
without the slash, whose metadata say that it is a directory, and so do we: WASB, ABFS and the
clients of Microsoft see one tree with us.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

FOLDER: Final = "hdi_isfolder"
"""Metadata of a blob that is a directory."""
WRITER: Final = "howdahwriter"
"""Metadata by which a stream knows its own blob again."""
CRC32C: Final = "howdahcrc32c"
"""Metadata: the CRC32C of all bytes, in hexadecimal. The service keeps none itself."""


def blob_of(key: str) -> str:
    return key.removesuffix("/")


def is_marker(key: str) -> bool:
    return key.endswith("/")


def is_folder(metadata: Mapping[str, str]) -> bool:
    """Return whether the metadata of a blob, with names in any case, marks a folder."""
    lowered = {name.lower(): value for name, value in metadata.items()}
    return lowered.get(FOLDER, "").lower() == "true"


def crc_of(metadata: Mapping[str, str]) -> int | None:
    try:
        return int(metadata.get(CRC32C, ""), 16)
    except ValueError:
        return None


def encoded(blob: str) -> str:
    """A blob's name within the path of a request."""
    return quote(blob, safe="/~")
