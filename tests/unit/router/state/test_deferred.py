"""Whatever the work for a call ends with, its caller gets an answer."""

from __future__ import annotations

import asyncio

import pytest

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.service import Deferred
from howdah.router.state.deferred import settle
from howdah.runtime import unexpected_errors

pytestmark = pytest.mark.req("LM-020")

ANSWER = pb.GetFileInfoResponseProto()


def answered(outcome: pb.GetFileInfoResponseProto | Exception) -> object:
    async def work() -> pb.GetFileInfoResponseProto:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    told: list[object] = []
    answer = Deferred()
    answer.when_settled(told.append)
    asyncio.run(settle("getFileInfo", work(), answer))
    (found,) = told
    return found


def test_a_result_and_a_refusal_are_passed_on() -> None:
    assert answered(ANSWER) is ANSWER
    refusal = errors.PathNotFound("/f")
    assert answered(refusal) is refusal


def test_a_defect_is_counted_and_its_caller_gets_an_error() -> None:
    before = unexpected_errors.seen["getFileInfo"]
    found = answered(ZeroDivisionError("nobody foresaw it"))
    assert isinstance(found, errors.RemoteError)
    assert "getFileInfo failed on an internal error: ZeroDivisionError" in found.message
    assert unexpected_errors.seen["getFileInfo"] == before + 1
