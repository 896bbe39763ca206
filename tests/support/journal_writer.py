"""What tests of journals share: records, versions, a writer with its serial numbers."""

from __future__ import annotations

from pathlib import Path

from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.segment_scan import encode_header
from howdah.formats.version import JournalVersion
from howdah.journalnode.journal import Journal
from howdah.journalnode.journal_storage import Fetcher, Sink
from howdah.journalnode.state.acceptor import RequestInfo

VERSION = JournalVersion(77, "CID-1", 0, -66)
CACHE_BYTES = 1 << 20


def record(txid: int, history: int = 0) -> bytes:
    return encode_record(txid, edits.SetGenstampV2Op(1000 * history + txid))


def records(first_txid: int, last_txid: int, history: int = 0) -> bytes:
    return b"".join(record(txid, history) for txid in range(first_txid, last_txid + 1))


def segment_bytes(first_txid: int, last_txid: int, history: int = 0) -> bytes:
    return encode_header(-66) + records(first_txid, last_txid, history)


def no_fetching(url: str, sink: Sink) -> None:
    raise AssertionError(f"nothing is fetched here: {url}")


def journal_at(root: Path, fetcher: Fetcher = no_fetching) -> Journal:
    return Journal(root.name, root, fetcher, CACHE_BYTES)


class Writer:
    """Calls of one epoch."""

    def __init__(self, journal: Journal, epoch: int) -> None:
        self.target = journal
        self.epoch = epoch
        self.serial = 0

    def info(self, committed_txid: int | None = None) -> RequestInfo:
        self.serial += 1
        return RequestInfo(self.epoch, self.serial, committed_txid)

    def promise(self) -> None:
        self.target.new_epoch(VERSION, self.epoch)

    def start(self, first_txid: int) -> None:
        self.target.start_segment(self.info(), first_txid, -66)

    def write(
        self, segment: int, first: int, last: int, committed: int | None = None, history: int = 0
    ) -> None:
        self.target.journal(
            self.info(committed), segment, first, last - first + 1, records(first, last, history)
        )

    def finish(self, first_txid: int, last_txid: int) -> None:
        self.target.finalize_segment(self.info(), first_txid, last_txid)
