"""The segments that the journal nodes of a quorum hand out, for readers (shell).

1. A majority of the nodes says which segments they have, and up to which transaction each knows
   the log to be committed.
2. A finished segment counts: its writer had all of it at a majority. Of several copies the next
   one is fetched where one cannot be had.
3. An unfinished segment is read up to the last committed transaction. A node that was away for a
   while has less of it, so the copy that has most is fetched first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri
from howdah.config.value_types import Address
from howdah.proto import qjournal_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.security.page_proofs import PageProofs
from howdah.web.http_client import fetch, split_url
from howdah.web.segment_transfer import SegmentWanted

PROTOCOL: Final = "org.apache.hadoop.hdfs.qjournal.protocol.QJournalProtocol"
_CONNECT_TIMEOUT_S: Final = 5.0
_IN_MEMORY_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class NodesSegment:
    """A segment, and where its copies are. `last_txid` is None where it is unfinished; of that the
    transactions up to `committed_txid` are committed."""

    urls: tuple[str, ...]
    first_txid: int
    last_txid: int | None
    committed_txid: int | None = None


@dataclass(frozen=True, slots=True)
class JournalNodes:
    """The nodes of one journal, as the driver and the tasks ask them."""

    uri: JournalUri
    settings: tuple[tuple[str, str], ...]
    user: str | None

    @classmethod
    def of(cls, uri: JournalUri, conf: Configuration, user: str | None) -> JournalNodes:
        return cls(uri, tuple(conf.items()), user)

    def segments(self) -> list[NodesSegment]:
        """Raises Unreachable where fewer than a majority answer."""
        listed: list[tuple[str, pb.GetEditLogManifestResponseProto]] = []
        failures: list[str] = []
        for node in self.uri.nodes:
            try:
                listed.append(self._listed(node))
            except errors.HowdahError as error:
                failures.append(f"{node[0]}:{node[1]}: {error}")
        if len(listed) <= len(self.uri.nodes) // 2:
            raise errors.Unreachable(
                f"journal {self.uri.journal_id}: {len(listed)} of {len(self.uri.nodes)} journal "
                f"nodes answered, which are no majority: {'; '.join(failures)}"
            )
        return committed_segments(self.uri.journal_id, listed)

    def _listed(self, node: Address) -> tuple[str, pb.GetEditLogManifestResponseProto]:
        """Where a node hands out segments, and those that it has."""
        conf = Configuration(dict(self.settings))
        client = RpcClient(
            node,
            PROTOCOL,
            user=self.user,
            connect_timeout_s=_CONNECT_TIMEOUT_S,
            call_timeout_s=conf.get(keys.DFS_QJOURNAL_SELECT_INPUT_STREAMS_TIMEOUT_MS),
        )
        with closing(client):
            request = pb.GetEditLogManifestRequestProto(
                jid=pb.JournalIdProto(identifier=self.uri.journal_id),
                sinceTxId=0,
                inProgressOk=True,
            )
            answer = client.call("getEditLogManifest", request, pb.GetEditLogManifestResponseProto)
        # The host is the one that answered: what a node says of itself may be a wildcard.
        parts = split_url(answer.fromURL) if answer.fromURL else None
        port = (parts.port if parts else None) or answer.httpPort
        is_secure = parts is not None and parts.scheme == "https"
        return str(Place(is_secure, node[0], port)), answer

    @contextmanager
    def open(self, urls: tuple[str, ...]) -> Iterator[IO[bytes]]:
        """A segment, whole, from the first node that hands it out. Raises the last one's error."""
        conf = Configuration(dict(self.settings))
        for number, url in enumerate(urls, 1):
            with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
                try:
                    fetch(
                        url,
                        file.write,
                        tls=ClientTls(conf),
                        connect_timeout_s=conf.get(keys.DFS_QJOURNAL_HTTP_OPEN_TIMEOUT_MS),
                        read_timeout_s=conf.get(keys.DFS_QJOURNAL_HTTP_READ_TIMEOUT_MS),
                        proofs=PageProofs(self.user, keeps_cookies=False),
                    )
                except errors.HowdahError:
                    if number == len(urls):
                        raise
                    continue
                file.seek(0)
                yield file
                return


def committed_segments(
    journal_id: str, listed: list[tuple[str, pb.GetEditLogManifestResponseProto]]
) -> list[NodesSegment]:
    """The segments that count, of what several nodes say that they have: by where a node hands
    them out."""
    committed = max((answer.manifest.committedTxnId for _, answer in listed), default=0)
    copies: dict[tuple[int, int | None], list[tuple[int, str]]] = {}
    for place, answer in listed:
        for log in answer.manifest.logs:
            last_txid = None if log.isInProgress else log.endTxId
            if last_txid is None and log.startTxId > committed:
                continue
            url = place + SegmentWanted(journal_id, log.startTxId).target()
            copies.setdefault((log.startTxId, last_txid), []).append((log.endTxId, url))
    return [
        NodesSegment(
            tuple(url for _, url in sorted(found, key=lambda copy: -copy[0])),
            first_txid,
            last_txid,
            committed if last_txid is None else None,
        )
        for (first_txid, last_txid), found in copies.items()
    ]
