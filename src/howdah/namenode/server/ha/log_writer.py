"""The edit log of a namenode that is active (shell): opened, rolled, closed.

Mirrors Hadoop's FSNamesystem.startActiveServices and FSImage.rollEditLog, as far as they are
about the log. Each time that the namenode becomes active a new segment begins; when it is
active no more, the segment ends in order. Everything here but `prepare` belongs to the loop;
what the log's thread says is posted there.

A log that is shared goes to the directories of this machine and to the shared log. Both have
to take every edit, the shared one last: it works already while the directories sync.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from howdah.namenode.journal.directories import DirectorySet
from howdah.namenode.journal.edit_log import EditLog, LogFigures
from howdah.namenode.journal.native_writer import DirectLog, direct_log
from howdah.namenode.service.ha.durability_barrier import DurableBarrier
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.edit_log.journal import Journal
from howdah.namenode.state.edit_log.journal_set import JournalSet, Member
from howdah.namenode.state.edit_log.shared_log import SharedJournal

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A log with a segment that has begun."""

    log: EditLog
    directories: DirectorySet
    shared: SharedJournal | None
    direct: DirectLog | None


class LogWriter:
    """Has a log while the namenode is active, and none otherwise."""

    def __init__(
        self,
        namesystem: Namesystem,
        barrier: DurableBarrier,
        make_journal: Callable[[Callable[[], None]], DirectorySet],
        post: Callable[[Callable[[], None]], object],
        fail: Callable[[str], None],
        watch: Callable[[int, Callable[[], None]], Callable[[], None]] | None = None,
        on_segment: Callable[[int], None] = lambda first_txid: None,
    ) -> None:
        """`make_journal` takes what is to be called, on any thread, when a directory waits for
        a roll to take part again; `post` calls back on the loop, from any thread; `fail` ends
        the namenode, because its log is lost. `watch` calls back on the loop whenever a
        descriptor can be read, until what it returns is called; without it the log is written
        by a thread of Python. `on_segment` is called, on any thread, with the first transaction
        of each segment when that is durable."""
        self._namesystem = namesystem
        self._barrier = barrier
        self._make_journal = make_journal
        self._post = post
        self._fail = fail
        self._watch = watch
        self._on_segment = on_segment
        self._unwatch: Callable[[], None] = lambda: None
        self._log: EditLog | None = None
        self._prepared: _Begun | None = None
        self._segment_txid = 0
        self._has_ended = False
        self.shared: SharedJournal | None = None
        """The shared log, while this namenode is its writer."""
        self.figures = LogFigures()
        """Of all that this namenode has written."""
        self.journal: DirectorySet | None = None
        """Also after the log was closed: how its directories were then."""

    @property
    def is_open(self) -> bool:
        return self._log is not None

    @property
    def wants_segment(self) -> bool:
        """Whether a part of the shared log waits for a segment to take part again."""
        return self.shared is not None and self.shared.wants_segment

    @property
    def durable_txid(self) -> int:
        """Up to where the log is durable; a standby has applied nothing else."""
        return self._namesystem.last_txid if self._log is None else self._log.poll_durable()

    @property
    def edits_in_segment(self) -> int:
        return self._namesystem.last_txid - self._segment_txid

    def prepare(self, shared: SharedJournal) -> None:
        """Begin the segment on any thread, for an `open` that follows before any other edit.
        Raises OSError if that fails; the shared log is given up then."""
        assert self._prepared is None, "one log is prepared at a time"
        self._prepared = self._begin(shared)

    def discard_prepared(self) -> None:
        """There will be no `open`. On any thread."""
        if self._prepared is not None:
            self._prepared.log.abandon()
            if self._prepared.direct is not None:
                self._prepared.direct.close()
            self._prepared = None

    def open(self) -> None:
        """Begin a segment behind what the namesystem has. Raises OSError if that fails."""
        assert self._log is None, "one log is written at a time"
        begun, self._prepared = self._prepared or self._begin(None), None
        assert begun.log.last_txid == self._namesystem.last_txid + 1, "no edit came in between"
        self._log = self._barrier.log = begun.log
        self._listen(begun)
        self.journal = begun.directories
        self.shared = self._barrier.lease = begun.shared
        self._namesystem.last_txid = self._segment_txid = begun.log.last_txid

    def _begin(self, shared: SharedJournal | None) -> _Begun:
        directories = self._make_journal(self._restored)
        journal: Journal = directories
        if shared is not None:
            members: list[Member[Journal]] = [Member(directories, True), Member(shared, True)]
            journal = JournalSet(members)

        def durable(txid: int) -> None:
            self._post(lambda: self._durable(written, txid))

        def failed(why: str) -> None:
            self._post(lambda: self._failed(written, why))

        direct = None if self._watch is None else direct_log()
        written = EditLog(
            journal,
            self._namesystem.last_txid,
            on_durable=durable,
            on_failure=failed,
            figures=self.figures,
            direct=direct,
            on_segment=self._on_segment,
        )
        return _Begun(written, directories, shared, direct)

    def _listen(self, begun: _Begun) -> None:
        direct, watch = begun.direct, self._watch
        if direct is None or watch is None:
            return
        unwatch = watch(direct.bell, lambda: self._durable(begun.log, direct.durable_txid()))

        def end() -> None:
            unwatch()
            direct.close()

        self._unwatch = end

    def hand_over(self) -> None:
        """Everything that was committed is with the log."""
        self._barrier.hand_over()

    def end(self) -> None:
        """End the segment in order, on any thread, when the last edit was handed over; `close`
        has to follow. Raises OSError if the log could not be brought that far."""
        self._written().close()
        self._has_ended = True

    def close(self) -> None:
        """End the segment in order, if that has not been done. Everything committed is durable
        then, and the answers that waited for it leave. Raises OSError as `end`."""
        if not self._has_ended:
            self.hand_over()
            self.end()
        self._has_ended = False
        self._unwatch()
        self._unwatch = lambda: None
        written = self._written()
        self._namesystem.last_txid = written.last_txid
        # All of it, whatever a look on the loop has written over meanwhile.
        self._barrier.durable(written.last_txid, is_alone=True)
        self._log = self._barrier.log = None
        self.shared = self._barrier.lease = None
        log.info("the log is closed at transaction %d", written.last_txid)

    def roll(self) -> int:
        """Begin a new segment of the log; its first transaction."""
        self._barrier.hand_over()
        written = self._written()
        first_txid = written.roll()
        self._namesystem.last_txid = written.last_txid
        self._segment_txid = first_txid
        return first_txid

    def _written(self) -> EditLog:
        assert self._log is not None, "only an active namenode writes a log"
        return self._log

    def _let_join_in(self) -> None:
        """A directory is whole again: it takes part from the next segment on."""
        if self._log is not None and self._namesystem.role.writable:
            log.info("a new segment begins with transaction %d", self.roll())

    def _restored(self) -> None:
        self._post(self._let_join_in)

    # What the log's thread says may be about a log that was closed meanwhile.

    def _durable(self, written: EditLog, txid: int) -> None:
        if written is self._log:
            self._barrier.durable(txid)

    def _failed(self, written: EditLog, why: str) -> None:
        if written is self._log:
            self._fail(why)
