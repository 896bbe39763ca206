"""A file that is being written, and what holds for it however its bytes are stored.

`output.DFSOutputStream` has a pipeline of replicas for each block,
`striped_output.DFSStripedOutputStream` one pipeline for each internal block of a group. Both follow
these rules:

1. After the first `close`, failed or not, the stream is closed and nothing is tried again (OS-021).
   `abort` closes it, too, and leaves the file open at the namenode.
2. A stream belongs to the process that opened it. In a forked child all calls are refused, but for
   `close` and `abort`, which leave connections and file to the parent.
3. A write that a signal has interrupted half-way leaves it unknown what the file holds: whatever
   comes behind it is refused.
4. Every error names the path (LM-049).
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock
from howdah.client.state.writing.packetizer import Buffer
from howdah.client.state.writing.statistics import OutputStatistics
from howdah.options import AbortableResult, CreateFlag, SyncFlag
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock
from howdah.protocol.data_transfer.checksum import ChecksumSpec
from howdah.protocol.encryption_zones.messages import EncryptedKey
from howdah.protocol.striping.policies import Policy
from howdah.runtime.fork_safety import process_id
from howdah.runtime.tracing.span import NOTHING, Span

T = TypeVar("T")


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
    key: EncryptedKey | None = None
    """That of a file in an encryption zone."""


class OutputStream(ABC):
    """The inner stream of an `FSDataOutputStream`. Who writes holds `_write_lock`."""

    def __init__(
        self,
        file: OpenFile,
        namenode: NamenodeProxy,
        settings: ClientSettings,
        client_name: str,
        on_end: Callable[[OutputStream], None],
        progress: Callable[[], None] | None,
        span: Span,
    ) -> None:
        """`on_end` is called when the stream is closed, and `progress` from time to time by the
        thread that writes. `span` is that of the open file in a trace; it ends with the stream."""
        self._file = file
        self._namenode = namenode
        self._settings = settings
        self._client_name = client_name
        self._on_end = on_end
        self._progress = progress
        self._span = span
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
    def namespace(self) -> str:
        """The nameservice in which the file is, where a router said so."""
        return self._file.namespace

    @property
    def bytes_written(self) -> int:
        """Bytes that writers handed over since the stream was opened."""
        return self.get_pos() - self._file.length

    @property
    @abstractmethod
    def pipeline(self) -> tuple[DatanodeAddress, ...]:
        """The datanodes that the current block or group goes to; none between two of them."""

    @property
    @abstractmethod
    def _failure(self) -> errors.HowdahError | None:
        """What ended the stream, if something did."""

    @abstractmethod
    def get_pos(self) -> int:
        """How long the file is with all that was written."""

    @abstractmethod
    def current_block_replication(self) -> int:
        """How many datanodes have the current block; between blocks, the file's replication."""

    @abstractmethod
    def statistics(self) -> OutputStatistics:
        """Counts of what the stream has done; also after it is closed."""

    @abstractmethod
    def write(self, data: Buffer) -> None:
        """Take all of `data`; waits while too much of the file is unacknowledged."""

    @abstractmethod
    def hflush(self) -> None:
        """Return when all that was written is on every datanode, and its length known."""

    @abstractmethod
    def hsync(self, flags: SyncFlag = SyncFlag.NONE) -> None:
        """As `hflush`, and on the disks."""

    @abstractmethod
    def has_capability(self, capability: str) -> bool:
        """Whether the stream does what Hadoop calls so."""

    @abstractmethod
    def set_drop_behind(self, drop: bool | None) -> None:
        """Takes effect with the next block, since a datanode learns it when a block begins."""

    # --- who may go on ----------------------------------------------------------------------

    @abstractmethod
    def _check_failure(self) -> None:
        """Raise what ended the stream, if something did."""

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
        error = self._failure
        why = f"; it had failed: {error}" if error is not None else ""
        raise errors.ClosedStream(f"{self.path} is closed{why}").about(self.path)

    def _check_whole(self) -> None:
        self._check_failure()
        if self._torn:
            raise errors.PipelineFailed(
                f"{self.path}: a write was interrupted half-way, so what follows it is unknown"
            )

    # --- the end ------------------------------------------------------------------------

    @abstractmethod
    def _is_own_thread(self) -> bool:
        """Whether the caller runs on a thread of this stream."""

    @abstractmethod
    def _finish(self) -> ExtendedBlock | None:
        """Close the stream for writers, and wait until datanodes have all of the file; the last
        block, as `complete` names it."""

    @abstractmethod
    def _stop(self) -> None:
        """End the threads."""

    @abstractmethod
    def _give_up(self, error: errors.HowdahError) -> None:
        """End the stream by `error`; waits for nobody."""

    def close(self) -> None:
        """Write the rest, wait, complete the file. Only the first call does anything."""
        if self._pid != process_id():
            # A forked child's copy: the connections and the file are the parent's.
            self._closed = True
            return
        if self._is_own_thread():
            # The garbage collector found a forgotten stream on a thread that may not wait for the
            # stream's packets, so they are given up.
            self.abort()
            return
        with self._close_lock:
            if self._closed:
                return
            try:
                last = self._finish()
                with errors.naming(self.path), self._span.current():
                    self._when_ready(lambda: self._complete(last))
                self._completed = True
            except BaseException as error:
                self._end_span(error)
                raise
            finally:
                self._stop()
                self._on_end(self)
                self._end_span(None)

    def _complete(self, last: ExtendedBlock | None) -> None:
        file = self._file
        if not self._namenode.complete(file.path, self._client_name, last, file.file_id):
            raise errors.NotReplicatedYet(
                f"Cannot close {file.path}: its last block "
                f"{last.name if last else '(none)'} has not enough replicas yet"
            )

    def _when_ready(self, call: Callable[[], T]) -> T:
        """What the namenode answers. While the block before is short of replicas it says wait, and
        one that was started just now is in safe mode until its datanodes have reported."""
        delays = self._settings.next_block_delays_s()
        while True:
            try:
                return call()
            except (errors.NotReplicatedYet, errors.SafeMode):
                delay_s = next(delays, None)
                if delay_s is None:
                    raise
            time.sleep(delay_s)

    def _end_span(self, error: BaseException | None) -> None:
        if self._span is not NOTHING:
            self._span.set({"howdah.bytes": self.bytes_written})
            self._span.end(error)

    def abort(self, why: str = "it was aborted") -> AbortableResult:
        """Give up what isn't acknowledged, and the file with it; never waits for anybody.

        The file stays as it is until its lease is recovered. What is acknowledged stays in it then;
        of a group that is being written, the stripes that are whole. Every later call raises
        `ClosedStream` with the reason.
        """
        already_closed, self._closed = self._closed, True
        if self._pid != process_id():
            # A forked child's copy: shutting its connections down would break the parent's.
            return AbortableResult(already_closed)
        if not self._completed:
            self._give_up(errors.PipelineFailed(f"{self.path}: {why}"))
            self._end_span(self._failure)
        self._on_end(self)
        return AbortableResult(already_closed)
