"""A datanode of this machine, asked for the files of its replicas over its Unix socket.

DfsClientShmManager in Hadoop.

1. Claim a slot of a segment that it gave; with none free, ask for a segment.
2. REQUEST_SHORT_CIRCUIT_FDS names block and slot; the answer is followed by one byte
   that carries both descriptors, which this side confirms with a byte if told to.
3. When the files are let go, RELEASE_SHORT_CIRCUIT_FDS frees the slot.

Nothing here is an error to a reader: what can't be had this way, the datanode reads for
it. A socket that is dead, or a datanode that doesn't do this at all, is left alone for
a while (`dfs.domain.socket.disable.interval.seconds`).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from howdah import errors
from howdah.client.peer_cache import PeerCache
from howdah.client.shortcircuit.access import LocalAccess
from howdah.client.shortcircuit.replica import LocalReplica, ReplicaRevoked
from howdah.client.shortcircuit.segments import Segment, SegmentRefused, Slot
from howdah.protocol.data_transfer.blocks import BlockToken, ExtendedBlock
from howdah.protocol.data_transfer.op_requests import Request, encode_request
from howdah.protocol.data_transfer.responses import BlockOpResponse, SlotReleased, read_response
from howdah.protocol.data_transfer.short_circuit import (
    RECEIPT_WANTED,
    ReleaseSlot,
    RequestDescriptors,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import read_delimited
from howdah.runtime import sockets

_log = logging.getLogger(__name__)
T = TypeVar("T")

_KEPT_CONNECTIONS = 4
_KEEP_S = 3.0
"""Less than datanodes keep them."""


class LocalDatanode:
    """What one client asks of the datanode behind one socket. Thread-safe."""

    def __init__(
        self,
        path: str,
        way: LocalAccess,
        *,
        client_name: Callable[[], str],
        timeout_s: float,
        disable_s: float,
        check: bool,
    ) -> None:
        self.path = path
        self._way = way
        self._client_name = client_name
        self._timeout_s = timeout_s
        self._disable_s = disable_s
        self._check = check
        self._kept = PeerCache(_KEPT_CONNECTIONS, _KEEP_S)
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._no_segments = False
        self._disabled_until_s = 0.0

    @property
    def is_usable(self) -> bool:
        return time.monotonic() >= self._disabled_until_s

    # --- getting files ---

    def fetch(self, block: ExtendedBlock, token: BlockToken) -> LocalReplica | None:
        """The files of a finalized replica; None where they can't be had now."""
        try:
            slot = self._claim()
        except (errors.HowdahError, OSError) as error:
            self._disable(error)
            return None
        try:
            slot_id = None if slot is None else slot.id
            return self._fetch(RequestDescriptors(block, slot_id, token=token), slot)
        except ReplicaRevoked as error:
            _log.debug("%s is not read from its files: %s", block, error)
            if slot is not None:
                self.free(slot)
        except errors.ChecksumMismatch as error:
            # The datanode will find so too when it reads for us, and tell the namenode.
            _log.info("%s is not read from its files: %s", block, error)
            if slot is not None:
                self.free(slot)
        except (errors.HowdahError, OSError) as error:
            if slot is not None:
                self._end(slot.segment)
            self._disable(error)
        return None

    def _fetch(self, request: RequestDescriptors, slot: Slot | None) -> LocalReplica | None:
        block = request.block
        connection, response = self._request(request, read_response)
        try:
            if not response.is_success:
                self._refused(block, response)
                self._cache_connection(connection)
                if slot is not None:
                    slot.give_back()
                return None
            mark = connection.recv_exactly(1)[0]
            descriptors = connection.take_descriptors()
            try:
                if len(descriptors) != 2:
                    raise errors.ProtocolViolation(
                        f"{self.path} passed {len(descriptors)} descriptors for {block}, not two"
                    )
                if mark == RECEIPT_WANTED:
                    connection.send_all(b"\0")
            except BaseException:
                for descriptor in descriptors:
                    os.close(descriptor)
                raise
            block_fd, meta_fd = descriptors
            replica = LocalReplica(
                self.path, block, block_fd, meta_fd, slot, self.free, check=self._check
            )
        except (ReplicaRevoked, errors.ChecksumMismatch):
            self._cache_connection(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._cache_connection(connection)
        return replica

    def _refused(self, block: ExtendedBlock, response: BlockOpResponse) -> None:
        reason = response.message or response.status.name
        if response.status is Status.ERROR_UNSUPPORTED and response.short_circuit_version is None:
            self._disable(errors.UnsupportedOperation(reason))
        else:
            _log.debug("%s is not read from its files: %s", block, reason)

    # --- slots ---

    def _claim(self) -> Slot | None:
        """A slot; None if the datanode has no such thing."""
        while True:
            with self._lock:
                if self._no_segments:
                    return None
                for segment in list(self._segments):
                    slot = segment.claim()
                    if slot is not None:
                        return slot
                    if not segment.is_alive:
                        self._segments.remove(segment)
                        segment.close()
            fresh = self._new_segment()
            with self._lock:
                if fresh is None:
                    self._no_segments = True
                else:
                    self._segments.append(fresh)

    def _new_segment(self) -> Segment | None:
        connection = self._connect()
        try:
            return Segment.request(connection, self._client_name())
        except SegmentRefused as error:
            _log.info("%s shares no memory, local reads go without: %s", self.path, error)
            connection.close()
            return None
        except BaseException:
            connection.close()
            raise

    def free(self, slot: Slot) -> None:
        """The files that were got with `slot` are closed."""
        segment = slot.segment
        if not segment.is_alive:
            self._end(segment)
            return
        try:
            connection, answer = self._request(
                ReleaseSlot(slot.id), lambda source: SlotReleased.decode(read_delimited(source))
            )
            self._cache_connection(connection)
            if answer.status is not Status.SUCCESS:
                raise errors.RemoteError(f"{self.path} did not free {slot.id}: {answer.error}")
        except (errors.HowdahError, OSError) as error:
            _log.info("all of segment %s is given up: %s", segment.name, error)
            self._end(segment)
            return
        slot.give_back()

    def end_unused(self) -> None:
        """Give back segments that serve nothing; a new one costs two messages."""
        with self._lock:
            unused = [segment for segment in self._segments if segment.is_unused]
            for segment in unused:
                self._segments.remove(segment)
        for segment in unused:
            segment.close()

    def _end(self, segment: Segment) -> None:
        with self._lock:
            if segment in self._segments:
                self._segments.remove(segment)
        segment.close()

    # --- connections ---

    def _connect(self) -> sockets.Connection:
        return self._way.connect(self.path, self._timeout_s)

    def _request(
        self, request: Request, read: Callable[[sockets.Connection], T]
    ) -> tuple[sockets.Connection, T]:
        """The answer to a request, and the connection that it came over."""
        data = encode_request(request)
        while (kept := self._kept.pop((self.path, 0))) is not None:
            try:
                kept.send_all(data)
                return kept, read(kept)
            except sockets.PeerClosed:
                kept.close()
            except BaseException:
                kept.close()
                raise
        fresh = self._connect()
        try:
            fresh.send_all(data)
            return fresh, read(fresh)
        except BaseException:
            fresh.close()
            raise

    def _cache_connection(self, connection: sockets.Connection) -> None:
        if connection.has_read_ahead:
            connection.close()
        else:
            self._kept.give_back((self.path, 0), connection)

    def _disable(self, error: Exception) -> None:
        self._disabled_until_s = time.monotonic() + self._disable_s
        _log.info(
            "replicas are read through their datanode, and not from their files by %s, "
            "for %g s: %s",
            self.path,
            self._disable_s,
            error,
        )

    def close(self) -> None:
        """Ends all segments, and with them what the datanode knows of this client."""
        with self._lock:
            segments, self._segments = self._segments, []
        for segment in segments:
            segment.close()
        self._kept.close()
