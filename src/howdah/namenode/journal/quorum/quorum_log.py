"""A quorum of journal nodes as the log that the namenodes of a nameservice share (shell).
Hadoop: QuorumJournalManager, its reading half above all.

Q15. **Finished segments** are the log. A majority of the nodes lists them: each was finished
     on a majority, so one of those that answer has it. Unfinished ones are left out: a node
     that was cut off may have one of a former writer that never became the log. A reader that
     lacks little has it from the nodes' memory, by the rule of Q16; else from files.
Q16. **What is being written** is believed as far as a majority has it alike (`majority`). It
     comes from the nodes' memory (getJournaledEdits), and if that does not reach back far
     enough, from the finished segments, and the files of the unfinished one.

A node that is silent holds up its own thread; the next readings do without it until then.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import BinaryIO, Final, TypeVar, cast

from howdah import errors
from howdah.config.journal_uri import JournalUri
from howdah.formats.edits.codec import decode_record
from howdah.formats.edits.edits import LoggedEdit, Opcode
from howdah.formats.edits.segment_scan import SegmentReader, Source
from howdah.formats.version import NamenodeVersion
from howdah.namenode.journal.directory_journal import Resumed
from howdah.namenode.journal.log_reader import LogReader
from howdah.namenode.journal.quorum.channel import Channel, JournalId, Listed, channels
from howdah.namenode.journal.quorum.quorum_journal import QuorumJournal, take_over
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.state.edit_log.segment_selection import SegmentCopy
from howdah.namenode.state.quorum.majority import agreed, agreed_bytes, trusted_records
from howdah.namenode.state.quorum.quorum import QuorumLost, majority
from howdah.runtime import background_threads
from howdah.security.page_proofs import PageProofs
from howdah.web.http_client import fetch

log = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE_S: Final = 0.1
"""Of a reader with the nodes that are left, when a majority has answered."""
FILES_REST: Final = 9
"""Of a reader of unfinished segments: so many times as long as their files took to come, none is
fetched again. A file comes whole, whatever is new in it."""
MOST_FROM_MEMORY: Final = 50_000
"""So many edits of finished segments are asked of the nodes' memory. Files come faster, since one
node sends them; but first they are looked for, and read from a disk."""
_IN_MEMORY_BYTES: Final = 4 << 20
_BLOCK_BYTES: Final = 1 << 16


class QuorumLog:
    """`journal.shared_log.SharedLog` of one journal."""

    def __init__(
        self,
        uri: JournalUri,
        version: NamenodeVersion,
        settings: QuorumSettings,
        nameservice: str | None = None,
    ) -> None:
        hosts = ";".join(f"{host}:{port}" for host, port in uri.nodes)
        self._name = f"qjournal://{hosts}/{uri.journal_id}"
        self._uri = uri
        self._nameservice = nameservice
        self._settings = settings
        self._journal: QuorumJournal | None = None
        self._files_from_ms = 0
        self._open(version)

    def _open(self, version: NamenodeVersion) -> None:
        self._id = JournalId(self._uri.journal_id, version, self._nameservice)
        self._readers = _Readers(channels(self._uri.nodes, self._id, self._settings))
        # A node that still works on what was asked in vain is left out of what is asked instead.
        self._end_readers = _Readers(channels(self._uri.nodes, self._id, self._settings))
        self._source = QuorumSource(self._name, self._readers, self._settings)
        self._log_reader = LogReader(lambda: [self._source])

    @property
    def name(self) -> str:
        return self._name

    def source(self) -> QuorumSource:
        return self._source

    def edits(self, from_txid: int, *, unfinished: bool) -> Iterator[LoggedEdit]:
        next_txid = from_txid
        if unfinished:
            try:
                for logged in self._from_memory(next_txid, self._readers):
                    next_txid = logged.txid + 1
                    yield logged
                return
            except OSError as error:
                log.debug("edits from %d on are read from segments: %s", next_txid, error)
        else:
            for logged in self._finished_in_memory(next_txid):
                next_txid = logged.txid + 1
                yield logged
        for _, placed in self._log_reader.edits(next_txid, None):
            next_txid = placed.logged.txid + 1
            yield placed.logged
        if unfinished:
            yield from self._unfinished(next_txid)

    def _from_memory(self, from_txid: int, readers: _Readers) -> Iterator[LoggedEdit]:
        """Q16. Raises OSError where no majority has them in memory."""
        next_txid = from_txid
        while records := self._agreed_from(next_txid, readers):
            for record in records:
                logged = decode_record(record)
                if logged.txid != next_txid:
                    raise errors.CorruptEditLog(
                        f"{self.name} sends transaction {logged.txid} in the place of {next_txid}"
                    )
                yield logged
                next_txid += 1

    def _finished_in_memory(self, from_txid: int) -> Iterator[LoggedEdit]:
        """What finished segments have (Q15), as far as that is little, and a majority has it in
        memory: whoever takes the log over waits for no file. Without a majority there is nothing of
        it: files are read then."""
        try:
            yield from self._end_in_memory(from_txid)
        except OSError as error:
            log.debug("finished segments are read, since memory has not all: %s", error)

    def _end_in_memory(self, from_txid: int) -> Iterator[LoggedEdit]:
        readers = self._end_readers
        listed = readers.majority_answers(
            "getEditLogManifest", lambda node: node.manifest(from_txid, unfinished=False)
        )
        ends = [
            segment.last_txid
            for listing in listed.values()
            for segment in listing.segments
            if not segment.in_progress
        ]
        end_txid = max(ends, default=0)
        if not from_txid <= end_txid < from_txid + MOST_FROM_MEMORY:
            return
        for logged in self._from_memory(from_txid, readers):
            if logged.txid > end_txid:
                return
            yield logged

    def _agreed_from(self, txid: int, readers: _Readers) -> Sequence[bytes]:
        """If those who answered first have nothing in common, the others are waited for a
        moment."""
        needed = readers.needed

        def is_enough(logs: Sequence[Sequence[bytes]]) -> bool:
            return not any(logs) or bool(agreed(logs, needed))

        answers = readers.majority_answers(
            "getJournaledEdits", lambda node: node.edits(txid), is_enough=is_enough
        )
        records = agreed(list(answers.values()), needed)
        if records and _begins_segment(records[-1]):
            listed = self._listed(txid, readers)
            return trusted_records(records, txid, _committed_txid(listed), _begins_segment)
        return records

    def _listed(self, txid: int, readers: _Readers) -> dict[Channel, Listed]:
        return readers.majority_answers(
            "getEditLogManifest", lambda node: node.manifest(txid, unfinished=True)
        )

    def _unfinished(self, from_txid: int) -> Iterator[LoggedEdit]:
        """Read unfinished segments from files (Q16), for a reader that comes late to a long
        segment. Files may come from recoveries that were not finished, and then a majority may have
        alike what is lost again: only what is known to be committed counts. A long segment is not
        fetched all the time: then the reader gets the edits later, and all at once."""
        begun_ms = self._settings.clock_ms()
        if begun_ms < self._files_from_ms:
            return
        listed = self._listed(from_txid, self._readers)
        committed_txid = _committed_txid(listed)
        if committed_txid < from_txid:
            return
        holders = [
            (node, segment.first_txid)
            for node, listing in listed.items()
            for segment in listing.segments
            if segment.in_progress and segment.first_txid <= from_txid <= segment.last_txid
        ]
        if len(holders) < self._readers.needed:
            return
        first_txid = max(first for _, first in holders)
        with contextlib.ExitStack() as held:
            files = []
            for node, first in holders:
                if first != first_txid:
                    continue
                try:
                    files.append(held.enter_context(self._source.fetched(node.url_of(first))))
                except OSError as error:
                    log.info("%s does not send the segment %d: %s", node.name, first, error)
            ended_ms = self._settings.clock_ms()
            self._files_from_ms = ended_ms + FILES_REST * (ended_ms - begun_ms)
            if len(files) < self._readers.needed:
                return
            source = _Agreed(files, self._readers.needed)
            reader = SegmentReader(source, f"{self.name}: {first_txid}", first_txid=first_txid)
            for placed in reader:
                if placed.logged.txid > committed_txid:
                    return
                if placed.logged.txid >= from_txid:
                    yield placed.logged

    def keeps(self, first_txid: int, last_txid: int) -> bool:
        """By what a majority says of its files. The first record of a segment is readable when it
        is known to be committed: an idle writer of Hadoop's tells nobody that it is."""

        def holders(listings: Iterable[Listed]) -> int:
            return sum(
                any(
                    segment.first_txid <= first_txid and last_txid <= segment.last_txid
                    for segment in listing.segments
                )
                for listing in listings
            )

        needed = self._readers.needed
        listed = self._readers.majority_answers(
            "getEditLogManifest",
            lambda node: node.manifest(first_txid, unfinished=True),
            is_enough=lambda listings: holders(listings) >= needed,
        )
        return holders(listed.values()) >= needed

    def take_over(self) -> QuorumJournal:
        """Q1 to Q8."""
        nodes = channels(self._uri.nodes, self._id, self._settings)
        self._journal = take_over(self.name, nodes, self._settings)
        return self._journal

    def purge_before(self, txid: int) -> None:
        if self._journal is not None:
            self._journal.purge_before(txid)

    def discard_from(self, txid: int) -> None:
        """All nodes have to take part: one that kept them would have another past. Twice: in
        between one may have fetched what it lacked from one that still had it."""
        # With connections of their own: a node may still work on a question of a reader.
        askers = _Readers(channels(self._uri.nodes, self._id, self._settings))
        with contextlib.closing(askers):
            for _ in range(2):
                askers.ask_all("discardSegments", lambda node: node.discard_from(txid))

    def is_formatted(self) -> bool:
        """Whether any node has something of the journal. Raises OSError if one of them does
        not answer: nobody knows what it has."""
        return any(self._readers.ask_all("isFormatted", lambda node: node.is_formatted()))

    def format(self, version: NamenodeVersion) -> None:
        """All nodes have to take part. Raises OSError."""
        self._readers.ask_all("format", lambda node: node.format(version))
        self.close()
        self._open(version)
        log.info("formatted %s as the shared log of %s", self.name, version.cluster_id)

    def close(self) -> None:
        self._readers.close()
        self._end_readers.close()


def _committed_txid(listed: dict[Channel, Listed]) -> int:
    return max(listing.committed_txid for listing in listed.values())


def _begins_segment(record: bytes) -> bool:
    return record[0] == Opcode.OP_START_LOG_SEGMENT


class QuorumSource:
    """Reads the finished segments of a quorum (Q15)."""

    def __init__(self, name: str, readers: _Readers, settings: QuorumSettings) -> None:
        self._name = name
        self._readers = readers
        self._settings = settings
        self._proofs = PageProofs(settings.user, keeps_cookies=False)

    @property
    def name(self) -> str:
        return self._name

    def segments(self, *, scans: bool) -> Sequence[SegmentCopy]:
        listed = self._readers.majority_answers(
            "getEditLogManifest", lambda node: node.manifest(0, unfinished=False)
        )
        return [
            SegmentCopy(
                self.name,
                node.url_of(segment.first_txid),
                segment.first_txid,
                segment.last_txid,
                segment.last_txid,
            )
            for node, listing in listed.items()
            for segment in listing.segments
            if not segment.in_progress
        ]

    @contextlib.contextmanager
    def open(self, copy: SegmentCopy, skip_bytes: int = 0) -> Iterator[Source]:
        with self.fetched(copy.path) as file:
            yield Resumed(file, skip_bytes) if skip_bytes else file

    @contextlib.contextmanager
    def fetched(self, url: str) -> Iterator[BinaryIO]:
        """A segment, whole, in memory or in a file of this machine. Raises OSError."""
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file:
            fetch(
                url,
                file.write,
                tls=self._settings.tls,
                connect_timeout_s=self._settings.http_open_timeout_s,
                read_timeout_s=self._settings.http_read_timeout_s,
                proofs=self._proofs,
            )
            file.seek(0)
            yield cast(BinaryIO, file)


class _Readers:
    """Asks all nodes at once. A node that still works on a question is not asked the next one:
    it counts as one that does not answer."""

    def __init__(self, nodes: dict[str, Channel]) -> None:
        self._nodes = nodes
        self.needed = majority(len(nodes))
        self._lock = threading.Lock()
        self._busy: set[str] = set()

    def majority_answers(
        self,
        operation: str,
        question: Callable[[Channel], T],
        *,
        is_enough: Callable[[Sequence[T]], bool] = lambda answers: True,
    ) -> dict[Channel, T]:
        """Return the answers of a majority; of more, while they are not enough. Raises
        QuorumLost."""
        answers, failures = self._collect(
            question, lambda said: len(said) >= self.needed and is_enough(said), PATIENCE_S
        )
        if len(answers) < self.needed:
            raise QuorumLost(
                f"{operation} needs {self.needed} of {len(self._nodes)} journal nodes, and "
                f"{len(answers)} answered: {_failures_text(failures)}"
            )
        return answers

    def ask_all(self, operation: str, question: Callable[[Channel], T]) -> list[T]:
        """Return the answers of all. Raises QuorumLost."""
        answers, failures = self._collect(question, lambda said: False, None)
        if failures:
            raise QuorumLost(f"{operation} needs all journal nodes: {_failures_text(failures)}")
        return list(answers.values())

    def close(self) -> None:
        for node in self._nodes.values():
            node.close()

    def _collect(
        self,
        question: Callable[[Channel], T],
        is_enough: Callable[[Sequence[T]], bool],
        patience_s: float | None,
    ) -> tuple[dict[Channel, T], dict[str, OSError]]:
        answers: dict[Channel, T] = {}
        failures: dict[str, OSError] = {}
        asked: dict[Future[T], Channel] = {}
        for name, node in self._nodes.items():
            with self._lock:
                if name in self._busy:
                    failures[name] = errors.CallTimeout("it has not answered the last question")
                    continue
                self._busy.add(name)
            ask = functools.partial(self._question, node, question)
            asking = background_threads.begin(ask, f"journal reader {name}")
            if asking.done() and isinstance(asking.exception(), background_threads.NoThread):
                self._end(node)  # It was not asked.
            asked[asking] = node
        left = set(asked)
        while left and len(failures) <= len(self._nodes) - self.needed:
            if is_enough(list(answers.values())):
                break
            # A node that hangs must not hold up what a majority has answered.
            limit_s = patience_s if len(answers) >= self.needed else None
            done, left = wait(left, limit_s, return_when=FIRST_COMPLETED)
            if not done:
                break
            for future in done:
                node = asked[future]
                try:
                    answers[node] = future.result()
                except OSError as error:
                    failures[node.name] = error
        return answers, failures

    def _question(self, node: Channel, question: Callable[[Channel], T]) -> T:
        try:
            return question(node)
        finally:
            self._end(node)

    def _end(self, node: Channel) -> None:
        with self._lock:
            self._busy.discard(node.name)


def _failures_text(failures: dict[str, OSError]) -> str:
    return "; ".join(f"{name}: {error}" for name, error in failures.items())


class _Agreed:
    """The bytes that a majority of files has alike, from their beginning."""

    def __init__(self, files: Sequence[BinaryIO], needed: int) -> None:
        self._files = list(files)
        self._needed = needed

    def read(self, count: int, /) -> bytes:
        blocks = [file.read(min(count, _BLOCK_BYTES)) for file in self._files]
        block = agreed_bytes(blocks, self._needed)
        # Those that have something else are asked no more.
        self._files = [
            file for file, have in zip(self._files, blocks, strict=True) if have == block
        ]
        return block
