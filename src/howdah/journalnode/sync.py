"""Journal sync: a node fetches from the others the finished segments that it missed (shell;
step A11 in docs/how-it-works/journal.md). Hadoop: JournalNodeSyncer.

One of the other nodes after the other is asked for its list. A segment is fetched if nothing
of it is finished here and all of it is known to be committed; so what comes is what every
recovery would decide. It lies in `edits.sync` until it is whole and checked, and then gets
its name. A segment that failed stays away until the next round; the others still come.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence

from howdah import errors
from howdah.config.value_types import Address
from howdah.formats.version import JournalVersion
from howdah.journalnode.journal import Journal
from howdah.journalnode.node import Journals
from howdah.journalnode.protocol import INTER_QJOURNAL, QJOURNAL
from howdah.journalnode.state import messages
from howdah.journalnode.state.journal_state import SegmentState
from howdah.proto import datanode_namenode_pb2 as server_pb
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.runtime import unexpected_errors
from howdah.runtime.tls.http_policy import Place
from howdah.web.http_client import split_url
from howdah.web.image_transfer import storage_info
from howdah.web.segment_transfer import SegmentWanted

log = logging.getLogger(__name__)


class Peer:
    """Another node, as far as sync asks it."""

    def __init__(self, address: Address, timeout_s: float, user: str | None = None) -> None:
        """It is called as `user`, by default as the process."""
        self.address = address
        self._rpc = RpcClient(
            address,
            INTER_QJOURNAL,
            user=user,
            connect_timeout_s=timeout_s,
            call_timeout_s=timeout_s,
        )
        self._qjournal = RpcClient(
            address, QJOURNAL, user=user, connect_timeout_s=timeout_s, call_timeout_s=timeout_s
        )

    def __str__(self) -> str:
        return "{}:{}".format(*self.address)

    def finished(self, journal_id: str) -> tuple[str, list[SegmentState]]:
        """Where it hands out segments, and those that it has. Raises HowdahError."""
        answer = self._manifest(journal_id)
        # The host is the one that answered: what a node says of itself may be a wildcard.
        parts = split_url(answer.fromURL) if answer.fromURL else None
        port = (parts.port if parts else None) or answer.httpPort
        is_secure = parts is not None and parts.scheme == "https"
        return str(Place(is_secure, self.address[0], port)), messages.offered_segments(
            answer.manifest
        )

    def version(self, journal_id: str) -> JournalVersion:
        """Whose its journal is. Raises HowdahError."""
        request = pb.GetStorageInfoRequestProto(jid=pb.JournalIdProto(identifier=journal_id))
        answer = self._rpc.call("getStorageInfo", request, server_pb.StorageInfoProto)
        return messages.version(answer)

    def promised_epoch(self, journal_id: str) -> int:
        """Of one that is Hadoop's, and that asks who calls, it cannot be learnt. Raises
        HowdahError."""
        manifest = self._manifest(journal_id)
        if manifest.HasField("lastPromisedEpoch"):
            return messages.number("epoch", manifest.lastPromisedEpoch)
        request = pb.GetJournalStateRequestProto(jid=pb.JournalIdProto(identifier=journal_id))
        answer = self._qjournal.call("getJournalState", request, pb.GetJournalStateResponseProto)
        return messages.number("epoch", answer.lastPromisedEpoch)

    def _manifest(self, journal_id: str) -> pb.GetEditLogManifestResponseProto:
        request = pb.GetEditLogManifestRequestProto(
            jid=pb.JournalIdProto(identifier=journal_id), sinceTxId=0
        )
        return self._rpc.call(
            "getEditLogManifestFromJournal", request, pb.GetEditLogManifestResponseProto
        )

    def close(self) -> None:
        self._rpc.close()
        self._qjournal.close()


def sync_journal(journal: Journal, peer: Peer) -> int:
    """Fetch what `journal` lacks and `peer` has; the number of segments. Raises HowdahError if
    the list cannot be had; a segment that cannot is logged."""
    version = journal.version()
    place, offered = peer.finished(journal.journal_id)
    info = storage_info(
        version.layout_version, version.namespace_id, version.ctime_ms, version.cluster_id
    )
    fetched = 0
    for segment in journal.missing(offered):
        wanted = SegmentWanted(journal.journal_id, segment.first_txid, info, in_progress_ok=False)
        try:
            fetched += journal.fetch_missing(segment, place + wanted.target())
        except errors.HowdahError as error:
            log.error("journal %s misses %s: %s", journal.journal_id, segment, error)
    return fetched


def join(journals: Journals, journal_id: str, peers: Sequence[Peer]) -> bool:
    """Make a journal that this node has not, and a majority of the quorum has (A13). Any epoch
    that a majority promised, the lost node among them, is known to one of those that answer.

    False if too few answer, or none has the journal. Raises HowdahError.
    """
    versions: list[JournalVersion] = []
    epochs: list[int] = []
    for peer in peers:
        try:
            version, epoch = peer.version(journal_id), peer.promised_epoch(journal_id)
        except errors.HowdahError as error:
            log.info("journal %s is not made by what %s has: %s", journal_id, peer, error)
            continue
        versions.append(version)
        epochs.append(epoch)
    if len(versions) <= (len(peers) + 1) // 2:
        return False
    if len({(version.namespace_id, version.cluster_id) for version in versions}) > 1:
        raise errors.InconsistentStorage(
            f"journal {journal_id} is of several filesystems: {', '.join(map(str, peers))}"
        )
    journals.to_format(journal_id, "").join(versions[0], max(epochs))
    return True


class Syncer:
    """Asks in turn, on a thread of its own, until it is stopped."""

    def __init__(
        self,
        journals: Journals,
        peers: Mapping[str, Sequence[Peer]],
        interval_s: float,
        *,
        formats: bool = False,
    ) -> None:
        """`peers` are the other nodes of each journal. With `formats`, journals that they have
        are made here."""
        self._journals = journals
        self._peers = peers
        self._interval_s = interval_s
        self._formats = formats
        self._turn = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="journal sync", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A transfer that is under way is broken off with the process."""
        self._stop.set()

    def round(self) -> int:
        """Ask the next node of each journal; the number of segments that came."""
        fetched = 0
        if self._formats:
            self._join()
        for journal in self._journals.all():
            peers = self._peers.get(journal.journal_id, ())
            if not peers or not journal.is_formatted():
                continue
            peer = peers[self._turn % len(peers)]
            try:
                fetched += sync_journal(journal, peer)
            except errors.HowdahError as error:
                log.info("journal %s is not synced with %s: %s", journal.journal_id, peer, error)
        self._turn += 1
        return fetched

    def _join(self) -> None:
        for journal_id, peers in self._peers.items():
            if peers and not self._journals.is_formatted(journal_id, ""):
                try:
                    join(self._journals, journal_id, peers)
                except errors.HowdahError as error:
                    log.error("journal %s cannot be made: %s", journal_id, error)

    def _work(self) -> None:
        wait_s = 0.0  # What was missed while the node was away need not wait.
        while not self._stop.wait(wait_s):
            wait_s = self._interval_s
            try:
                self.round()
            except Exception as error:  # noqa: BLE001 - the thread has to go on
                unexpected_errors.note("journal sync", error, "it is tried again")
        for peer in _round_robin(self._peers):
            peer.close()


def _round_robin(peers: Mapping[str, Sequence[Peer]]) -> Iterable[Peer]:
    return (peer for group in peers.values() for peer in group)
