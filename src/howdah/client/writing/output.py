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
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import NoReturn

from howdah import errors
from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.packetizer import Buffer, OutgoingPacket, Packetizer
from howdah.client.state.writing.pipeline import Pipeline
from howdah.client.state.writing.statistics import OutputStatistics
from howdah.client.writing.pipeline_setup import PipelineSetup, is_local
from howdah.client.writing.streamer import Streamer
from howdah.options import AbortableResult, CreateFlag, SyncFlag
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.striping.policies import Policy
from howdah.runtime.fork_safety import process_id
from howdah.runtime.tracing.span import NOTHING, Span

_CAPABILITIES = frozenset(("hsync", "hflush", "dropbehind"))
_SMALL_BYTES = 1024
_MOST_WAITING = 64
"""Small writes that are not in a packet yet: at most a packet's data, also of small packets."""


@dataclass(frozen=True, slots=True)
class OpenFile:
    """The file that a stream writes, as `create` or `append` opened it.

    `length` is what it holds already, `room` its last block if more goes into that, else
    `previous` that block, if it has to be named; `replication` is how many datanodes a
    pipeline of it should have, and `favored_nodes` which (`host:port`), if they can.
    """

    path: str
    file_id: int
    block_size: int
    checksum: ChecksumSpec
    length: int = 0
    room: LocatedBlock | None = None
    previous: ExtendedBlock | None = None
    replication: int = 1
    flags: CreateFlag = CreateFlag.NONE
    favored_nodes: tuple[str, ...] = ()
    lazy_persist: bool = False
    """Datanodes beside the client may keep its replicas in memory for a while."""
    namespace: str = ""
    """The nameservice in which it is, where a router said so."""
    policy: Policy | None = None
    """That of an erasure coded file."""


class DFSOutputStream:
    """The inner stream of an `FSDataOutputStream`.

    `on_end` is called when it is closed, `progress` by the writing thread whenever a
    packet is full.
    """

    def __init__(
        self,
        file: OpenFile,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        on_end: Callable[[DFSOutputStream], None],
        progress: Callable[[], None] | None = None,
        span: Span = NOTHING,
        *,
        connect: ConnectsData = connect_plain,
    ) -> None:
        """`span` is that of the open file in a trace; it ends when the stream is closed."""
        self._file = file
        self._must_be_synced = bool(file.flags.value & CreateFlag.SYNC_BLOCK.value)
        self._span = span
        self._namenode = namenode
        self._settings = settings
        self._client_name = client_name
        self._on_end = on_end
        self._progress = progress
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
        self._write_lock = threading.Lock()
        self._close_lock = threading.Lock()
        self._closed = False
        self._completed = False
        self._torn = False
        self._pid = process_id()

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def pipeline(self) -> tuple[DatanodeAddress, ...]:
        """The datanodes that the current block goes to, nearest first; none between blocks."""
        self._check_process()
        return self._streamer.nodes

    def get_pos(self) -> int:
        with self._position_lock:
            return self._position + sum(map(len, self._waiting))

    @property
    def namespace(self) -> str:
        """The nameservice in which the file is, where a router said so."""
        return self._file.namespace

    @property
    def bytes_written(self) -> int:
        """Bytes that writers handed over since the stream was opened."""
        return self.get_pos() - self._file.length

    def current_block_replication(self) -> int:
        """How many datanodes have the current block; between blocks, the file's replication."""
        self._check_open()
        return len(self._streamer.nodes) or self._file.replication

    def statistics(self) -> OutputStatistics:
        """Counts of what the stream has done; also after it is closed."""
        self._check_process()
        return OutputStatistics(
            bytes_written=self.bytes_written,
            hflushes=self._hflushes,
            hsyncs=self._hsyncs,
            **asdict(self._streamer.counts),
        )

    # --- writing ----------------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        """Take all of `data`; waits while too much of the file is unacknowledged."""
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
        """Return when all that was written is on every datanode, and its length known."""
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
        """Takes effect with the next block, since a datanode learns it when a block begins."""
        self._check_open()
        self._setup.drop_behind = drop

    def _check_open(self) -> None:
        self._check_process()
        if self._closed:
            self._refuse()

    def _check_process(self) -> None:
        # Comes before any lock: the parent may have held it when the child was forked.
        if self._pid != process_id():
            raise errors.ClosedStream(
                f"{self.path} was opened for writing by process {self._pid}, which a forked "
                f"child cannot share; open it in the child"
            ).about(self.path)

    def _check_writable(self) -> None:
        if self._closed:
            self._refuse()
        self._check_whole()

    def _refuse(self) -> NoReturn:
        error = self._streamer.error
        why = f"; it had failed: {error}" if error is not None else ""
        raise errors.ClosedStream(f"{self.path} is closed{why}").about(self.path)

    def _check_whole(self) -> None:
        self._streamer.check()
        if self._torn:
            raise errors.PipelineFailed(
                f"{self.path}: a write was interrupted half-way, so what follows it is unknown"
            )

    # --- the end ------------------------------------------------------------------------

    def close(self) -> None:
        """Write back everything, wait, complete the file. Only the first call does anything."""
        if self._pid != process_id():
            # A forked child's copy: the connections and the file are the parent's.
            self._closed = True
            return
        if self._streamer.is_own_thread():
            # The garbage collector found a forgotten stream on the one thread that may
            # not wait for the stream's packets, so they are given up.
            self.abort()
            return
        with self._close_lock:
            if self._closed:
                return
            try:
                with self._write_lock:
                    self._closed = True
                    self._check_whole()
                    self._take_waiting()
                    self._enqueue(
                        self._packetizer.end_block(sync=self._must_be_synced), is_last=True
                    )
                last = self._streamer.finish()
                with errors.naming(self.path), self._span.current():
                    complete_file(
                        self._file, self._namenode, self._settings, self._client_name, last
                    )
                self._completed = True
            except BaseException as error:
                self._end_span(error)
                raise
            finally:
                self._streamer.stop()
                self._on_end(self)
                self._end_span(None)

    def _end_span(self, error: BaseException | None) -> None:
        if self._span is not NOTHING:
            self._span.set({"howdah.bytes": self.bytes_written})
            self._span.end(error)

    def abort(self, why: str = "it was aborted") -> AbortableResult:
        """Give up what isn't acknowledged, and the file with it; never waits for anybody.

        The file stays as it is until its lease is recovered, and what is acknowledged
        stays in it. Every later call raises `ClosedStream` with the reason.
        """
        already_closed, self._closed = self._closed, True
        if self._pid != process_id():
            # A forked child's copy: shutting its connection down would break the parent's.
            return AbortableResult(already_closed)
        if not self._completed:
            self._streamer.give_up(errors.PipelineFailed(f"{self.path}: {why}"))
            self._end_span(self._streamer.error)
        self._on_end(self)
        return AbortableResult(already_closed)


def complete_file(
    file: OpenFile,
    namenode: NamenodeProxy,
    settings: ClientSettings,
    client_name: str,
    last: ExtendedBlock | None,
) -> None:
    """complete, which has to wait for the same as addBlock."""
    delays = settings.next_block_delays_s()
    while True:
        refusal: errors.HowdahError
        try:
            if namenode.complete(file.path, client_name, last, file.file_id):
                return
            refusal = errors.NotReplicatedYet(
                f"Cannot close {file.path}: its last block "
                f"{last.name if last else '(none)'} has not enough replicas yet"
            )
        except errors.SafeMode as error:
            refusal = error
        delay_s = next(delays, None)
        if delay_s is None:
            raise refusal
        time.sleep(delay_s)
