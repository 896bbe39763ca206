"""The head of a replica's meta file (pure): BlockMetadataHeader in Hadoop.

Seven bytes, big-endian: version 1 (2 bytes), checksum type (1), bytes per checksum (4). The
checksums of the block's chunks follow. A datanode writes it; a client that reads the files
of a replica on its own machine goes by it.
"""

from __future__ import annotations

import struct

from howdah import errors
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType

META_VERSION = 1
META_HEADER_BYTES = 7
_META_HEADER = struct.Struct(">hBi")


def encode_meta_header(spec: ChecksumSpec) -> bytes:
    return _META_HEADER.pack(META_VERSION, spec.type, spec.bytes_per_checksum)


def decode_meta_header(data: bytes) -> ChecksumSpec:
    """The checksum of a meta file; `ChecksumMismatch` if this isn't a meta header."""
    if len(data) < META_HEADER_BYTES:
        raise errors.ChecksumMismatch(f"a meta file of {len(data)} bytes has no whole header")
    version, kind, bytes_per_checksum = _META_HEADER.unpack_from(data)
    if version != META_VERSION:
        raise errors.ChecksumMismatch(f"a meta file of version {version}, not {META_VERSION}")
    try:
        return ChecksumSpec(ChecksumType(kind), bytes_per_checksum)
    except ValueError as error:
        raise errors.ChecksumMismatch(f"a meta file with a bad header: {error}") from error
