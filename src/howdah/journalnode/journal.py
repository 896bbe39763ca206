"""One journal of a node: the acceptor, its files, and the edits in memory, one call at a time
(shell). Hadoop: Journal.

A call is planned by the acceptor, its changes are carried out on the disk and applied, and
then it is answered. When anything goes wrong in between, nothing is known any more but what
the files say: the acceptor is thrown away, and the next call begins with loading them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from howdah import errors
from howdah.formats.version import JournalVersion
from howdah.journalnode import upgrading
from howdah.journalnode.election_service import boot_ms
from howdah.journalnode.journal_storage import Fetcher, JournalStorage
from howdah.journalnode.state.acceptor import (
    Acceptor,
    NewEpoch,
    Plan,
    Prepared,
    RequestInfo,
)
from howdah.journalnode.state.edit_batch import offsets
from howdah.journalnode.state.edits_cache import CachedEdits, EditsCache
from howdah.journalnode.state.journal_state import (
    Append,
    Discard,
    Fetch,
    OpenSegment,
    Replace,
    SegmentState,
    Write,
)
from howdah.journalnode.state.status import INTERVALS_S, JournalMetrics, Status
from howdah.runtime.metrics.quantiles import Quantiles

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 16 << 20
"""Of `getJournaledEdits`, whatever number of transactions is asked for."""


class Journal:
    """Answers for one journal. Any thread may call; all raise HowdahError."""

    def __init__(
        self,
        journal_id: str,
        root: Path,
        fetcher: Fetcher,
        cache_bytes: int,
        clock_ms: Callable[[], int] = boot_ms,
    ) -> None:
        self.journal_id = journal_id
        self.root = root
        self._clock_ms = clock_ms
        self._storage = JournalStorage(root, fetcher)
        self._cache = EditsCache(cache_bytes)
        self._lock = threading.Lock()
        self._fetching = threading.Lock()
        self._acceptor: Acceptor | None = None
        self._version: JournalVersion | None = None
        self._may_reopen = True
        """Since a segment was begun, no record of it failed, and no upgrade has changed the
        directory."""
        self._suspect_txid: int | None = None
        self._pasts = 0
        """How often what was known of the journal was given up: what is fetched from other nodes
        meanwhile may be of another past."""
        now_s = time.monotonic()
        self.figures = JournalMetrics(
            latencies=tuple(Quantiles(interval_s, now_s) for interval_s in INTERVALS_S)
        )

    def __repr__(self) -> str:
        return f"Journal({self.journal_id!r}, {str(self.root)!r})"

    def close(self) -> None:
        """Give up files and lock; unfinished segments stay unfinished."""
        with self._lock:
            self._forget()
            self._storage.close()

    # Whose it is.

    def is_formatted(self) -> bool:
        """Also one that is in the middle of an upgrade: to format that would lose it."""
        with self._lock, self._naming():
            storage = self._storage
            return self._acceptor is not None or storage.is_formatted() or storage.is_unfinished()

    def version(self) -> JournalVersion:
        with self._lock:
            self._loaded()
            assert self._version is not None, "what is loaded has a version"
            return self._version

    def check_namespace(self, namespace_id: int, cluster_id: str) -> None:
        """Raises InconsistentStorage for another namespace."""
        mine = self.version()
        if namespace_id != mine.namespace_id:
            raise errors.InconsistentStorage(
                f"Incompatible namespaceID for journal {self.root}: NameNode has nsId "
                f"{namespace_id} but storage has nsId {mine.namespace_id}"
            )
        if cluster_id != mine.cluster_id:
            raise errors.InconsistentStorage(
                f"Incompatible clusterID for journal {self.root}: NameNode has clusterId "
                f"'{cluster_id}' but storage has clusterId '{mine.cluster_id}'"
            )

    def format(self, version: JournalVersion, *, force: bool) -> None:
        """Make it new and empty."""
        log.info("formatting %s for namespace %d", self.root, version.namespace_id)
        with self._lock, self._naming():
            upgrading.check_free(self._storage, force=force)
            self._forget()
            upgrading.format_journal(self._storage, version, _wall_ms())

    def join(self, version: JournalVersion, epoch: int) -> None:
        """Make it new and empty, in the place of one that was lost. `epoch` is the latest that
        a majority of the other nodes knows of (A13)."""
        log.warning(
            "%s takes the place of a journal that was lost: epoch %d is promised, and it has no "
            "vote until a writer begins a segment here",
            self.root,
            epoch,
        )
        with self._lock, self._naming():
            upgrading.check_free(self._storage, force=False)
            self._forget()
            upgrading.format_journal(self._storage, version, _wall_ms(), joins_from_epoch=epoch)

    # The calls of writers.

    @property
    def promised_epoch(self) -> int:
        with self._lock:
            return self._loaded().promised_epoch()

    def new_epoch(self, version: JournalVersion, epoch: int) -> NewEpoch:
        self.check_namespace(version.namespace_id, version.cluster_id)
        answer = self._run(lambda acceptor, now_ms: acceptor.new_epoch(epoch, now_ms))
        log.info("journal %s has promised epoch %d", self.journal_id, epoch)
        return answer

    def start_segment(self, info: RequestInfo, first_txid: int, layout_version: int) -> None:
        self._run(
            lambda acceptor, now_ms: acceptor.start_segment(
                info, first_txid, layout_version, now_ms
            )
        )

    def journal(
        self, info: RequestInfo, segment_txid: int, first_txid: int, count: int, records: bytes
    ) -> None:
        begins = offsets(records, first_txid, count)
        self._run(
            lambda acceptor, now_ms: acceptor.journal(
                info, segment_txid, first_txid, count, records, now_ms
            ),
            begins,
        )

    def heartbeat(self, info: RequestInfo, *, resigns: bool) -> None:
        self._run(lambda acceptor, now_ms: acceptor.heartbeat(info, now_ms, resigns=resigns))

    def finalize_segment(self, info: RequestInfo, first_txid: int, last_txid: int) -> None:
        self._run(
            lambda acceptor, now_ms: acceptor.finalize_segment(info, first_txid, last_txid, now_ms)
        )

    def purge(self, info: RequestInfo, min_txid: int) -> None:
        self._run(lambda acceptor, now_ms: acceptor.purge(info, min_txid, now_ms))

    def prepare_recovery(self, info: RequestInfo, segment_txid: int) -> Prepared:
        answer = self._run(
            lambda acceptor, now_ms: acceptor.prepare_recovery(info, segment_txid, now_ms)
        )
        log.info("recovery of segment %d of %s: %s", segment_txid, self.journal_id, answer)
        return answer

    def accept_recovery(self, info: RequestInfo, segment: SegmentState, from_url: str) -> None:
        """A segment that is fetched may take its time, and another writer must not wait for
        it: other calls are answered meanwhile. If one of them changed what the decision was
        about, the decision is dropped."""
        with self._lock, self._naming():
            acceptor = self._loaded()
            plan = acceptor.accept_recovery(info, segment, from_url, self._clock_ms())
            fetches = [write for write in plan.writes if isinstance(write, Fetch)]
            before = plan.writes[: plan.writes.index(fetches[0])] if fetches else plan.writes
            self._carry_out(acceptor, before)
            if not fetches:
                plan.result()
            known = self._known_of(segment.first_txid)
        for fetch in fetches:
            self._fetch(acceptor, fetch, known, plan.writes[len(before) + 1 :])
        log.info("journal %s has accepted %s in epoch %d", self.journal_id, segment, info.epoch)

    def _fetch(
        self, acceptor: Acceptor, fetch: Fetch, known: object, behind: tuple[Write, ...]
    ) -> None:
        if not self._fetching.acquire(blocking=False):
            raise errors.JournalOutOfSync(
                f"another segment is being fetched ; journal id: {self.journal_id}"
            )
        try:
            with self._naming():
                self._storage.carry_out(fetch)
            with self._lock, self._naming():
                first_txid = fetch.segment.first_txid
                if self._acceptor is not acceptor or self._known_of(first_txid) != known:
                    self._storage.drop_fetched(fetch)
                    raise errors.JournalOutOfSync(
                        f"segment {first_txid} changed while it was fetched for epoch "
                        f"{fetch.epoch} ; journal id: {self.journal_id}"
                    )
                acceptor.apply(fetch)
                self._carry_out(acceptor, behind)
        finally:
            self._fetching.release()

    def _known_of(self, first_txid: int) -> object:
        """What a decision about a segment depends on."""
        state = self._loaded().state
        return (
            self._pasts,
            state.promised_epoch,
            state.committed_txid,
            state.open_txid,
            state.segments.get(first_txid),
            state.decisions.get(first_txid),
        )

    def discard_segments(self, from_txid: int) -> None:
        self._run(lambda acceptor, now_ms: acceptor.discard_segments(from_txid))

    # Reading.

    def manifest(
        self, since_txid: int, *, in_progress_ok: bool
    ) -> tuple[list[SegmentState], int | None]:
        """The segments that hold something from a transaction on, and which transaction is
        known to be committed."""
        with self._lock:
            acceptor = self._loaded()
            segments = acceptor.manifest(since_txid, in_progress_ok=in_progress_ok)
            return segments, acceptor.state.committed_txid

    def edits(self, since_txid: int, max_count: int) -> CachedEdits:
        """Return the edits from a transaction on, out of memory.

        Raises NewerTransaction if this node lacks some before them, JournalCacheMiss if they
        are in files only.
        """
        with self._lock:
            acceptor = self._loaded()
            highest_txid = self._cache.highest_txid
            if highest_txid is None:
                highest_txid = acceptor.state.highest_txid
            if since_txid > highest_txid + 1:
                raise errors.NewerTransaction(
                    f"Highest txn ID available in the journal is {highest_txid}, but "
                    f"requested txns starting at {since_txid}."
                )
            edits = CachedEdits(0, b"")
            if since_txid <= highest_txid:
                try:
                    edits = self._cache.edits(since_txid, max_count, MAX_ANSWER_BYTES)
                except errors.JournalCacheMiss:
                    self.figures.cache_misses += 1
                    if self._cache.lowest_txid is not None:
                        self.figures.missed_transactions += self._cache.lowest_txid - since_txid
                    raise
            self.figures.count_edits(edits.count, len(edits.log))
            return edits

    def segment_file(self, first_txid: int, *, in_progress_ok: bool) -> tuple[Path, int]:
        """Return the file of a segment, and how many of its bytes are segment. It may be renamed
        before it is opened. Raises PathNotFound."""
        with self._lock, self._naming():
            self._loaded()
            segment = self._storage.segment_file(first_txid, in_progress_ok=in_progress_ok)
        if segment is None:
            raise errors.PathNotFound(
                f"No edit log found starting at txid {first_txid} in {self.root}"
            )
        return segment

    def status(self) -> Status:
        """Where it stands. Raises nothing."""
        try:
            with self._lock:
                state = self._loaded().state
                return Status(
                    self.journal_id,
                    state.promised_epoch,
                    state.writer_epoch,
                    state.committed_txid or 0,
                    state.highest_txid,
                    state.missing_count,
                    state.is_joining,
                    version=self._version,
                )
        except errors.HowdahError as error:
            return Status(self.journal_id, trouble=str(error))

    # Journal sync.

    def missing(self, offered: list[SegmentState]) -> list[SegmentState]:
        """Those of the finished segments of another node that this one has not, and that are
        known to be committed."""
        with self._lock:
            state = self._loaded().state
            committed_txid = state.committed_txid or 0
            return [
                segment
                for segment in offered
                if not segment.in_progress
                and segment.first_txid <= segment.last_txid <= committed_txid
                and self._lacks(segment)
            ]

    def _lacks(self, segment: SegmentState) -> bool:
        """An accepted decision does not hinder, whatever end it names. Only what a majority has
        accepted or written gets finished, and every later epoch decides the same. So a decision
        that names another end is of an earlier epoch, and a minority's."""
        state = self._loaded().state
        if state.open_txid == segment.first_txid:
            return False
        return not any(
            mine.first_txid <= segment.last_txid and segment.first_txid <= mine.last_txid
            for mine in state.segments.values()
            if not mine.in_progress
        )

    def fetch_missing(self, segment: SegmentState, url: str) -> bool:
        """Bring a finished segment from another node. False if it came by another way, or the
        other's is of no use any more: of what was discarded meanwhile, or of a journal that was
        formatted, nothing comes back."""
        with self._lock:
            pasts = self._pasts
        if not self.missing([segment]):
            return False
        with self._naming():
            path = self._storage.sync_file(segment)
            self._storage.fetch_segment(path, segment, url)
        with self._lock, self._naming():
            self._loaded()
            if self._pasts != pasts or not self._lacks(segment):
                self._storage.drop(path)
                return False
            with self._forgetting():
                self._storage.install(path, segment)
            self.figures.segments_synced += 1
            return True

    # Upgrades. Nothing of an epoch is asked for, as Hadoop's namenodes do not say one: such a call
    # may come at any time, also while a segment is open. One that changes nothing, or is refused,
    # leaves the segment open. One that puts the directory away closes the segment, with all that
    # it has; its writer is out of sync then.

    def ctime_ms(self) -> int:
        return self.version().ctime_ms

    def pre_upgrade(self) -> None:
        self._change_directory(upgrading.check_no_upgrade, upgrading.begin)

    def upgrade(self, ctime_ms: int, layout_version: int) -> None:
        with self._lock, self._naming():
            self._storage.open()
            upgrading.check_begun(self._storage)
            self._forget()
            self._may_reopen = False
            upgrading.end(self._storage, ctime_ms, layout_version, _wall_ms())

    def finalize(self) -> None:
        with self._lock, self._naming():
            self._end_unfinished()
            upgrading.finalize(self._storage)

    def can_roll_back(self, target_layout_version: int) -> bool:
        with self._lock, self._naming():
            self._end_unfinished()
            return upgrading.can_roll_back(self._storage, target_layout_version)

    def roll_back(self) -> None:
        self._change_directory(upgrading.has_previous, upgrading.roll_back)

    def _change_directory(
        self,
        is_wanted: Callable[[JournalStorage], bool],
        change: Callable[[JournalStorage], None],
    ) -> None:
        """Nothing is forgotten where nothing changes."""
        with self._lock, self._naming():
            self._end_unfinished()
            if is_wanted(self._storage):
                # What it has of the open segment is durable in the directory that is put away.
                if self._acceptor is not None:
                    self._carry_out(self._acceptor, self._acceptor.close())
                self._forget()
                self._may_reopen = False
                change(self._storage)

    def _end_unfinished(self) -> None:
        """An upgrade that was begun, and not ended by the call that comes now, is given up."""
        self._storage.open()
        if self._storage.is_unfinished():
            self._forget()
            self._may_reopen = False
            self._storage.recover()

    # The one way in which a call goes.

    def _run(
        self,
        planned: Callable[[Acceptor, int], Plan[T]],
        record_offsets: tuple[int, ...] = (),
    ) -> T:
        with self._lock, self._naming():
            acceptor = self._loaded()
            plan = planned(acceptor, self._clock_ms())
            self._carry_out(acceptor, plan.writes, record_offsets)
            return plan.result()

    def _carry_out(
        self,
        acceptor: Acceptor,
        writes: tuple[Write, ...],
        record_offsets: tuple[int, ...] = (),
    ) -> None:
        for write in writes:
            began_ns = time.perf_counter_ns()
            with self._forgetting(write):
                self._storage.carry_out(write)
            if isinstance(write, Append):
                self.figures.synced(time.perf_counter_ns() - began_ns, time.monotonic())
            acceptor.apply(write)
            self._remember(write, record_offsets)

    @contextmanager
    def _forgetting(self, write: Write | None = None) -> Iterator[None]:
        """If a change fails, what is known of the files is forgotten."""
        try:
            yield
        except BaseException:
            suspect_txid = write.segment_txid if isinstance(write, Append) else None
            if suspect_txid is not None:
                self._may_reopen = False
            if self._acceptor is not None and suspect_txid is None:
                suspect_txid = self._acceptor.state.open_txid
            self._forget()
            self._suspect_txid = suspect_txid
            raise

    def _remember(self, write: Write, record_offsets: tuple[int, ...]) -> None:
        match write:
            case OpenSegment():
                self._may_reopen = True
            case Append():
                self._count(write)
                self._cache.add(
                    write.first_txid,
                    record_offsets,
                    write.records,
                    self._storage.layout_version,
                )
            case Replace():
                self._cache.clear()
            case Discard():
                self._cache.clear()
                self._pasts += 1

    def _count(self, write: Append) -> None:
        figures = self.figures
        figures.batches_written += 1
        figures.transactions_written += write.count
        figures.bytes_written += len(write.records)
        figures.batches_written_lagging += not write.is_synced
        figures.last_write_ms = _wall_ms()

    def _loaded(self) -> Acceptor:
        if self._acceptor is None:
            with self._naming():
                if self._storage.is_unfinished():
                    self._storage.open()
                if not self._storage.is_formatted():
                    raise errors.JournalNotFormatted(
                        f"Journal {self.root} not formatted ; journal id: {self.journal_id}"
                    )
                self._storage.open()
                self._version = self._storage.version()
                state = self._storage.load(self._suspect_txid)
            self._suspect_txid = None
            self._acceptor = Acceptor(
                state, self._clock_ms(), self.journal_id, may_reopen=self._may_reopen
            )
        return self._acceptor

    def _forget(self) -> None:
        self._pasts += 1
        self._acceptor = None
        self._version = None
        self._cache.clear()
        self._storage.release()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Makes of an error of the system one that travels, and that names the journal."""
        try:
            yield
        except errors.HowdahError:
            raise
        except OSError as error:
            log.error("journal %s: %s", self.journal_id, error)
            raise errors.RemoteError(f"journal {self.journal_id}: {error}") from error


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000
