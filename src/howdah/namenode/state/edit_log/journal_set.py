"""A set of journals as one journal (pure). Hadoop: JournalSet, and of
NameNodeResourcePolicy what it says of journals that fail.

Every call goes to all members that work, in their order. The steps are those of
docs/how-it-works/journal.md:

7. A member that raises OSError **is dropped**, and named in the log, while the rest go on.
   What it has by then is the beginning of the log, and never another log.
8. The set has failed, by an OSError that names the members, when a required member fails, or
   when **too few are left**. So what `make_durable` has answered for is in every required
   member, in every other one that still works, and in no fewer than `minimum`.
9. If the set `restores`, its `Restorer` **makes** members **whole** that were dropped, when a
   segment has ended.
10. Such a member **joins in** when the next segment begins: it has every edit from there on.
11. What ended meanwhile is **completed**; until then the member is said to fail.

It owns no thread, file or clock. A set may be a member of another set: a quorum of journal
nodes that is required, with the directories of this machine that are not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from howdah.namenode.state.edit_log.journal import Batch, Journal, SegmentFile

log = logging.getLogger(__name__)

J = TypeVar("J", bound=Journal)


@dataclass(frozen=True, slots=True)
class Member(Generic[J]):
    """A journal of a set, which may be lost unless it is required."""

    journal: J
    required: bool = False


@dataclass(frozen=True, slots=True)
class MemberState(Generic[J]):
    """A member as an administrator sees it; `failure` is None while it works."""

    journal: J
    required: bool
    failure: str | None


class Restorer(Protocol[J]):
    """Makes members whole that failed, beside the calls, which never wait for it."""

    def begin(self, lost: J, source: J, before_txid: int) -> None:
        """Give one that takes no part what ended before a transaction."""
        ...

    def take_ready(self) -> list[J]:
        """Those that can join in with the segment that begins now."""
        ...

    def incomplete(self) -> list[J]:
        """Those that take part again, and still lack older segments."""
        ...

    def complete(self, joined: J, source: J, before_txid: int) -> None:
        """Give one that takes part again what ended before it did."""
        ...

    def dropped(self, lost: J) -> None:
        """A member failed."""
        ...

    def failures(self) -> dict[J, str]:
        """Why members are not whole. Any thread may ask."""
        ...

    def close(self) -> None: ...


class JournalSet(Generic[J]):
    """Writes to all of its members."""

    def __init__(
        self,
        members: Sequence[Member[J]],
        *,
        minimum: int = 1,
        restorer: Restorer[J] | None = None,
        restores: bool = False,
        kind: tuple[str, str] = ("journal", "journals"),
    ) -> None:
        """`kind` is what messages call a member, and several."""
        self.restores = restores
        """Whether members that failed are tried again when a segment ends."""
        self._members = list(members)
        self._minimum = minimum
        self._restorer = restorer
        self._kind, self._kinds = kind
        self._working = [member.journal for member in members]
        self._failures: dict[J, str] = {}
        self._has_ended = False
        self._restore_before: int | None = None

    @property
    def name(self) -> str:
        return ", ".join(member.journal.name for member in self._members)

    @property
    def epoch(self) -> int | None:
        """The latest epoch of those that know one."""
        epochs = [e for journal in self._working if (e := journal.epoch) is not None]
        return max(epochs, default=None)

    def states(self) -> list[MemberState[J]]:
        """All members, in their order. Any thread may ask."""
        failures = dict(self._failures)
        if self._restorer is not None:
            failures |= self._restorer.failures()
        return [
            MemberState(member.journal, member.required, failures.get(member.journal))
            for member in self._members
        ]

    def begin_segment(self, first_txid: int) -> None:
        if self.restores and self._restorer is not None:
            joining = self._restorer.take_ready()
            self._working += [journal for journal in joining if journal not in self._working]
        self._for_each(lambda journal: journal.begin_segment(first_txid))
        for journal in self._working:
            self._failures.pop(journal, None)
        self._restore_before = first_txid if self._has_ended else None

    def append(self, batch: Batch) -> None:
        for journal in self._working:
            journal.append(batch)

    def make_durable(self) -> None:
        self._for_each(lambda journal: journal.make_durable())
        before_txid, self._restore_before = self._restore_before, None
        if before_txid is not None and self.restores and self._restorer is not None:
            self._restore(self._restorer, before_txid)

    def confirm_segment(self, first_txid: int) -> None:
        self._for_each(lambda journal: journal.confirm_segment(first_txid))

    def end_segment(self, last_txid: int) -> None:
        self._for_each(lambda journal: journal.end_segment(last_txid))
        self._has_ended = True

    def lend(self) -> list[SegmentFile] | None:
        lent: list[SegmentFile] = []
        for journal in self._working:
            files = journal.lend()
            if files is None:
                return None
            lent += files
        return lent

    def take_back(self, durable_txid: int) -> None:
        for journal in self._working:
            journal.take_back(durable_txid)

    def truncate_to(self, last_txid: int) -> None:
        self._for_each(lambda journal: journal.truncate_to(last_txid))

    def close(self) -> None:
        for member in self._members:
            member.journal.close()
        if self._restorer is not None:
            self._restorer.close()

    def _for_each(self, act: Callable[[J], object]) -> None:
        """Drop whoever fails at it. Raises OSError if those that are left are too few."""
        before = list(self._working)
        for journal in before:
            try:
                act(journal)
            except OSError as error:
                self._working.remove(journal)
                journal.close()
                self._drop(journal, error)
        self._check()
        if len(self._working) < len(before):
            self._warn_if_none_is_whole()

    def _drop(self, journal: J, error: OSError) -> None:
        log.error("%s %s failed and is dropped: %s", self._kind, journal.name, error)
        self._failures[journal] = str(error)
        if self._restorer is not None:
            self._restorer.dropped(journal)

    def _warn_if_none_is_whole(self) -> None:
        """The last one that had the whole log may fail just when another one joins in again."""
        incomplete = [] if self._restorer is None else self._restorer.incomplete()
        if all(journal in incomplete for journal in self._working):
            log.error(
                "no %s is left that has the whole log: %s lack the segments from before they "
                "joined in again, and what had these failed. Save the namespace now "
                "(dfsadmin -saveNamespace): until then a start needs a %s that failed",
                self._kind,
                ", ".join(journal.name for journal in self._working),
                self._kind,
            )

    def _check(self) -> None:
        for member in self._members:
            why = self._failures.get(member.journal)
            if member.required and why is not None:
                raise OSError(
                    None, f"the required {self._kind} {member.journal.name} failed: {why}"
                )
        left = len(self._working)
        if left and left >= self._minimum:
            return
        whys = "; ".join(self._failures.values())
        if not left:
            raise OSError(None, f"no {self._kind} is left that can be written: {whys}")
        raise OSError(
            None,
            f"only {left} {self._kinds} are left that can be written, "
            f"and {self._minimum} have to be: {whys}",
        )

    def _restore(self, restorer: Restorer[J], before_txid: int) -> None:
        """Give those that fail, or lack something, what ended before `before_txid`."""
        incomplete = restorer.incomplete()
        source = next((journal for journal in self._working if journal not in incomplete), None)
        if source is None:
            return
        for member in self._members:
            if member.journal not in self._working:
                restorer.begin(member.journal, source, before_txid)
            elif member.journal in incomplete:
                restorer.complete(member.journal, source, before_txid)
