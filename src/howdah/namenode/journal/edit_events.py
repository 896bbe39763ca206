"""getEditsFromTxid: the log's recent edits, read from its segments as events (shell).
Hadoop: NameNodeRpcServer.getEditsFromTxid.

The calls read files, so they run on threads beside the loop.

- An answer has no edit that a crash could take back: reading ends with the last durable
  transaction.
- A client that asks for edits that do not exist yet gets an empty answer.
- A client that asks for edits that were purged gets the oldest that are left. It sees by
  their transaction ids that it missed some.
- A client that keeps up asks for the end of the same segment again and again. The reader
  remembers where the last answer ended.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from pathlib import Path

from howdah import errors
from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.journal.log_reader import LogReader
from howdah.namenode.state.edit_log.inotify import EventsBuilder
from howdah.namenode.state.edit_log.journal import SegmentSource
from howdah.proto import client_namenode_pb2 as pb

log = logging.getLogger(__name__)


class Watching:
    """Reads one namenode's edits for watching clients. Any thread may call."""

    def __init__(
        self,
        directories: Callable[[], list[Path]],
        max_events: int,
        shared: SegmentSource | None = None,
    ) -> None:
        """`directories` are the edits directories that work, best first. What another namenode
        wrote as the active is in the `shared` log alone."""

        def own() -> list[SegmentSource]:
            return [DirectorySource(directory) for directory in directories()]

        self._own = LogReader(own)
        self._all = None if shared is None else LogReader(lambda: [*own(), shared])
        self._max_events = max_events

    def events(self, from_txid: int, durable_txid: int) -> pb.EventsListProto:
        """The events of the edits from `from_txid` on, as many as fit one answer.

        Raises RemoteError if they can be read from no directory.
        """
        from_txid = max(from_txid, 1)
        if self._all is None:
            return self._events(self._own, from_txid, durable_txid, or_oldest=True)
        try:
            return self._events(self._own, from_txid, durable_txid, or_oldest=False)
        except errors.RemoteError:
            return self._events(self._all, from_txid, durable_txid, or_oldest=True)

    def _events(
        self, reader: LogReader, from_txid: int, durable_txid: int, *, or_oldest: bool
    ) -> pb.EventsListProto:
        builder = EventsBuilder(self._max_events, durable_txid)
        edits = reader.edits(from_txid, durable_txid, or_oldest=or_oldest)
        try:
            with contextlib.closing(edits):
                for _, placed in edits:
                    if not builder.add(placed.logged):
                        break
        except OSError as error:
            log.info("edits from %d on cannot be read for a watching client: %s", from_txid, error)
            raise errors.RemoteError(
                f"the edits from {from_txid} on cannot be read: {error}"
            ) from error
        return builder.events
