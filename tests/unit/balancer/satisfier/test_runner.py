"""What the satisfier's shell does when a namenode does not answer as it should."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from howdah import errors
from howdah.balancer import target
from howdah.balancer.access import OPEN, MoveAccess
from howdah.balancer.satisfier.runner import MARK, Satisfier, limits_of
from howdah.balancer.state.iteration import Move
from howdah.balancer.state.nodes import BlockPlaces, FileBlocks, NodeReport, StorageFigures
from howdah.balancer.state.satisfier_queue import Outcome
from howdah.config import Configuration
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, StorageType
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.req("FS-185")

DISK, ARCHIVE = StorageType.DISK, StorageType.ARCHIVE
NODE = DatanodeAddress("10.0.0.1", "dn0", "uuid-0", 9866)
COLD = 2
TIMEOUT_S = 30.0
PREFIX = "dfs.storage.policy.satisfier."
CONF = {
    f"{PREFIX}recheck.timeout.millis": "1",
    f"{PREFIX}move.task.retry.max.attempts": "1",
    f"{PREFIX}retry.max.attempts": "2",
}


@dataclass
class Namenode:
    """A file, 7, on DISK, whose policy wants ARCHIVE; mark 1 is its own."""

    marks: deque[int | errors.HowdahError | None] = field(default_factory=lambda: deque([1]))
    trouble: errors.HowdahError | None = None
    is_safe: bool = False
    kind: StorageType = DISK
    unmarking: deque[errors.HowdahError] = field(default_factory=deque)
    attributes: set[str] = field(default_factory=lambda: {MARK})
    pool_id: str = "BP-1"
    client: Any = None
    access: MoveAccess = OPEN

    def __post_init__(self) -> None:
        self.client = SimpleNamespace(namenode=SimpleNamespace(get_listing=self.listing))

    def listing(self, path: str, after: bytes) -> types_pb2.DirectoryListingProto:
        file = types_pb2.HdfsFileStatusProto(
            fileType=types_pb2.HdfsFileStatusProto.IS_FILE, path=b"", fileId=7
        )
        return types_pb2.DirectoryListingProto(partialListing=[file], remainingEntries=0)

    def next_mark(self) -> int | None:
        told = self.marks.popleft() if self.marks else None
        if isinstance(told, errors.HowdahError):
            raise told
        return told

    def reports(self) -> list[NodeReport]:
        kinds = (DISK, ARCHIVE)
        return [NodeReport(NODE, "/r", tuple(StorageFigures(k, 100, 0, 100, 0) for k in kinds))]

    def file_blocks(self, path: str) -> FileBlocks:
        if self.trouble is not None:
            raise self.trouble
        return FileBlocks((BlockPlaces(1, 1001, 10, (("uuid-0", self.kind),)),))

    def get_file_status(self, path: str) -> Any:
        return SimpleNamespace(is_file=True, storage_policy=COLD, replication=1)

    def get_storage_policies(self) -> list[Any]:
        return [SimpleNamespace(policy_id=COLD, storage_types=["ARCHIVE"])]

    def set_safe_mode(self, action: str, *, checked: bool) -> bool:
        assert (action, checked) == ("get", True)
        return self.is_safe

    def remove_xattr(self, path: str, name: str) -> None:
        assert (path, name) == ("/.reserved/.inodes/1", MARK)
        if self.unmarking:
            raise self.unmarking.popleft()
        self.attributes.discard(name)

    def list_xattrs(self, path: str) -> list[str]:
        return sorted(self.attributes)


class Subject:
    """A satisfier whose clock the test has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.namenode = Namenode()
        self.now_ms = 0
        self.told: list[tuple[int, Outcome]] = []
        self.moved: list[Move] = []
        self.refuses = False
        monkeypatch.setattr("howdah.balancer.satisfier.runner._now_ms", lambda: self.now_ms)
        monkeypatch.setattr(target, "move", self._move)
        self.satisfier = Satisfier(
            cast(Any, self.namenode),
            cast(Any, self.namenode),
            Configuration(CONF),
            lambda mark, outcome: self.told.append((mark, outcome)),
        )

    def _move(self, move: Move, pool_id: str, **how: Any) -> None:
        self.moved.append(move)
        if self.refuses:
            raise errors.RemoteError("it is full")
        self.namenode.kind = move.target.storage_type

    def steps(self) -> None:
        """All that is due, with the moves that it leads to."""
        while self.satisfier.step():
            wait_until(lambda: self.satisfier._work.running == self.ended(), TIMEOUT_S)
            self.satisfier._take_ended(0.0)

    def ended(self) -> int:
        return self.satisfier._happened.qsize()

    def until_told(self) -> Outcome:
        for _ in range(40):
            self.steps()
            if self.told:
                ((mark, outcome),) = self.told
                assert mark == 1
                return outcome
            self.now_ms += 1000
        raise AssertionError("the mark was not taken off")


@pytest.fixture
def subject(monkeypatch: pytest.MonkeyPatch) -> Subject:
    return Subject(monkeypatch)


def test_a_mark_is_worked_off(subject: Subject) -> None:
    assert subject.until_told() == Outcome(1, 1, 10, 0, 0)
    assert subject.namenode.attributes == set()


def test_a_move_that_is_refused_is_tried_again_and_given_up(
    subject: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    subject.refuses = True
    assert subject.until_told() == Outcome(1, 0, 0, 2, 1)
    assert len(subject.moved) == 4, "two attempts of two moves each"
    assert "10.0.0.1:9866:ARCHIVE failed (attempt 2 of 2): it is full" in caplog.text
    assert "is given up: its storage policy is not satisfied after 2 attempts" in caplog.text


def test_a_namenode_that_is_away_is_asked_again_and_it_is_said_once(
    subject: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    subject.namenode.marks = deque([errors.Unreachable("away"), errors.Unreachable("away"), 1])
    assert subject.until_told().moved == 1
    assert caplog.text.count("the namenode is asked again later: away") == 1


def test_a_file_of_which_the_namenode_says_nothing_is_looked_at_later(subject: Subject) -> None:
    subject.namenode.trouble = errors.StandbyError("no")
    subject.steps()
    assert not subject.moved
    subject.namenode.trouble = None
    assert subject.until_told().moved == 1


def test_a_file_that_is_gone_is_done(subject: Subject) -> None:
    subject.namenode.trouble = errors.PathNotFound("/f")
    assert subject.until_told() == Outcome(1, 0, 0, 0, 0)


def test_nothing_is_done_in_safe_mode(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("howdah.balancer.satisfier.runner._SAFE_MODE_S", 0.0)
    subject.namenode.is_safe = True
    subject.steps()
    assert list(subject.namenode.marks) == [1]
    assert "the namenode is in safe mode" in caplog.text
    subject.namenode.is_safe = False
    assert subject.until_told().moved == 1


@pytest.mark.parametrize("has_mark", [True, False])
def test_a_mark_that_cannot_be_taken_off_is_tried_again(
    subject: Subject, caplog: pytest.LogCaptureFixture, *, has_mark: bool
) -> None:
    refusal = errors.RemoteError("No matching attributes found for remove operation")
    subject.namenode.unmarking = deque([errors.Unreachable("away"), refusal])
    subject.namenode.attributes = {MARK} if has_mark else set()
    caplog.set_level(logging.INFO)
    assert subject.until_told().moved == 1
    assert subject.namenode.attributes == set()
    assert ("was taken off by somebody else" in caplog.text) is not has_mark


def test_a_mark_whose_inode_is_gone_is_over(subject: Subject) -> None:
    subject.namenode.unmarking = deque([errors.PathNotFound("/d")])
    assert subject.until_told().moved == 1


def test_without_a_thread_a_move_has_failed(
    subject: Subject, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_thread(move: Move, *, waits: bool) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subject.satisfier._moves, "begin", no_thread)
    assert subject.until_told() == Outcome(1, 0, 0, 2, 1)
    assert "there is no thread for a move to 10.0.0.1:9866:ARCHIVE" in caplog.text


def test_the_keys_arrive() -> None:
    limits = limits_of(
        Configuration(
            {
                f"{PREFIX}queue.limit": "5",
                f"{PREFIX}work.multiplier.per.iteration": "6",
                f"{PREFIX}retry.max.attempts": "7",
                f"{PREFIX}recheck.timeout.millis": "120000",
                f"{PREFIX}self.retry.timeout.millis": "9000",
                "dfs.mover.moverThreads": "11",
            }
        )
    )
    assert (limits.files, limits.moves_per_node, limits.attempts, limits.moves) == (5, 6, 7, 11)
    assert (limits.recheck_ms, limits.timeout_ms) == (60_000, 9000), "at most a minute"
    assert limits_of(Configuration({f"{PREFIX}recheck.timeout.millis": "0"})).recheck_ms == 60_000
