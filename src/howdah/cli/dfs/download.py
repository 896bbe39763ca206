"""`-get` (`-copyToLocal`): from the cluster to local files.

`-crc` leaves a checksum file beside each copy, in the format of Hadoop's local
filesystem: `crc\\0`, the bytes per sum, a CRC-32 of every 512 bytes.
"""

from __future__ import annotations

import os
import struct

from howdah.cli.dfs.items import Item
from howdah.cli.dfs.options import Parsed
from howdah.cli.dfs.transfer import PIECE_BYTES, CopyCommand

BYTES_PER_SUM = 512
SUMS_MAGIC = b"crc\x00"


class Get(CopyCommand):
    FLAGS = ("f", "p", "crc", "ignoreCrc")

    def prepare(self, parsed: Parsed) -> list[str]:
        arguments = super().prepare(parsed)
        self._write_sums = "crc" in parsed
        self.take_destination(arguments, local=True)
        return arguments

    def copy_file(self, source: Item, target: Item) -> None:
        super().copy_file(source, target)
        if self._write_sums:
            write_sums(target.path)


def write_sums(path: str) -> None:
    """Write the checksum file of a local file."""
    from howdah.transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks

    spec = ChecksumSpec(ChecksumType.CRC32, BYTES_PER_SUM)
    directory, name = os.path.split(path)
    piece = bytearray(PIECE_BYTES)
    sums = bytearray(spec.sums_length(PIECE_BYTES))
    with (
        open(path, "rb", buffering=0) as content,
        open(os.path.join(directory, f".{name}.crc"), "wb") as out,
    ):
        out.write(SUMS_MAGIC + struct.pack(">i", BYTES_PER_SUM))
        filled = 0
        while count := content.readinto(memoryview(piece)[filled:]):
            filled += count
            if filled == PIECE_BYTES:
                out.write(memoryview(sums)[: checksum_chunks(spec, piece, sums)])
                filled = 0
        if filled:
            out.write(memoryview(sums)[: checksum_chunks(spec, memoryview(piece)[:filled], sums)])
