"""Calls that are repeated because their answer was lost."""

from __future__ import annotations

import gc
import resource
from pathlib import Path
from typing import Any

import pytest

from howdah import errors
from howdah.formats.edits import edits
from howdah.namenode.service.calls.retry_cache import REBUILT, RetryCache
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller
from howdah.testing.in_memory import InMemoryDatanode

ID = bytes(range(16))
AGAIN: dict[str, Any] = {"client_id": ID, "call_id": 7}


def caller(client_id: bytes = ID, call_id: int = 7) -> Caller:
    return Caller("u", client_id, call_id, 0, "?")


def test_answer_is_remembered_by_client_and_call() -> None:
    cache = RetryCache()
    answer = pb.RenameResponseProto(result=False)
    cache.remember(ID, 7, answer, 0)
    assert cache.find(caller()) == answer
    assert cache.find(caller(call_id=8)) is None
    assert cache.find(caller(client_id=b"x" * 16)) is None


def test_answer_is_forgotten_after_a_time() -> None:
    cache = RetryCache(expiry_ms=1000)
    cache.remember(ID, 7, pb.RenameResponseProto(result=True), 0)
    cache.remember(ID, 8, pb.RenameResponseProto(result=True), 999)
    assert cache.find(caller()) is not None
    cache.remember(ID, 9, pb.RenameResponseProto(result=True), 1000)
    assert cache.find(caller()) is None
    assert len(cache) == 2


def test_long_answers_are_not_kept() -> None:
    cache = RetryCache()
    cache.remember(ID, 7, pb.GetLinkTargetResponseProto(targetPath="x" * 100), 0)
    assert cache.find(caller()) is REBUILT


def test_an_entry_takes_a_fifth_of_a_kilobyte() -> None:
    """A message that is kept takes four fifths more, for its arena."""
    cache = RetryCache()
    entries = 20_000
    before = resident_bytes()
    for call_id in range(entries):
        cache.remember(bytes(bytearray(ID)), call_id, pb.DeleteResponseProto(result=True), 0)
    assert len(cache) == entries
    assert (resident_bytes() - before) / entries < 400
    assert cache.size_bytes / entries < 200


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_the_oldest_go_when_all_take_too_much() -> None:
    cache = RetryCache(max_bytes=10_000)
    for call_id in range(1000):
        cache.remember(ID, call_id, pb.RenameResponseProto(result=True), 0)
    assert 40 < len(cache) < 60
    assert cache.size_bytes <= 10_000
    assert cache.find(caller(call_id=999)) == pb.RenameResponseProto(result=True)
    assert cache.find(caller(call_id=900)) is None


def test_a_call_that_the_log_has_twice_counts_once() -> None:
    cache = RetryCache(expiry_ms=1000)
    cache.rebuild([(ID, 7, None), (ID, 7, None)], 0)
    cache.rebuild([(ID, 7, 16388)], 500)
    assert len(cache) == 1
    cache.remember(b"x" * 16, 1, None, 1200)
    assert cache.find(caller()) is REBUILT
    assert cache.made_by(caller()) == 16388
    assert cache.made_by(caller(call_id=8)) is None
    cache.remember(b"x" * 16, 2, None, 5000)
    assert len(cache) == 1
    cache.remember(b"x" * 16, 3, None, 9000)
    assert cache.size_bytes < 200


def test_edits_of_a_call_are_counted_until_its_answer_is_known() -> None:
    cache = RetryCache()
    assert cache.edits_of(caller()) == 0
    for count in range(1, 4):
        cache.remember(ID, 7, None, 0)
        assert cache.edits_of(caller()) == count
        assert cache.made_by(caller()) is None
    cache.remember(ID, 7, pb.Rename2ResponseProto(nextDone=2), 0)
    assert cache.find(caller()) == pb.Rename2ResponseProto(nextDone=2)
    cache.remember(ID, 8, None, 0, 16388)
    assert cache.edits_of(caller(call_id=8)) == 1
    for call_id in (7, 8):
        cache._forget(ID + call_id.to_bytes(4, "big"))
    assert cache.size_bytes == 0


@pytest.mark.parametrize(("client_id", "call_id"), [(b"", 7), (b"x" * 15, 7), (ID, -1)])
def test_call_without_an_identity_cannot_be_remembered(client_id: bytes, call_id: int) -> None:
    assert not RetryCache.applies(caller(client_id, call_id))
    assert RetryCache.applies(caller())


@pytest.mark.parametrize("restart", [False, True])
class TestRepeated:
    """The same call once more, of the same process or after a start from the log."""

    def between(self, client: Any, restart: bool) -> None:
        if restart:
            client.namenode = client.namenode.restarted()

    def test_create_gives_the_same_file(self, client: Any, restart: bool) -> None:
        first = client.create("/a", **AGAIN)
        self.between(client, restart)
        assert client.create("/a", **AGAIN) == first

    def test_create_is_not_given_a_file_that_took_the_place_of_its_own(
        self, client: Any, client_of: Any, restart: bool
    ) -> None:
        client.create("/a", **AGAIN)
        other = client_of()
        other.create("/a", flag=pb.CREATE | pb.OVERWRITE)
        self.between(client, restart)
        with pytest.raises(errors.LeaseExpired, match=f"/a .*{client.name}"):
            client.create("/a", **AGAIN)
        client.delete("/a")
        client.mkdirs("/a")
        with pytest.raises(errors.LeaseExpired, match=f"/a .*{client.name}"):
            client.create("/a", **AGAIN)

    @pytest.mark.parametrize("gone", ["overwritten", "deleted", "renamed over"])
    def test_create_is_not_given_a_later_file_of_its_own_client(
        self, client: Any, restart: bool, gone: str
    ) -> None:
        """Two streams of one client would write one file."""
        client.create("/a", **AGAIN)
        if gone == "renamed over":
            client.create("/b")
            client.rename2("/b", "/a", overwrite=True)
        else:
            if gone == "deleted":
                client.delete("/a")
            client.create("/a", flag=pb.CREATE | pb.OVERWRITE)
        self.between(client, restart)
        with pytest.raises(errors.LeaseExpired, match=f"/a .*{client.name}"):
            client.create("/a", **AGAIN)

    def test_create_gives_the_same_file_though_it_was_moved(
        self, client: Any, restart: bool
    ) -> None:
        first = client.create("/a", **AGAIN)
        client.rename("/a", "/b")
        self.between(client, restart)
        assert client.create("/a", **AGAIN).fileId == first.fileId
        client.create("/a")
        assert client.create("/a", **AGAIN).fileId == first.fileId

    def test_delete_succeeds_again(self, client: Any, restart: bool) -> None:
        client.mkdirs("/d")
        assert client.delete("/d", **AGAIN) is True
        self.between(client, restart)
        assert client.delete("/d", **AGAIN) is True
        assert client.delete("/d") is False

    def test_delete_does_not_take_what_came_since(self, client: Any, restart: bool) -> None:
        client.mkdirs("/d")
        client.delete("/d", **AGAIN)
        self.between(client, restart)
        client.mkdirs("/d")
        client.delete("/d", **AGAIN)
        assert client.exists("/d")

    def test_rename_succeeds_again(self, client: Any, restart: bool) -> None:
        client.mkdirs("/a")
        assert client.rename("/a", "/b", **AGAIN) is True
        self.between(client, restart)
        assert client.rename("/a", "/b", **AGAIN) is True
        assert client.names("/") == ["b"]

    def test_rename2_does_not_complain(self, client: Any, restart: bool) -> None:
        client.mkdirs("/a")
        client.rename2("/a", "/b", **AGAIN)
        self.between(client, restart)
        client.rename2("/a", "/b", **AGAIN)
        with pytest.raises(errors.PathNotFound):
            client.rename2("/a", "/b")

    def test_renames_of_one_turn_are_not_made_twice(
        self, client: Any, nodes: list[InMemoryDatanode], restart: bool
    ) -> None:
        client.mkdirs("/d")
        moves = ("/d", "/e"), ("/e", "/f")
        assert client.rename_in_turn(*moves, **AGAIN) == 2
        self.between(client, restart)
        assert client.rename_in_turn(*moves, **AGAIN) == 2
        assert client.names("/") == ["f"]

    def test_renames_of_one_turn_up_to_one_that_failed_are_told_again(
        self, client: Any, nodes: list[InMemoryDatanode], restart: bool
    ) -> None:
        client.mkdirs("/d")
        moves = ("/d", "/e"), ("/e", "/f"), ("/e", "/g"), ("/f", "/h")
        assert client.rename_in_turn(*moves, **AGAIN) == 2
        self.between(client, restart)
        assert client.rename_in_turn(*moves, **AGAIN) == 2
        assert client.names("/") == ["f"]

    def test_rename_over_a_known_file_does_not_complain(
        self, client: Any, nodes: list[InMemoryDatanode], restart: bool
    ) -> None:
        client.write("/a", 10)
        client.write("/b", 20)
        known = client.known("/b")
        client.rename_over("/a", "/b", known, **AGAIN)
        self.between(client, restart)
        client.rename_over("/a", "/b", known, **AGAIN)
        assert client.names("/") == ["b"]

    def test_append_gives_the_same_answer(
        self, client: Any, nodes: list[InMemoryDatanode], restart: bool
    ) -> None:
        client.write("/a", 10)
        first = client.append("/a", **AGAIN)
        self.between(client, restart)
        second = client.append("/a", **AGAIN)
        assert (second.block.b, second.stat) == (first.block.b, first.stat)


def test_append_is_not_given_a_later_file_of_its_own_client(
    client: Any, nodes: list[InMemoryDatanode]
) -> None:
    client.write("/a", 10)
    client.append("/a", **AGAIN)
    client.delete("/a")
    client.create("/a")
    with pytest.raises(errors.LeaseExpired, match=f"/a .*{client.name}"):
        client.append("/a", **AGAIN)


def test_call_that_failed_is_run_again(client: Any) -> None:
    with pytest.raises(errors.PathNotFound):
        client.rename2("/a", "/b", **AGAIN)
    client.mkdirs("/a")
    client.rename2("/a", "/b", **AGAIN)
    assert client.exists("/b")


def test_create_whose_file_is_gone_says_so(client: Any) -> None:
    client.create("/a", **AGAIN)
    client.delete("/a")
    client.namenode = client.namenode.restarted()
    with pytest.raises(errors.PathNotFound, match="was created and is gone since"):
        client.create("/a", **AGAIN)


def test_calls_without_identity_are_run_each_time(client: Any) -> None:
    client.mkdirs("/d")
    assert client.delete("/d", client_id=b"", call_id=7) is True
    assert client.delete("/d", client_id=b"", call_id=7) is False


@pytest.mark.parametrize(
    ("client_id", "call_id"),
    [(b"", 5), (b"short", 5), (b"A" * 17, 5), (b"A" * 16, -7)],
    ids=["empty", "short", "long", "negative call id"],
)
def test_what_is_no_identity_is_logged_as_none(client: Any, client_id: bytes, call_id: int) -> None:
    """Hadoop's namenode does not start from a log with a client id of another length."""
    client.mkdirs("/d")
    request = pb.DeleteRequestProto(src="/d", recursive=True)
    client.namenode.call("delete", request, client_id=client_id, call_id=call_id)
    edit = client.namenode.edits()[-1]
    assert isinstance(edit, edits.DeleteOp)
    assert (edit.rpc_client_id, edit.rpc_call_id) == (edits.NO_CLIENT_ID, edits.NO_CALL_ID)
    assert not len(client.namenode.namesystem.retry_cache)
