"""The checksum of a whole file, made of what datanodes say of its blocks.

Mirrors Hadoop's two ways (`dfs.checksum.combine.mode`), so that equal content
written by anybody gives the checksum that `hadoop fs -checksum` prints:

- MD5MD5CRC: a datanode gives the MD5 of a block's chunk CRCs; the file's checksum is
  the MD5 over those, and depends on chunk and block size, which its name tells. Hadoop
  hashes the buffer that holds the block MD5s, unused room at its end included, and
  since other clients' checksums are compared with ours, so do we: that buffer has 32
  bytes and doubles when it is full.
- COMPOSITE_CRC: a datanode gives the CRC of a block's bytes; they are joined to that of
  the file's bytes, whatever chunks and blocks they came in.

Of an erasure coded file the blocks are block groups, and any datanode of one asks the others: its
MD5 is one over those of the data blocks, so equal bytes have another MD5MD5CRC by each policy, and
the same COMPOSITE_CRC.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.protocol.data_transfer.blocks import NO_TOKEN, DatanodeAddress
from howdah.protocol.data_transfer.checksum import ChecksumType, combine
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    BlockChecksumType,
    BlockGroupChecksum,
    encode_request,
)
from howdah.protocol.data_transfer.responses import BlockChecksumResult, read_response
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.striping.policies import Policy

MD5MD5CRC = "MD5MD5CRC"
COMPOSITE_CRC = "COMPOSITE_CRC"
_FIRST_BUFFER_BYTES = 32
_WHOLE_FILE = (1 << 63) - 1
_SNAPSHOTS = "/.snapshot/"


@dataclass(frozen=True, slots=True)
class CombinedChecksum:
    """A file's checksum: the algorithm's name and the bytes, as Hadoop gives them."""

    algorithm: str
    value: bytes


def combine_md5(results: list[BlockChecksumResult]) -> CombinedChecksum:
    """MD5-of-…MD5-of-…CRC32C from the MD5 of each block, in order (pure)."""
    first = results[0] if results else None
    bytes_per_crc = first.bytes_per_crc if first else 0
    # With one block nobody can tell how many CRCs a full one has.
    crc_per_block = first.crc_per_block if first and len(results) > 1 else 0
    kind = ChecksumType.CRC32 if first is None else _kind_of(first)
    joined = b"".join(result.checksum for result in results)
    size = _FIRST_BUFFER_BYTES
    while size < len(joined):
        size *= 2
    digest = hashlib.md5(joined.ljust(size, b"\0"), usedforsecurity=False).digest()
    value = struct.pack(">iq", bytes_per_crc, crc_per_block) + digest
    return CombinedChecksum(
        f"MD5-of-{crc_per_block}MD5-of-{bytes_per_crc}{kind.name}",
        # Its bytes are given out by Hadoop with such a buffer's unused room as well.
        value.ljust(_FIRST_BUFFER_BYTES, b"\0"),
    )


def _kind_of(result: BlockChecksumResult) -> ChecksumType:
    """Datanodes that leave it out have a block without CRCs."""
    return ChecksumType.NULL if result.crc_type is None else result.crc_type


def combine_crc(
    path: str, results: list[BlockChecksumResult], lengths: list[int]
) -> CombinedChecksum:
    """COMPOSITE-CRC32C from the CRC and length of each block, in order (pure)."""
    kinds = {_kind_of(result) for result in results}
    kind = kinds.pop()
    if kinds or kind is ChecksumType.NULL:
        raise errors.RemoteError(f"The blocks of {path} have CRCs that cannot be combined")
    crc = 0
    for result, length in zip(results, lengths, strict=True):
        crc = combine(kind, crc, int.from_bytes(result.checksum, "big"), length)
    return CombinedChecksum(f"COMPOSITE-{kind.name}", crc.to_bytes(4, "big"))


def _request_of(
    block: LocatedBlock, policy: Policy | None, kind: BlockChecksumType
) -> BlockChecksum | BlockGroupChecksum:
    members = block.members
    if policy is None or members is None:
        return BlockChecksum(block.block, kind, token=block.token)
    return BlockGroupChecksum(
        block.block.with_length(members.length_bytes),
        block.nodes,
        members.indices,
        policy,
        block.length_bytes,
        kind,
        tokens=members.tokens or (NO_TOKEN,) * len(members.indices),
        token=block.token,
    )


class FileChecksumReader:
    """Asks one datanode a block; the next one where that fails."""

    def __init__(
        self,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        connect: ConnectsData = connect_plain,
    ) -> None:
        self._namenode = namenode
        self._settings = settings
        self._connect = connect

    def read(self, path: str, length: int | None, combine_mode: str) -> CombinedChecksum | None:
        """The checksum of the file, or of its first `length` bytes.

        None where there is none: blocks without CRCs, or with CRCs of two kinds. Raises
        FileIsOpen while somebody writes the file.
        """
        if combine_mode not in (MD5MD5CRC, COMPOSITE_CRC):
            raise errors.IllegalArgument(
                f"{combine_mode!r} is no way to combine checksums: "
                f"{MD5MD5CRC} or {COMPOSITE_CRC} (dfs.checksum.combine.mode)"
            )
        blocks, policy = self._blocks(path, _WHOLE_FILE if length is None else length)
        kind = (
            BlockChecksumType.MD5CRC
            if combine_mode == MD5MD5CRC
            else BlockChecksumType.COMPOSITE_CRC
        )
        results: list[BlockChecksumResult] = []
        for block in blocks:
            try:
                results.append(self._block_checksum(path, block, policy, kind))
            except errors.UnsupportedOperation:
                result = self._block_checksum(path, block, policy, BlockChecksumType.MD5CRC)
                if _kind_of(result) is ChecksumType.NULL:
                    return None
                raise
        if not results:
            return combine_md5(results)
        kinds = {_kind_of(result) for result in results}
        if len(kinds) > 1 or kinds == {ChecksumType.NULL}:
            return None
        if combine_mode == COMPOSITE_CRC:
            return combine_crc(path, results, [block.length_bytes for block in blocks])
        sizes = {result.bytes_per_crc for result in results}
        if len(sizes) > 1:
            raise errors.RemoteError(
                f"The blocks of {path} have checksums over {sorted(sizes)} bytes, "
                f"which only {COMPOSITE_CRC} can combine"
            )
        return combine_md5(results)

    def _blocks(self, path: str, length: int) -> tuple[list[LocatedBlock], Policy | None]:
        """The blocks that hold the first `length` bytes, the last one cut to size; block groups
        where there is a policy."""
        blocks: list[LocatedBlock] = []
        policy: Policy | None = None
        offset = 0
        while offset < length:
            batch = self._namenode.get_block_locations(path, offset, length - offset)
            policy = batch.erasure_coding_policy
            if batch.under_construction and _SNAPSHOTS not in path:
                # What is complete of it would look like the sum of the whole.
                raise errors.FileIsOpen(
                    f"Fail to get checksum, since file {path} is under construction."
                ).about(path)
            if _SNAPSHOTS in path:
                # The last block may have grown since.
                length = min(length, batch.file_length)
            new = [block for block in batch.blocks if block.offset >= offset]
            if not new:
                break
            blocks += new
            offset = blocks[-1].end
        if blocks and blocks[-1].end > length:
            last = blocks[-1]
            blocks[-1] = last.with_block(last.block.with_length(length - last.offset))
        return blocks, policy

    def _block_checksum(
        self, path: str, block: LocatedBlock, policy: Policy | None, kind: BlockChecksumType
    ) -> BlockChecksumResult:
        request = _request_of(block, policy, kind)
        reasons: list[str] = []
        unsupported = 0
        for node in block.nodes:
            try:
                return self._fetch_checksum(node, request)
            except (errors.HowdahError, OSError) as error:
                unsupported += isinstance(error, errors.UnsupportedOperation)
                reasons.append(f"{node}: {error}")
        if unsupported == len(reasons) > 0:
            raise errors.UnsupportedOperation(
                f"{kind.name} of block {block.block.name} of {path}: {'; '.join(reasons)}"
            ).about(path)
        raise errors.BlockMissing(
            f"No datanode could sum block {block.block.name} of {path}: "
            f"{'; '.join(reasons) or 'no datanode has a live replica'}"
        )

    def _fetch_checksum(
        self, node: DatanodeAddress, request: BlockChecksum | BlockGroupChecksum
    ) -> BlockChecksumResult:
        # The datanode reads the whole block's sums before it answers.
        with self._connect(
            node.connect_to(use_hostname=self._settings.use_datanode_hostname),
            request.token,
            connect_timeout_s=self._settings.socket_timeout_s,
            read_timeout_s=self._settings.socket_timeout_s,
            write_timeout_s=self._settings.write_timeout_s,
        ) as connection:
            connection.send_all(encode_request(request))
            response = read_response(connection)
        if response.status is Status.ERROR_UNSUPPORTED:
            raise errors.UnsupportedOperation(response.message or "not supported there")
        if not response.is_success or response.block_checksum is None:
            raise errors.RemoteError(response.message or response.status.name)
        if response.block_checksum.checksum_type != request.checksum_type:
            raise errors.UnsupportedOperation(
                f"the datanode cannot give {request.checksum_type.name}"
            )
        return response.block_checksum
