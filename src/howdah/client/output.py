"""`DFSOutputStream`: a file that is being written, from bytes to a completed file.

Mirrors Hadoop's class of that name in what it promises: writes of several threads
are whole and in order (OS-026); `hflush` returns when every datanode of the
pipeline has everything; `hsync` when their disks have it; `close` sends the rest,
waits, and completes the file at the namenode (FS-133, FS-134). After the first
`close`, failed or not, the stream is closed and nothing is tried again (OS-021).

Goes beyond Hadoop in one thing: every sync tells the namenode the new length, so
that a file's status is exact after it and not only at block boundaries.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from howdah import errors
from howdah.client.blocks import LocatedBlock
from howdah.client.namenode import NamenodeProxy
from howdah.client.packetizer import Buffer, Packetizer
from howdah.client.pipeline import Pipeline
from howdah.client.pipeline_setup import PipelineSetup
from howdah.client.settings import ClientSettings
from howdah.client.streamer import Streamer
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.transfer.checksum import ChecksumSpec

_CAPABILITIES = frozenset(("hsync", "hflush", "dropbehind"))


@dataclass(frozen=True, slots=True)
class OpenFile:
    """The file that a stream writes, as `create` or `append` opened it.

    `length` is what it holds already, `room` its last block if more fits into that;
    `replication` is how many datanodes a pipeline of it should have.
    """

    path: str
    file_id: int
    block_size: int
    checksum: ChecksumSpec
    length: int = 0
    room: LocatedBlock | None = None
    replication: int = 1


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
    ) -> None:
        self._file = file
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
        )
        self._setup = PipelineSetup(settings, client_name, file.checksum, file.block_size)
        self._streamer = Streamer(
            Pipeline(
                file.path,
                appended=file.room,
                replication=file.replication,
                setup_retries=settings.block_write_retries,
                recovery_retries=settings.pipeline_recovery_retries,
                replacement=settings.replacement,
                exclude_s=settings.exclude_nodes_s,
                heartbeat_interval_s=settings.socket_timeout_s / 2,
            ),
            namenode,
            settings,
            client_name,
            file.file_id,
            self._setup,
        )
        self._position = file.length
        self._write_lock = threading.Lock()
        self._close_lock = threading.Lock()
        self._closed = False
        self._pid = os.getpid()

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def pipeline(self) -> tuple[DatanodeAddress, ...]:
        """The datanodes that the current block goes to, nearest first; none between blocks."""
        return self._streamer.nodes

    def get_pos(self) -> int:
        return self._position

    # --- writing ----------------------------------------------------------------------

    def write(self, data: Buffer) -> None:
        """Take all of `data`; waits while too much of the file is unacknowledged."""
        with self._write_lock:
            self._check_open()
            self._streamer.check()
            if not self._packetizer.absorb(data):
                for packet in self._packetizer.write(data):
                    self._streamer.enqueue(packet)
                    if self._progress is not None:
                        self._progress()
            self._position += len(data)

    def hflush(self) -> None:
        self._sync(to_disk=False)

    def hsync(self) -> None:
        self._sync(to_disk=True)

    def _sync(self, *, to_disk: bool) -> None:
        # Other threads may write on while this one waits, so the lock is let go.
        with self._write_lock:
            self._check_open()
            self._streamer.check()
            for packet in self._packetizer.flush(sync=to_disk):
                self._streamer.enqueue(packet)
            seqno = self._streamer.last_queued_seqno
        self._streamer.wait_acked(seqno)
        self._streamer.tell_length()

    def has_capability(self, capability: str) -> bool:
        return capability.lower() in _CAPABILITIES

    def set_drop_behind(self, drop: bool | None) -> None:
        """Takes effect with the next block, since a datanode learns it when a block begins."""
        self._check_open()
        self._setup.drop_behind = drop

    def _check_open(self) -> None:
        if self._closed:
            raise errors.ClosedStream(f"{self.path} is closed")
        if self._pid != os.getpid():
            raise errors.ClosedStream(
                f"{self.path} was opened for writing by process {self._pid}, which a forked "
                f"child cannot share; open it in the child"
            )

    # --- the end ------------------------------------------------------------------------

    def close(self) -> None:
        """Write back everything, wait, complete the file. Only the first call does anything."""
        if self._pid != os.getpid():
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
                    self._streamer.check()
                    for packet in self._packetizer.end_block():
                        self._streamer.enqueue(packet)
                last = self._streamer.finish()
                self._complete(last)
            finally:
                self._streamer.stop()
                self._on_end(self)

    def abort(self) -> None:
        """Close without completing: the namenode recovers the file when the lease ends."""
        self._closed = True
        self._streamer.stop()
        self._on_end(self)

    def _complete(self, last: ExtendedBlock | None) -> None:
        delays = self._settings.next_block_delays_s()
        while not self._namenode.complete(self.path, self._client_name, last, self._file.file_id):
            delay_s = next(delays, None)
            if delay_s is None:
                raise errors.NotReplicatedYet(
                    f"Cannot close {self.path}: its last block "
                    f"{last.name if last else '(none)'} has not enough replicas yet"
                )
            time.sleep(delay_s)
