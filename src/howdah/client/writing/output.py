"""`DFSOutputStream`: a file that is being written, from bytes to a completed file.

Mirrors Hadoop's class of that name in what it promises: writes of several threads
are whole and in order (OS-026); `hflush` returns when every datanode of the
pipeline has everything; `hsync` when their disks have it; `close` sends the rest,
waits, and completes the file at the namenode (FS-133, FS-134). After the first
`close`, failed or not, the stream is closed and nothing is tried again (OS-021).

Goes beyond Hadoop in three things:

- every sync tells the namenode the new length, so that a file's status is exact after
  it and not only at block boundaries (XC-003); `hsync` waits until the namenode has it on
  its disk, too;
- `hsync` covers the blocks that were finished since the one before as well (LM-041).
  From the first `hsync` on every block is brought to the disk as it is finished, as
  SYNC_BLOCK does from the beginning; for blocks that were finished before it their
  datanodes are asked once more. Those of howdah do it; Hadoop's know no such order for
  a finished block and answer all the same, so there SYNC_BLOCK is needed for them;
- every error names the path (LM-049).

A small `write` costs one append to a list, which Python does as one step, and takes no
lock; a lock and what it guards would cost three times that. Every so many of them, and
before all else that is done to the stream, who holds the lock takes what waits. The rules:

1. The list stays the same object, and is only cut at its front by who holds the lock: what
   is appended meanwhile stays behind, in its order.
2. A writer looks whether the stream is closed, broken or another process' after it has
   appended. `close` says that it is closed before it takes what waits for the last time.
   So whoever saw an open stream is in the file, and whoever saw a closed one finds out under
   the lock: what still waits then came too late, and is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.writing.packetizer import Buffer, OutgoingPacket, Packetizer
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.statistics import OutputStatistics
from howdah.client.writing.output_stream import OpenFile, OutputStream
from howdah.client.writing.pipeline_setup import PipelineSetup, is_local
from howdah.client.writing.streamer import Streamer
from howdah.options import CreateFlag, SyncFlag
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.runtime.fork_safety import process_id
from howdah.runtime.tracing.span import NOTHING, Span

_CAPABILITIES = frozenset(("hsync", "hflush", "dropbehind"))
_SMALL_BYTES = 1024
_MOST_WAITING = 64
"""Small writes that are not in a packet yet: at most a packet's data, also of small packets."""


class DFSOutputStream(OutputStream):
    """A stream of replicated blocks. `progress` is called whenever a packet is full."""

    def __init__(
        self,
        file: OpenFile,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        on_end: Callable[[OutputStream], None],
        progress: Callable[[], None] | None = None,
        span: Span = NOTHING,
        *,
        connect: ConnectsData = connect_plain,
    ) -> None:
        super().__init__(file, namenode, settings, client_name, on_end, progress, span)
        self._must_be_synced = bool(file.flags.value & CreateFlag.SYNC_BLOCK.value)
        self._packetizer = Packetizer(
            file.checksum,
            settings.packet_data_bytes,
            file.block_size,
            offset_in_block=file.room.length_bytes if file.room else 0,
            sync_blocks=self._must_be_synced,
        )
        self._setup = PipelineSetup(
            settings,
            client_name,
            file.checksum,
            file.block_size,
            lazy_persist=file.lazy_persist,
            connect=connect,
        )
        self._pipeline = Pipeline(
            file.path,
            settings.pipeline_rules(is_local),
            appended=file.room,
            previous=file.previous,
            replication=file.replication,
        )
        self._streamer = Streamer(
            self._pipeline,
            namenode,
            settings,
            client_name,
            file.file_id,
            self._setup,
            file.flags,
            file.favored_nodes,
            span,
        )
        # What writers handed over: `_position` says up to where it was taken out of `_waiting`,
        # and the lock is held while it goes from one to the other.
        self._waiting: list[bytes] = []
        # A packet that is full goes out by itself, so no more than one may wait.
        self._small_bytes = min(_SMALL_BYTES, settings.packet_data_bytes // _MOST_WAITING)
        self._position = file.length
        self._position_lock = threading.Lock()
        self._hflushes = self._hsyncs = 0

    @property
    def pipeline(self) -> tuple[DatanodeAddress, ...]:
        """Nearest first."""
        self._check_process()
        return self._streamer.nodes

    def get_pos(self) -> int:
        with self._position_lock:
            return self._position + sum(map(len, self._waiting))

    def current_block_replication(self) -> int:
        self._check_open()
        return len(self._streamer.nodes) or self._file.replication

    def statistics(self) -> OutputStatistics:
        self._check_process()
        return OutputStatistics(
            bytes_written=self.bytes_written,
            hflushes=self._hflushes,
            hsyncs=self._hsyncs,
            **asdict(self._streamer.counts),
        )

    # --- writing ----------------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        if type(data) is bytes and len(data) <= self._small_bytes:
            waiting = self._waiting
            waiting.append(data)
            if (
                len(waiting) >= _MOST_WAITING
                or self._closed
                or self._torn
                or self._pipeline.error is not None
                or self._pid != process_id()
            ):
                self._settle(data)
            return
        self._check_process()
        with self._write_lock:
            self._check_writable()
            self._take_waiting()
            self._buffer_data(data)
            with self._position_lock:
                self._position += len(data)

    def _settle(self, data: bytes) -> None:
        """Take what waits, of which `data` was put there by the caller; raise if it can't be."""
        self._check_process()
        with self._write_lock:
            if self._closed:
                # It may have been taken by close. Of two who wrote the same object one is
                # refused, whichever.
                if self._withdraw(data):
                    self._refuse()
                return
            try:
                self._check_whole()
            except errors.HowdahError:
                self._withdraw(data)
                raise
            self._take_waiting()

    def _withdraw(self, data: bytes) -> bool:
        for place, piece in enumerate(self._waiting):
            if piece is data:
                del self._waiting[place]
                return True
        return False

    def _take_waiting(self) -> None:
        count = len(self._waiting)
        if not count:
            return
        data = b"".join(self._waiting[:count])
        # A signal between these would lose or double it.
        self._torn = True
        with self._position_lock:
            del self._waiting[:count]
            self._position += len(data)
        self._buffer_data(data)
        self._torn = False

    def _buffer_data(self, data: Buffer) -> None:
        if not self._packetizer.absorb(data):
            self._enqueue(self._packetizer.write(data), self._progress)

    def _enqueue(
        self,
        packets: Iterator[OutgoingPacket],
        progress: Callable[[], None] | None = None,
        *,
        is_last: bool = False,
        waits: bool = False,
    ) -> None:
        # A signal may end this anywhere, with a packet that is neither here nor there.
        self._torn = True
        for packet in packets:
            self._streamer.enqueue(packet, alone=is_last, waits=waits)
            if progress is not None:
                progress()
        self._torn = False

    def hflush(self) -> None:
        self._check_process()
        with self._write_lock:
            self._check_writable()
            self._hflushes += 1
            seqno = self._cut(to_disk=self._settings.hflush_to_disk)
        self._wait(seqno, to_disk=self._settings.hflush_to_disk)

    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`, and on the disks, whichever block it is in.

        UPDATE_LENGTH asks for nothing that isn't done anyway; END_BLOCK ends the block.
        """
        self._check_process()
        with self._write_lock:
            self._check_writable()
            self._hsyncs += 1
            seqno = self._cut(to_disk=True, end_block=bool(flags & SyncFlag.END_BLOCK))
        self._wait(seqno, to_disk=True)

    def _cut(self, *, to_disk: bool, end_block: bool = False) -> int:
        """Queue what there is, and perhaps the end of the block; the last packet's number."""
        self._take_waiting()
        if to_disk:
            self._packetizer.sync_blocks = True
        cut = self._packetizer.end_block if end_block else self._packetizer.flush
        self._enqueue(cut(sync=to_disk), waits=True)
        return self._streamer.last_queued_seqno

    def _wait(self, seqno: int, *, to_disk: bool) -> None:
        # Other threads may write on meanwhile: no lock is held here.
        syncing = self._span.child("hsync" if to_disk else "hflush")
        try:
            with syncing.current():
                self._wait_acked(seqno, to_disk=to_disk)
        except BaseException as error:
            syncing.end(error)
            raise
        syncing.end()

    def _wait_acked(self, seqno: int, *, to_disk: bool) -> None:
        # The order to sync is in a packet of its own, behind the bytes. So the namenode brings
        # the length to its disk while the datanodes bring the bytes to theirs.
        bytes_seqno = seqno - 1 if to_disk else seqno
        if not self._streamer.wait_acked(bytes_seqno, tells=True, durable=to_disk):
            self._tell_length(durable=to_disk)
        if to_disk:
            self._streamer.wait_acked(seqno)
            self._streamer.sync_finished(seqno)

    def _tell_length(self, *, durable: bool) -> None:
        try:
            self._streamer.lengths.report(durable=durable)
        except errors.HowdahError:
            # Another thread may have closed the file since, and then it has its length.
            if not self._closed:
                raise
            with self._close_lock:
                if not self._completed:
                    raise

    def has_capability(self, capability: str) -> bool:
        return capability.lower() in _CAPABILITIES

    def set_drop_behind(self, drop: bool | None) -> None:
        self._check_open()
        self._setup.drop_behind = drop

    @property
    def _failure(self) -> errors.HowdahError | None:
        return self._streamer.error

    def _check_failure(self) -> None:
        self._streamer.check()

    # --- the end ------------------------------------------------------------------------

    def _is_own_thread(self) -> bool:
        return self._streamer.is_own_thread()

    def _finish(self) -> ExtendedBlock | None:
        with self._write_lock:
            self._closed = True
            self._check_whole()
            self._take_waiting()
            self._enqueue(self._packetizer.end_block(sync=self._must_be_synced), is_last=True)
            seqno = self._streamer.last_queued_seqno
        last = self._streamer.finish()
        if self._must_be_synced:
            # Those whose last packet was lost with a datanode: their recovery ordered no sync.
            self._streamer.sync_finished(seqno)
        return last

    def _stop(self) -> None:
        self._streamer.stop()

    def _give_up(self, error: errors.HowdahError) -> None:
        self._streamer.give_up(error)
