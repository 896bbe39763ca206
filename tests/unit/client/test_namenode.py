"""Calls to the namenode, and their repetition."""

from __future__ import annotations

from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.calls import SingleNamenode
from howdah.options import CreateFlag
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.retry import RetryPolicy
from howdah.rpc.client import RpcClient


class Calls:
    """An RpcClient that answers from a list."""

    address = ("nn", 8020)
    user = "anna"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.made: list[tuple[str, Any, int, int]] = []
        self._next = 0

    def next_call_id(self) -> int:
        self._next += 1
        return self._next

    def call(
        self, method: str, request: Any, response_type: Any, *, call_id: int, retry_count: int
    ) -> Any:
        self.made.append((method, request, call_id, retry_count))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def proxy(*answers: Any) -> tuple[NamenodeProxy, Calls]:
    calls = Calls(*answers)
    policy = RetryPolicy(connect_retries=2, connect_delay_s=0, retriable_delay_s=0)
    return NamenodeProxy(SingleNamenode(cast(RpcClient, calls), policy)), calls


YES = pb.DeleteResponseProto(result=True)


def test_a_call_that_could_not_be_made_is_repeated_under_the_same_id() -> None:
    namenode, calls = proxy(errors.Unreachable("a"), errors.RetriableError("b"), YES)
    assert namenode.delete("/f", recursive=False)
    assert [(call_id, retry) for _, _, call_id, retry in calls.made] == [(1, -1), (1, 1), (1, 2)]


def test_every_call_has_an_id_of_its_own() -> None:
    namenode, calls = proxy(YES, YES)
    namenode.delete("/f", recursive=False)
    namenode.delete("/f", recursive=False)
    assert [call_id for _, _, call_id, _ in calls.made] == [1, 2]


def test_a_namenode_that_stays_away_is_given_up() -> None:
    namenode, calls = proxy(*[errors.Unreachable("away")] * 3)
    with pytest.raises(errors.Unreachable, match="away"):
        namenode.delete("/f", recursive=False)
    assert len(calls.made) == 3


STANDS_BY = errors.StandbyError("state standby")


def test_a_namenode_that_has_answered_before_and_stands_by_is_waited_for() -> None:
    """It was restarted, as one of several from now on, and is about to be elected."""
    namenode, calls = proxy(YES, errors.Unreachable("away"), STANDS_BY, YES)
    assert namenode.delete("/f", recursive=False)
    assert namenode.delete("/g", recursive=False)
    assert [(call_id, retry) for _, _, call_id, retry in calls.made[1:]] == [
        (2, -1),
        (2, 1),
        (2, 2),
    ]


def test_a_namenode_that_goes_on_standing_by_is_given_up() -> None:
    namenode, calls = proxy(YES, *[STANDS_BY] * 3)
    assert namenode.delete("/f", recursive=False)
    with pytest.raises(errors.StandbyError):
        namenode.delete("/f", recursive=False)
    assert len(calls.made) == 4


def test_a_namenode_that_has_never_answered_and_stands_by_is_the_wrong_one() -> None:
    namenode, calls = proxy(STANDS_BY, YES)
    with pytest.raises(errors.StandbyError):
        namenode.delete("/f", recursive=False)
    assert len(calls.made) == 1


def test_an_answer_is_not_asked_for_twice() -> None:
    namenode, calls = proxy(errors.AccessDenied("no"))
    with pytest.raises(PermissionError):
        namenode.delete("/f", recursive=False)
    assert len(calls.made) == 1


def test_a_time_that_is_left_alone_is_sent_as_java_sends_it() -> None:
    namenode, calls = proxy(pb.SetTimesResponseProto())
    namenode.set_times("/f", 5, -1)
    request = calls.made[0][1]
    assert (request.mtime, request.atime) == (5, (1 << 64) - 1)


def test_a_directory_is_told_apart_from_a_missing_file() -> None:
    namenode, _ = proxy(errors.PathNotFound("Path is not a file: /d"))
    with pytest.raises(IsADirectoryError, match="/d"):
        namenode.get_block_locations("/d", 0, 1)


def test_an_answer_without_locations_is_a_missing_file() -> None:
    namenode, _ = proxy(pb.GetBlockLocationsResponseProto())
    with pytest.raises(FileNotFoundError, match="/f"):
        namenode.get_block_locations("/f", 0, 1)


def test_a_status_of_nothing_is_none() -> None:
    namenode, _ = proxy(pb.GetFileInfoResponseProto())
    assert namenode.get_file_info("/f") is None


def test_flags_go_where_the_protocol_has_a_place_for_them() -> None:
    flags = CreateFlag.SYNC_BLOCK | CreateFlag.NEW_BLOCK | CreateFlag.NO_LOCAL_WRITE
    namenode, calls = proxy(pb.AppendResponseProto(), errors.SpaceQuotaExceeded("full"))
    namenode.append("/f", "me", flags)
    with pytest.raises(errors.SpaceQuotaExceeded):
        namenode.add_block("/f", "me", None, (), 1, flags)
    append, add_block = (request for _, request, _, _ in calls.made)
    assert append.flag == pb.APPEND | pb.NEW_BLOCK
    assert list(add_block.flags) == [pb.NO_LOCAL_WRITE]


def test_favored_nodes_go_with_the_request_for_a_block() -> None:
    namenode, calls = proxy(errors.SpaceQuotaExceeded("full"))
    with pytest.raises(errors.SpaceQuotaExceeded):
        namenode.add_block("/f", "me", None, (), 1, favored_nodes=["a:9866", "b:9866"])
    ((_, request, _, _),) = calls.made
    assert list(request.favoredNodes) == ["a:9866", "b:9866"]


def test_truncate_concat_and_safe_mode_say_what_is_wanted() -> None:
    namenode, calls = proxy(
        pb.TruncateResponseProto(result=False),
        pb.ConcatResponseProto(),
        pb.SetSafeModeResponseProto(result=True),
    )
    assert not namenode.truncate("/f", 7, "me")
    namenode.concat("/f", ["/g", "/h"])
    assert namenode.set_safe_mode("SAFEMODE_ENTER", checked=True)
    truncate, concat, safe_mode = (request for _, request, _, _ in calls.made)
    assert (truncate.src, truncate.newLength, truncate.clientName) == ("/f", 7, "me")
    assert (concat.trg, list(concat.srcs)) == ("/f", ["/g", "/h"])
    assert (safe_mode.action, safe_mode.checked) == (pb.SAFEMODE_ENTER, True)


def test_an_error_of_the_namenode_has_the_path_as_its_filename() -> None:
    namenode, _ = proxy(errors.AccessDenied("no"), errors.PathExists("there"))
    with pytest.raises(PermissionError) as denied:
        namenode.delete("/f", recursive=False)
    assert (denied.value.filename, denied.value.filename2) == ("/f", None)
    with pytest.raises(FileExistsError) as exists:
        namenode.rename2("/f", "/g", overwrite=False)
    assert (exists.value.filename, exists.value.filename2) == ("/f", "/g")
    assert str(exists.value) == "there"
