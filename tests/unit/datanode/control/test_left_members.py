"""Each place where a namenode is listened to knows that it was left meanwhile.

What stands for the owner of a method has only what the method uses.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from howdah import errors
from howdah.datanode.control import block_pool, namenode_actor
from howdah.datanode.control.block_pool import BlockPool, Member
from howdah.datanode.control.lifeline import LifelineSender
from howdah.datanode.control.namenode_actor import NamenodeActor
from howdah.datanode.state.messages import Invalidate
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import ExtendedBlock

POOL = "BP-1"


def pool(**parts: object) -> Any:
    made: Any = SimpleNamespace(
        _changed=threading.Condition(), _stopping=False, pool_id=POOL, nameservice="ns", **parts
    )
    made._is_dropped = lambda *what: BlockPool._is_dropped(made, *what)
    return made


@pytest.fixture
def left() -> Member:
    return Member("nn1", has_left=True)


def test_no_order_of_it_is_obeyed(left: Member) -> None:
    claim = SimpleNamespace(obeys=lambda *_: pytest.fail("it has no say any more"))
    order = Invalidate((ExtendedBlock(POOL, 1, 1001),))
    assert not BlockPool.obeys(pool(_claim=claim), left, order)


def test_no_upgrade_of_it_is_followed(left: Member) -> None:
    upgrade = types_pb2.RollingUpgradeStatusProto(blockPoolId=POOL, finalized=False)
    made = pool(active="nn1", _keeps_deleted=False, _command=pytest.fail)
    BlockPool.heard_of_upgrade(made, left, upgrade)
    assert made._keeps_deleted is False


def test_it_joins_nothing(left: Member) -> None:
    with pytest.raises(errors.RetriableError, match="namenode nn1 is left"):
        BlockPool._check_member(pool(), left)


def test_nobody_waits_for_its_pool(left: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_pool, "_SERVING_TIMEOUT_S", 0.01)
    BlockPool._wait_until_served(pool(_is_served=False), left, POOL)


@pytest.mark.parametrize("fails", [False, True])
def test_neither_its_answer_nor_its_error_is_wanted(fails: bool) -> None:
    actor: Any = SimpleNamespace(_stopping=False)

    def call(*_: object) -> str:
        actor._stopping = True
        if fails:
            raise errors.CallTimeout("no answer")
        return "the answer"

    actor._client = SimpleNamespace(call=call)
    with pytest.raises(namenode_actor._Left):
        NamenodeActor._call_unless_stopping(actor, "sendHeartbeat", None, None)  # type: ignore[arg-type]


def test_its_refusal_is_nobodys() -> None:
    """The datanode would end where every other one refuses it, too."""
    actor: Any = SimpleNamespace(
        _changed=threading.Condition(), _stopping=True, _news=SimpleNamespace(clear=pytest.fail)
    )
    assert not NamenodeActor._refused(actor, SimpleNamespace(reason="no"))  # type: ignore[arg-type]


def test_no_lifeline_goes_to_it() -> None:
    sender: Any = SimpleNamespace(
        _stopping=False, _client=SimpleNamespace(call=pytest.fail), _name="nn1"
    )

    def heartbeat() -> str:
        sender._stopping = True
        return "a heartbeat"

    sender._heartbeat = heartbeat
    LifelineSender._send(sender)
