"""Writes one internal block of a block group, by a pipeline of one datanode.

StripedDataStreamer in Hadoop. It is a `Streamer` like that of a replicated file, but what that
asks of the namenode about its block is answered here, with what the namenode said of the whole
group: where the block is, and later its new generation stamp. There is no second attempt: a
datanode that fails is not replaced, for the group has parity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.packetizer import Buffer, OutgoingPacket, Packetizer
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.client.state.writing.statistics import PipelineCounts
from howdah.client.writing.output_stream import OpenFile
from howdah.client.writing.pipeline_setup import PipelineSetup, is_local
from howdah.client.writing.streamer import Streamer
from howdah.options import CreateFlag
from howdah.protocol.data_transfer.blocks import BlockToken, DatanodeAddress, ExtendedBlock
from howdah.runtime.tracing.span import Span

_NO_END_CHUNKS = 1 << 40
"""A group's end says where the block ends, not a number of bytes."""
_MAX_PACKETS_IN_FLIGHT = 32
"""As there are as many queues as internal blocks, each of them is shorter."""


class InternalBlockWriter:
    """Takes the cells of one internal block. One thread at a time.

    Every method raises what ended the pipeline, once it has failed.
    """

    def __init__(
        self,
        block: LocatedBlock,
        file: OpenFile,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        drop_behind: bool | None,
        span: Span,
        connect: ConnectsData,
    ) -> None:
        """`block` is the internal block, with its one node and its token."""
        (self.node,) = block.nodes
        self._block = _Answers(block)
        chunk = file.checksum.bytes_per_checksum
        self._packetizer = Packetizer(
            file.checksum,
            settings.packet_data_bytes,
            chunk * _NO_END_CHUNKS,
            sync_blocks=bool(file.flags.value & CreateFlag.SYNC_BLOCK.value),
        )
        self._pipeline = Pipeline(
            file.path,
            replace(
                settings.pipeline_rules(is_local),
                setup_retries=0,
                restart_timeout_s=0.0,
                replacement=ReplacementPolicy(Policy.NEVER),
            ),
            replication=1,
        )
        setup = PipelineSetup(
            settings,
            client_name,
            file.checksum,
            file.block_size,
            lazy_persist=file.lazy_persist,
            connect=connect,
        )
        setup.drop_behind = drop_behind
        in_flight = min(settings.max_packets_in_flight, _MAX_PACKETS_IN_FLIGHT)
        self._streamer = Streamer(
            self._pipeline,
            namenode,
            replace(settings, max_packets_in_flight=in_flight),
            client_name,
            file.file_id,
            setup,
            span=span,
            calls=self._block,
        )
        self.length = 0

    @property
    def storage_id(self) -> str:
        """The storage of the datanode that the namenode chose."""
        ids = self._block.located.storage_ids
        return ids[0] if ids else ""

    @property
    def counts(self) -> PipelineCounts:
        return self._streamer.counts

    @property
    def error(self) -> errors.HowdahError | None:
        """What ended the pipeline, if something did."""
        return self._streamer.error

    def write(self, data: Buffer) -> None:
        """Take the next bytes; waits while too many are unacknowledged."""
        self.length += len(data)
        if not self._packetizer.absorb(data):
            for packet in self._packetizer.write(data):
                self._enqueue(packet)

    def _enqueue(self, packet: OutgoingPacket) -> None:
        self._streamer.enqueue(packet)

    def flush(self) -> int:
        """Send all that there is; the number of the last packet, for `wait_acked`."""
        for packet in self._packetizer.flush():
            self._enqueue(packet)
        return self._streamer.last_queued_seqno

    def wait_acked(self, seqno: int) -> None:
        """Wait until the datanode has this packet and all before it."""
        self._streamer.wait_acked(seqno)

    def renew(self, generation_stamp: int, token: BlockToken) -> None:
        """The group has a new stamp: the pipeline is opened again under it, or for the first
        time. All that was written is acknowledged."""
        self._block.renew(generation_stamp, token)
        if self.length:
            self._streamer.reopen()

    def wait_open(self) -> None:
        """Wait until the pipeline is open under the new stamp."""
        if self.length:
            self._streamer.wait_open()

    def end_block(self) -> None:
        """Queue the last packet."""
        for packet in self._packetizer.end_block(sync=self._packetizer.sync_blocks):
            self._enqueue(packet)

    def finish(self) -> None:
        """Wait until the datanode has finalized its replica, and end the threads."""
        self._streamer.finish()

    def give_up(self, error: errors.HowdahError) -> None:
        """End the pipeline by `error`; waits for nobody."""
        self._streamer.give_up(error)

    def stop(self) -> None:
        """End the threads."""
        self._streamer.stop()

    def is_own_thread(self) -> bool:
        """Whether the caller runs on a thread of this block."""
        return self._streamer.is_own_thread()


class _Answers:
    """What a streamer hears of its one block; `streamer.PipelineCalls`."""

    def __init__(self, block: LocatedBlock) -> None:
        self.located = block
        self._token = block.token
        self._generation_stamp = block.block.generation_stamp

    def renew(self, generation_stamp: int, token: BlockToken) -> None:
        self._generation_stamp, self._token = generation_stamp, token

    def _renewed(self) -> LocatedBlock:
        block = self.located.block.with_generation_stamp(self._generation_stamp)
        return self.located.with_block(block, token=self._token)

    def add_block(
        self,
        path: str,
        client_name: str,
        previous: ExtendedBlock | None,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
    ) -> LocatedBlock:
        assert previous is None, "an internal block has no other behind it"
        return self._renewed()

    def abandon_block(
        self, path: str, client_name: str, block: ExtendedBlock, file_id: int
    ) -> None:
        """The group is kept: the other internal blocks make up for this one."""

    def update_block_for_pipeline(self, block: ExtendedBlock, client_name: str) -> LocatedBlock:
        return self._renewed()

    def update_pipeline(
        self, client_name: str, old: ExtendedBlock, new: ExtendedBlock, block: LocatedBlock
    ) -> None:
        """The namenode hears of the whole group, when all its pipelines are open."""

    def get_additional_datanode(
        self,
        path: str,
        client_name: str,
        block: LocatedBlock,
        excluded: Sequence[DatanodeAddress],
        file_id: int,
    ) -> LocatedBlock:
        raise errors.UnsupportedOperation(
            f"{path}: no other datanode joins the pipeline of internal block {block.block.name}"
        )
