"""Answers to those who write files, as bytes (pure).

`CreateResponseProto` and `AddBlockResponseProto` (fields and numbers: hdfs.proto and
ClientNamenodeProtocol.proto of Hadoop), as the handlers of `create` and `addBlock` would write
them by protobuf, which takes a tenth and a fifth of these calls.
"""

from __future__ import annotations

from collections.abc import Iterable

from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.service.protocols.fast_path import file_status
from howdah.namenode.service.protocols.fast_path.located_block import located_block
from howdah.namenode.state.blocks.datanodes import Storage
from howdah.namenode.state.inodes import storage_policies
from howdah.namenode.state.inodes.inodes import Block, File
from howdah.protocol.varint import encode_field


class WrittenAnswers:
    """Of one namenode."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem
        self._tables = file_status.TablesNow(namesystem)

    def created(self, file: File) -> bytes | None:
        """The status of a file, as the answer to `create` has it. None for one of which there is
        more to tell than its row has."""
        if storage_policies.effective_id(file) or file.acl or file.coding_policy_id or file.xattrs:
            return None
        return file_status.file_status(file.inode_id, self._tables.now())

    def placed(self, block: Block, offset_bytes: int, places: Iterable[Storage]) -> bytes:
        """A new block with its places, in the order given."""
        block_bytes = located_block(
            self._namesystem.settings.block_pool_id,
            block.block_id,
            block.generation_stamp,
            block.length_bytes,
            offset_bytes,
            [(encoders.shown_bytes(storage.node), storage) for storage in places],
        )
        return encode_field(b"\x0a", block_bytes)
