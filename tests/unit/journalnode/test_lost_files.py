"""Each file of a journal node is lost, or spoilt, in each way that a disk, a backup or a person
has: the journal is refused and names a file, or no promise is broken and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from howdah import errors
from howdah.journalnode.election_service import Elections, encode
from howdah.journalnode.journal import Journal
from howdah.journalnode.state.election import Promise
from howdah.journalnode.state.journal_state import SegmentState
from howdah.proto import election_pb2
from howdah.protocol.rpc.call import Caller
from tests.support.journal_writer import VERSION, Writer, journal_at

EPOCH = 5
FINISHED = "edits_0000000000000000001-0000000000000000003"
UNFINISHED = "edits_inprogress_0000000000000000004"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A writer of epoch 3 ended a segment; one of epoch 5 has written three records of the next
    one, of which two are committed, and a decision about it was accepted."""
    journal = journal_at(tmp_path / "ns1")
    journal.format(VERSION, force=False)
    writer = Writer(journal, 3)
    writer.promise()
    writer.start(1)
    writer.write(1, 1, 3)
    writer.finish(1, 3)
    writer = Writer(journal, EPOCH)
    writer.promise()
    writer.start(4)
    writer.write(4, 4, 6)
    journal.heartbeat(writer.info(5), resigns=False)
    journal.close()
    return journal.root


@pytest.fixture
def decided(root: Path) -> Path:
    journal = journal_at(root)
    recovering = Writer(journal, EPOCH + 1)
    recovering.promise()
    journal.accept_recovery(recovering.info(), SegmentState(4, 6, True), "")
    journal.close()
    return root


def gone(path: Path) -> None:
    path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes().rstrip(b"\xff\n")[:-1])


def most_gone(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5])


def garbage(path: Path) -> None:
    path.write_bytes(b"\xf0garbage" * 8)


def old(path: Path) -> None:
    """As a backup has it that was made while epoch 3 wrote."""
    path.write_bytes(b"3\n")


def opened(root: Path) -> Journal:
    journal = journal_at(root)
    try:
        journal.version()
        journal.promised_epoch  # noqa: B018 - it is loaded
    except errors.HowdahError:
        journal.close()
        raise
    return journal


def test_a_whole_journal_has_everything(decided: Path) -> None:
    journal = opened(decided)
    segments, committed = journal.manifest(1, in_progress_ok=True)
    assert segments == [SegmentState(1, 3, False), SegmentState(4, 6, True)]
    assert (committed, journal.promised_epoch) == (5, EPOCH + 1)
    journal.close()


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [gone, empty, cut, garbage, old])
def test_a_promise_that_is_lost_is_noticed(root: Path, fault: Callable[[Path], None]) -> None:
    fault(root / "current" / "last-promised-epoch")
    with pytest.raises(errors.InconsistentStorage, match=f"{root}.*last-promised-epoch"):
        opened(root)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [gone, empty, most_gone, garbage, old])
def test_a_journal_that_is_nobodys_is_not_used_and_not_formatted(
    root: Path, fault: Callable[[Path], None]
) -> None:
    fault(root / "current" / "VERSION")
    with pytest.raises(errors.HowdahError, match=str(root)):
        opened(root)
    journal = journal_at(root)
    with pytest.raises(errors.InconsistentStorage, match="not empty"):
        journal.format(VERSION, force=False)
    journal.close()


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [gone, empty, cut, garbage])
def test_the_epoch_of_the_writer_is_missed(root: Path, fault: Callable[[Path], None]) -> None:
    """Its edits would rank behind those of an earlier writer at another node."""
    fault(root / "current" / "last-writer-epoch")
    with pytest.raises(errors.InconsistentStorage, match=f"{root}.*last-writer-epoch"):
        opened(root)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [empty, most_gone, garbage])
def test_a_decision_that_cannot_be_read_is_named(
    decided: Path, fault: Callable[[Path], None]
) -> None:
    fault(decided / "current" / "paxos" / "4")
    with pytest.raises(errors.InconsistentStorage, match="paxos/4"):
        opened(decided)


@pytest.mark.req("FS-061")
def test_a_decision_of_an_epoch_that_was_never_promised_is_noticed(decided: Path) -> None:
    (decided / "current" / "last-promised-epoch").write_bytes(b"%d\n" % EPOCH)
    with pytest.raises(errors.InconsistentStorage, match="segment 4 is of epoch 6"):
        opened(decided)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [gone, empty, cut])
def test_the_committed_transaction_is_a_lower_bound_and_may_be_lost(
    root: Path, fault: Callable[[Path], None]
) -> None:
    fault(root / "current" / "committed-txid")
    journal = opened(root)
    segments, committed = journal.manifest(1, in_progress_ok=True)
    assert segments == [SegmentState(1, 3, False), SegmentState(4, 6, True)]
    assert committed is None
    journal.close()


@pytest.mark.req("FS-061")
def test_a_committed_transaction_that_is_none_is_named(root: Path) -> None:
    garbage(root / "current" / "committed-txid")
    with pytest.raises(errors.InconsistentStorage, match="committed-txid"):
        opened(root)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [empty, cut, garbage])
def test_a_lease_that_cannot_be_read_is_named(root: Path, fault: Callable[[Path], None]) -> None:
    path = root / "current" / "howdah-lease-ms"
    path.write_bytes(b"7\n")
    fault(path)
    with pytest.raises(errors.InconsistentStorage, match="howdah-lease-ms"):
        opened(root)


@pytest.mark.req("FS-061")
@pytest.mark.parametrize("fault", [gone, empty])
def test_a_lock_file_says_nothing_while_nobody_holds_it(
    root: Path, fault: Callable[[Path], None]
) -> None:
    fault(root / "in_use.lock")
    opened(root).close()


@pytest.mark.req("LM-015")
@pytest.mark.parametrize("fault", [empty, cut, garbage, old])
def test_a_promise_of_an_election_that_cannot_be_read_is_named(
    tmp_path: Path, fault: Callable[[Path], None]
) -> None:
    path = tmp_path / "ns1"
    path.write_bytes(encode(Promise(7, "nn0", 1000)))
    fault(path)
    request = election_pb2.GetElectionRequestProto(electionId="ns1")
    with pytest.raises(errors.InconsistentStorage, match=f"{path} is damaged"):
        Elections(tmp_path).get_election(request, Caller("root", b"", 0, 0, "127.0.0.1", 0))
