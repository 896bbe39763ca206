"""Which blocks a file has and where they are, fetched in batches (FS-087, FS-095).

`FileLocations` asks the namenode for what `howdah.client.state.reading.block_map` doesn't know yet,
and settles at opening how long the file is. Of a file that somebody is still writing,
the length of the last block is known to the datanodes only; any of them may be asked,
for each tells no more than what every node of its pipeline has. Mirrors what Hadoop's
DFSInputStream does when it opens a file:

- a block of which the namenode knows no byte and no datanode has a replica was just
  allocated, and counts nothing;
- one that nobody can tell the length of now is asked for again a few times
  (`dfs.client.retry.times.get-last-block-length`), from the namenode on, since a
  datanode may just be reporting its replicas;
- one whose replicas all wait for recovery has no length before that has happened,
  which may take as long as a lease: `CannotObtainBlockLength` says so at once.

Better than Hadoop: where the namenode knows of bytes, from an earlier sync or from
before an append, a block without replicas is an error and not an empty block, and a
datanode that shows fewer bytes, since it lost its power, is not believed.
"""

from __future__ import annotations

import logging
import threading
import time

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.client.state.reading.block_map import BlockMap
from howdah.proto import client_datanode_pb2
from howdah.protocol.data_transfer.blocks import BlockToken, DatanodeAddress, signed64
from howdah.rpc.client import RpcClient
from howdah.runtime.tracing.span import NOTHING, Span
from howdah.runtime.users.names import ProvenUser

CLIENT_DATANODE_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientDatanodeProtocol"
BATCH_BLOCKS = 10
DEFAULT_BLOCK_BYTES = 128 * 1024 * 1024

_log = logging.getLogger(__name__)


class _NotYet(Exception):
    """The length of the last block can't be told now, but maybe in a moment."""


class FileLocations:
    """Keeps the blocks of one open file. Thread-safe.

    `length` is what was readable when the file was opened; it doesn't change. `policy` is that of
    an erasure coded file, whose blocks are block groups. Of such a file that is being written the
    groups are readable that are finished.
    """

    def __init__(
        self, path: str, namenode: NamenodeProxy, settings: ClientSettings, span: Span = NOTHING
    ) -> None:
        """What it asks is below `span` in a trace."""
        self.path = path
        self._span = span
        self._namenode = namenode
        self._settings = settings
        # Hadoop's ten blocks are of the size that the client is configured with, whatever
        # size the file's have: so opening needs to ask the namenode for nothing else.
        self._batch_bytes = settings.prefetch_bytes or BATCH_BLOCKS * (
            settings.block_size or DEFAULT_BLOCK_BYTES
        )
        self._lock = threading.Lock()
        self._fetching = threading.Lock()
        with span.current():
            first, growing = self._first_batch()
        known = list(first.blocks)
        length = first.file_length
        if growing is not None:
            length = growing.end
            known = [block for block in known if block.offset != growing.offset]
            known.append(growing)
        self.length = length
        self.policy = first.erasure_coding_policy
        self.key = first.key
        self.under_construction = first.under_construction
        self._map = BlockMap(path, length)
        self._map.add(known)

    def forked(self) -> None:
        """A child's copy has locks of its own; the parent's may be held during a call."""
        self._lock = threading.Lock()
        self._fetching = threading.Lock()

    # --- looking up -------------------------------------------------------------------

    def block_at(self, offset: int) -> LocatedBlock:
        """The block that holds `offset`, which must be below the length."""
        with self._lock:
            block = self._map.find(offset)
        if block is not None:
            return block
        # Readers of the same batch wait for the first of them.
        with self._fetching:
            with self._lock:
                block = self._map.find(offset)
            return self.refresh(offset) if block is None else block

    def refresh(self, offset: int) -> LocatedBlock:
        """Ask the namenode again for the batch that holds `offset`.

        `FileChanged` when the path has become another file, or a shorter one;
        `PathNotFound` when it is gone.
        """
        with self._lock:
            overlaps = self._map.find(offset) is not None
            # One byte of the block before, if that is known: it must still be the same.
            before = int(not overlaps and offset > 0 and self._map.find(offset - 1) is not None)
            other = None if overlaps or before else self._map.first()
        batch = self._fetch(offset - before, self._batch_bytes + before)
        if other is not None:
            # Far from all that is known. Block ids are never used again: if a known block
            # is still there now, the batch was of the same file.
            known_part = self._fetch(other.offset, 1).blocks
            with self._lock:
                self._map.check(known_part)
        known = list(batch.blocks)
        if batch.last_block is not None:
            known.append(batch.last_block)
        with self._lock:
            self._map.add([self._with_known_length(block, batch) for block in known])
            block = self._map.find(offset)
        if block is None or block.offset not in {located.offset for located in known}:
            raise self._lost(offset, batch)
        return block

    def _fetch(self, offset: int, length: int) -> LocatedBlocks:
        try:
            with self._span.current():
                return self._namenode.get_block_locations(self.path, offset, length)
        except errors.PathNotFound as error:
            raise errors.PathNotFound(
                f"{self.path} was deleted or renamed while it was read: {error}"
            ) from error

    def _with_known_length(self, block: LocatedBlock, batch: LocatedBlocks) -> LocatedBlock:
        """Of a block that is being written the namenode doesn't know the length; what
        datanodes said of it, or what it had before, holds."""
        last = batch.last_block
        if last is None or batch.last_block_complete or block.offset != last.offset:
            return block
        before = self._map.find(block.offset)
        if before is None or not before.block.is_same_as(block.block):
            return block
        length = max(block.length_bytes, before.length_bytes)
        return block.with_block(block.block.with_length(length))

    def _lost(self, offset: int, batch: LocatedBlocks) -> errors.HowdahError:
        last = batch.last_block
        now = max(batch.file_length, 0 if last is None else last.end)
        if now <= offset:
            return errors.FileChanged(
                f"{self.path} was cut or replaced while it was read: it had {self.length} bytes "
                f"when it was opened and has {now} now, so there is nothing at offset {offset}"
            )
        return errors.BlockMissing(
            f"{self.path}: the namenode knows no block for offset {offset}, "
            f"though the file had {self.length} bytes"
        )

    # --- a file that is being written -----------------------------------------------

    def _first_batch(self) -> tuple[LocatedBlocks, LocatedBlock | None]:
        """The first batch, and the last block as long as readers may see it, if that
        is not the namenode's to say."""
        rounds = max(self._settings.last_block_length_retries, 1)
        while True:
            first = self._namenode.get_block_locations(self.path, 0, self._batch_bytes)
            last = first.last_block
            if last is None or first.last_block_complete:
                return first, None
            if first.erasure_coding_policy is not None:
                # No datanode knows how long a group is, and a sync promises nothing of it.
                return first, None
            rounds -= 1
            try:
                length = self._length_at_datanodes(last)
                return first, last.with_block(last.block.with_length(length))
            except _NotYet as reason:
                message = f"Cannot obtain block length for {last.block} of {self.path}: {reason}"
                if not rounds:
                    raise errors.CannotObtainBlockLength(message) from None
                _log.info("%s; trying again", message)
            time.sleep(self._settings.last_block_length_delay_s)

    def _length_at_datanodes(self, block: LocatedBlock) -> int:
        """How much of a block under construction every reader may see."""
        if not block.nodes:
            if not block.length_bytes:
                return 0
            raise _NotYet(
                f"the namenode knows of {block.length_bytes} bytes and of no datanode with them"
            )
        tried: list[str] = []
        absent, unanswered = 0, 0
        for node in block.nodes:
            try:
                length = self._visible_length(node, block)
            except errors.ReplicaNotFound as error:
                absent += 1
                tried.append(f"{node}: {error}")
            except (errors.HowdahError, OSError) as error:
                unanswered += 1
                tried.append(f"{node}: {error}")
            else:
                if length >= block.length_bytes:
                    return length
                lost = f"it shows {length} of {block.length_bytes} bytes that were there"
                tried.append(f"{node}: {lost if length >= 0 else 'its replica waits for recovery'}")
        if absent == len(block.nodes) and not block.length_bytes:
            # The pipeline isn't open yet.
            return 0
        said = "; ".join(tried)
        if unanswered or absent == len(block.nodes):
            raise _NotYet(said)
        raise errors.CannotObtainBlockLength(
            f"Cannot obtain block length for {block.block} of {self.path}, "
            f"which its writer has left: {said}"
        )

    def _visible_length(self, node: DatanodeAddress, block: LocatedBlock) -> int:
        """What `node` shows of the block; below zero where it can't tell."""
        host = node.hostname if self._settings.use_datanode_hostname else node.ip
        rpc = RpcClient(
            (host, node.ipc_port),
            CLIENT_DATANODE_PROTOCOL,
            user=_asking(self._namenode.user, block.token),
            connect_timeout_s=min(self._settings.connect_timeout_s, 20.0),
            call_timeout_s=self._settings.socket_timeout_s,
        )
        try:
            answer = rpc.call(
                "getReplicaVisibleLength",
                client_datanode_pb2.GetReplicaVisibleLengthRequestProto(
                    block=block.block.to_proto()
                ),
                client_datanode_pb2.GetReplicaVisibleLengthResponseProto,
            )
        finally:
            rpc.close()
        return signed64(answer.length)


def _asking(user: str, token: BlockToken) -> str:
    """As whom a datanode is asked: where there are no tokens by the mere name, for none asks who
    wants to know, or whom he acts for."""
    if not token.identifier and not isinstance(user, ProvenUser):
        return str(user)
    from howdah.security.users import asking_of_a_block

    return asking_of_a_block(user, token)
