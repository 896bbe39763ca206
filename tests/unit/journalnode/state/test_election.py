"""What one journal node decides in an election, and what it remembers of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from howdah import errors
from howdah.journalnode import election_service
from howdah.journalnode.election_service import Elections, decode, encode
from howdah.journalnode.state import election
from howdah.journalnode.state.election import Breadcrumb, Election, Promise
from howdah.proto import election_pb2
from howdah.protocol.rpc.call import Caller

CALLER = Caller("hdfs", b"", 0, -1, "127.0.0.1")


def granted(known: Election, holder: str, term: int, now_ms: int, ttl_ms: int = 1000) -> Election:
    decision = election.acquire(known, holder, term, ttl_ms, holder.encode(), now_ms)
    assert decision.accepted
    return decision.after


def is_granted(known: Election, holder: str, term: int, now_ms: int) -> bool:
    return election.acquire(known, holder, term, 1000, b"", now_ms).accepted


def test_a_free_lease_is_granted_under_a_later_term_only() -> None:
    known = Election(Promise(term=5))
    assert not is_granted(known, "a", 5, 0)
    assert is_granted(known, "a", 6, 0)


def test_a_lent_lease_is_refused_to_others_until_it_has_run_out() -> None:
    known = granted(Election(), "a", 1, 0)
    assert not is_granted(known, "b", 2, 999)
    assert is_granted(known, "b", 2, 1000)


def test_a_holder_renews_under_its_term_also_after_the_lease_has_run_out() -> None:
    known = granted(granted(Election(), "a", 1, 0), "a", 1, 900)
    assert known.lease_at(1899) is not None
    assert is_granted(known, "a", 1, 5000)


def test_a_holder_does_not_renew_once_a_later_term_was_promised() -> None:
    known = granted(granted(Election(), "a", 1, 0), "b", 2, 1000)
    assert not is_granted(known, "a", 1, 3000)


def test_a_holder_goes_on_under_a_later_term() -> None:
    known = granted(granted(Election(), "a", 1, 0), "a", 4, 10)
    assert known.promise.term == 4


def test_a_released_lease_is_free_at_once_and_its_term_is_spent() -> None:
    known = election.release(granted(Election(), "a", 1, 0), "a", 1).after
    assert not is_granted(known, "a", 1, 1)
    assert is_granted(known, "b", 2, 1)


def test_nobody_releases_the_lease_of_another() -> None:
    known = granted(Election(), "a", 1, 0)
    assert election.release(known, "b", 1).after == known
    assert election.release(known, "a", 7).after == known


def test_after_a_restart_nobody_but_the_holder_is_granted_anything_for_the_time_to_live() -> None:
    known = election.restarted(granted(Election(), "a", 1, 0).promise, 100)
    assert not is_granted(known, "b", 2, 1099)
    assert is_granted(known, "b", 2, 1100)
    assert is_granted(known, "a", 1, 100)


def test_after_a_restart_a_released_lease_is_free() -> None:
    released = election.release(granted(Election(), "a", 1, 0), "a", 1).after
    assert is_granted(election.restarted(released.promise, 0), "b", 2, 0)


def test_a_breadcrumb_of_an_earlier_term_is_refused() -> None:
    known = granted(granted(Election(), "a", 1, 0), "b", 2, 1000)
    known = election.set_breadcrumb(known, "b", 2, b"B").after
    assert not election.set_breadcrumb(known, "a", 1, b"A").accepted
    assert known.promise.breadcrumb == Breadcrumb(2, b"B")


def test_a_breadcrumb_of_the_same_term_by_another_is_refused() -> None:
    known = granted(Election(), "a", 1, 0)
    assert not election.set_breadcrumb(known, "b", 1, b"B").accepted


def test_who_takes_a_breadcrumb_of_a_later_term_promises_that_term() -> None:
    known = granted(Election(), "a", 1, 0)
    known = election.set_breadcrumb(known, "b", 3, b"B").after
    assert not is_granted(known, "a", 1, 1)
    assert is_granted(known, "b", 3, 1)


def test_a_cleared_breadcrumb_keeps_its_term() -> None:
    known = granted(Election(), "a", 4, 0)
    known = election.set_breadcrumb(known, "a", 4, None).after
    assert known.promise.breadcrumb == Breadcrumb(4, None)


@pytest.mark.parametrize(
    ("holder", "term", "ttl_ms", "content"),
    [
        ("", 1, 1000, b""),
        ("a\nb", 1, 1000, b""),
        ("a" * 256, 1, 1000, b""),
        ("a", 0, 1000, b""),
        ("a", election.MAX_TERM, 1000, b""),
        ("a", 1, 0, b""),
        ("a", 1, election.MAX_TTL_MS + 1, b""),
        ("a", 1, 1000, b"x" * (election.MAX_CONTENT_BYTES + 1)),
    ],
)
def test_what_nobody_may_ask_for_is_refused(
    holder: str, term: int, ttl_ms: int, content: bytes
) -> None:
    with pytest.raises(errors.IllegalArgument):
        election.acquire(Election(), holder, term, ttl_ms, content, 0)


# -- at a node ------------------------------------------------------------------------


def acquire(node: Elections, holder: str, term: int) -> election_pb2.AcquireResponseProto:
    request = election_pb2.AcquireRequestProto(
        electionId="east", holder=holder, term=term, ttlMillis=1000, content=holder.encode()
    )
    return node.acquire(request, CALLER)


def test_a_refusal_says_who_holds_the_lease_and_for_how_long(tmp_path: Path) -> None:
    now = [0]
    node = Elections(tmp_path / "elections", lambda: now[0])
    assert acquire(node, "a", 1).granted
    now[0] = 400
    answer = acquire(node, "b", 2)
    assert not answer.granted
    assert (answer.state.holder, answer.state.holderContent) == ("a", b"a")
    assert (answer.state.millisLeft, answer.state.promisedTerm) == (600, 1)


def test_a_promise_and_a_breadcrumb_outlive_a_restart(tmp_path: Path) -> None:
    node = Elections(tmp_path, lambda: 0)
    acquire(node, "a", 7)
    node.set_breadcrumb(
        election_pb2.SetBreadcrumbRequestProto(electionId="east", holder="a", term=7, content=b"A"),
        CALLER,
    )
    after = Elections(tmp_path, lambda: 50)
    request = election_pb2.GetElectionRequestProto(electionId="east")
    state = after.get_election(request, CALLER).state
    assert (state.promisedTerm, state.breadcrumb.content, state.millisSilent) == (7, b"A", 1000)
    assert not acquire(after, "b", 8).granted
    assert acquire(after, "a", 7).granted


def test_a_renewal_writes_nothing(tmp_path: Path) -> None:
    node = Elections(tmp_path, lambda: 0)
    acquire(node, "a", 1)
    before = (tmp_path / "east").stat().st_ino
    assert acquire(node, "a", 1).granted
    assert (tmp_path / "east").stat().st_ino == before


def test_a_damaged_promise_keeps_the_node_out_of_the_election(tmp_path: Path) -> None:
    acquire(Elections(tmp_path, lambda: 0), "a", 1)
    data = bytearray((tmp_path / "east").read_bytes())
    data[-1] ^= 1
    (tmp_path / "east").write_bytes(data)
    with pytest.raises(errors.InconsistentStorage, match="is damaged"):
        acquire(Elections(tmp_path, lambda: 0), "b", 9)


@pytest.mark.parametrize("data", [b"", b"howdah election 1\n", b"x" * 100_000])
def test_a_file_that_is_no_promise_is_told(data: bytes) -> None:
    with pytest.raises(errors.InconsistentStorage):
        decode(data, Path("east"))


def test_a_promise_is_read_as_it_was_written() -> None:
    for promise in (Promise(), Promise(3, "a", 5, Breadcrumb(2, None)), Promise(4, None, 9)):
        assert decode(encode(promise), Path("east")) == promise


@pytest.mark.parametrize("election_id", ["", "../x", ".hidden", "a/b", "a" * 128, "a\0"])
def test_an_id_that_could_name_another_file_is_refused(election_id: str, tmp_path: Path) -> None:
    with pytest.raises(errors.IllegalArgument):
        Elections(tmp_path).get_election(
            election_pb2.GetElectionRequestProto(electionId=election_id), CALLER
        )


def test_a_promise_that_cannot_be_written_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill_up(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    node = Elections(tmp_path, lambda: 0)
    with monkeypatch.context() as patch:
        patch.setattr(election_service, "replace_file", fill_up)
        with pytest.raises(errors.RemoteError, match="no promise was made"):
            acquire(node, "a", 1)
    assert acquire(node, "b", 1).granted


def test_a_promise_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "east").mkdir()
    with pytest.raises(errors.RemoteError, match="cannot be read"):
        acquire(Elections(tmp_path), "a", 1)
