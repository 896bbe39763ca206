"""Which blocks a file has and where they are, fetched in batches (FS-087, FS-095).

`BlockMap` is the pure part: blocks by offset, filled batch by batch. `FileLocations`
asks the namenode for what is missing, and settles how long a file is that somebody is
still writing: its last block's length is known to the datanodes only.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Iterable

from howdah import errors
from howdah.client.blocks import LocatedBlock, LocatedBlocks
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings import ClientSettings
from howdah.proto import client_datanode_pb2
from howdah.rpc.client import RpcClient
from howdah.transfer.blocks import DatanodeAddress

CLIENT_DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
BATCH_BLOCKS = 10


class BlockMap:
    """Blocks of one file, by their offset; newer information replaces older."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._blocks: list[LocatedBlock] = []

    def add(self, blocks: Iterable[LocatedBlock]) -> None:
        for block in blocks:
            index = bisect.bisect_left(self._offsets, block.offset)
            if index < len(self._offsets) and self._offsets[index] == block.offset:
                self._blocks[index] = block
            else:
                self._offsets.insert(index, block.offset)
                self._blocks.insert(index, block)

    def find(self, offset: int) -> LocatedBlock | None:
        """The block that holds the byte at `offset`, if it is known."""
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index < 0 or offset >= self._blocks[index].end:
            return None
        return self._blocks[index]


class FileLocations:
    """The blocks of one open file. Thread-safe.

    `length` is what was readable when the file was opened, or last refreshed.
    """

    def __init__(
        self, path: str, namenode: NamenodeProxy, settings: ClientSettings, block_size: int
    ) -> None:
        self.path = path
        self._namenode = namenode
        self._settings = settings
        self._batch_bytes = settings.prefetch_bytes or BATCH_BLOCKS * block_size
        self._lock = threading.Lock()
        self._map = BlockMap()
        self.length = 0
        self.under_construction = False
        self.reopen()

    def reopen(self) -> None:
        """Fetch the first batch, and the length, anew."""
        first = self._namenode.get_block_locations(self.path, 0, self._batch_bytes)
        _refuse_what_cannot_be_read(self.path, first)
        last = first.last_block
        length = first.file_length
        known = list(first.blocks)
        if last is not None and not first.last_block_complete:
            last = last.with_block(last.block.with_length(self._length_at_datanodes(last)))
            length = last.end
            known = [block for block in known if block.offset != last.offset]
            if last.length_bytes:
                known.append(last)
        with self._lock:
            self._map = BlockMap()
            self._map.add(known)
            self._growing = last if last is not None and not first.last_block_complete else None
            self.length = length
            self.under_construction = first.under_construction

    def block_at(self, offset: int) -> LocatedBlock:
        """The block that holds `offset`, which must be below the length."""
        with self._lock:
            block = self._map.find(offset)
        if block is None:
            block = self.refresh(offset)
        return block

    def refresh(self, offset: int) -> LocatedBlock:
        """Ask the namenode again for the batch that begins at `offset`."""
        batch = self._namenode.get_block_locations(self.path, offset, self._batch_bytes)
        known = list(batch.blocks)
        growing = self._growing
        if growing is not None:
            # Its length came from the datanodes; the namenode doesn't know it.
            known = [
                block.with_block(block.block.with_length(growing.length_bytes))
                if block.block.block_id == growing.block.block_id
                and block.length_bytes < growing.length_bytes
                else block
                for block in [*known, *([batch.last_block] if batch.last_block else [])]
            ]
        with self._lock:
            self._map.add(known)
            block = self._map.find(offset)
        if block is None:
            raise errors.BlockMissing(
                f"{self.path}: the namenode knows no block for offset {offset}, "
                f"though the file had {self.length} bytes"
            )
        return block

    # --- a file that is being written -----------------------------------------------

    def _length_at_datanodes(self, block: LocatedBlock) -> int:
        """How much of a block under construction every reader may see."""
        if not block.nodes:
            # Allocated, but no datanode has reported it yet.
            return block.length_bytes
        for attempt in range(max(self._settings.last_block_length_retries, 1)):
            if attempt:
                time.sleep(self._settings.last_block_length_delay_s)
            tried: list[str] = []
            missing = 0
            for node in block.nodes:
                try:
                    return self._visible_length(node, block)
                except errors.ReplicaNotFound as error:
                    missing += 1
                    tried.append(f"{node}: {error}")
                except (errors.HowdahError, OSError) as error:
                    tried.append(f"{node}: {error}")
            if missing == len(block.nodes):
                # The pipeline isn't open yet, or its first bytes aren't there.
                return block.length_bytes
        raise errors.BlockMissing(
            f"Cannot obtain the length of {block.block.name}, the last block of {self.path}, "
            f"which is being written: {'; '.join(tried)}"
        )

    def _visible_length(self, node: DatanodeAddress, block: LocatedBlock) -> int:
        host = node.hostname if self._settings.use_datanode_hostname else node.ip
        rpc = RpcClient(
            (host, node.ipc_port),
            CLIENT_DATANODE_PROTOCOL,
            user=self._namenode.user,
            connect_timeout_s=min(self._settings.connect_timeout_s, 20.0),
            call_timeout_s=self._settings.socket_timeout_s,
        )
        try:
            return rpc.call(
                "getReplicaVisibleLength",
                client_datanode_pb2.GetReplicaVisibleLengthRequestProto(
                    block=block.block.to_proto()
                ),
                client_datanode_pb2.GetReplicaVisibleLengthResponseProto,
            ).length
        finally:
            rpc.close()


def _refuse_what_cannot_be_read(path: str, blocks: LocatedBlocks) -> None:
    if blocks.erasure_coding_policy is not None:
        raise errors.UnsupportedOperation(
            f"{path} is erasure coded ({blocks.erasure_coding_policy}), which is not read here"
        )
    if blocks.encrypted:
        raise errors.UnsupportedOperation(
            f"{path} is in an encryption zone, which is not read here"
        )
