"""All namenodes at once. What this provider has in common with others is in test_failover."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.call_loop import NoActiveNamenode, first_answer
from howdah.protocol.rpc.call import Call

FakeNameservice = Any  # of conftest.py
Make = Callable[..., FakeNameservice]
HEDGING = {
    "dfs_client_failover_proxy_provider_ns": (
        "org.apache.hadoop.hdfs.server.namenode.ha.RequestHedgingProxyProvider"
    )
}


@contextmanager
def namenode_of(ns: FakeNameservice, **changes: str) -> Iterator[NamenodeProxy]:
    with closing(DFSClient.at("ns", ns.conf(**HEDGING, **changes))) as client:
        yield client.namenode


def delete(namenode: NamenodeProxy) -> bool:
    return namenode.delete("/f", recursive=False)


def test_the_active_is_found_while_others_say_nothing(nameservice: Make) -> None:
    ns = nameservice(3)
    ns.active(2)
    let_go = threading.Event()

    def silence(call: Call) -> errors.HowdahError:
        let_go.wait(20)
        return errors.StandbyError("at last")

    ns[0].script = ns[1].script = silence
    try:
        with namenode_of(ns) as namenode:
            assert delete(namenode)
            assert delete(namenode)
            assert len(ns[2].calls) == 2
    finally:
        let_go.set()
    assert len(ns[0].calls) <= 1, "the client stays with the one that answered"


def test_all_are_asked_under_one_identity(nameservice: Make) -> None:
    ns = nameservice(2)
    both = threading.Barrier(2)

    def meet(call: Call) -> None:
        if len(ns[0].calls) + len(ns[1].calls) <= 2:
            both.wait(20)

    ns.active(1)
    ns[0].script = ns[1].script = meet
    with namenode_of(ns) as namenode:
        assert delete(namenode)
    (first,), (second,) = ns[0].calls, ns[1].calls
    assert (first.client_id, first.call_id) == (second.client_id, second.call_id)


def test_an_error_of_the_active_is_the_answer(nameservice: Make) -> None:
    ns = nameservice(2)
    ns[1].script = lambda call: errors.AccessDenied("no")
    with namenode_of(ns) as namenode, pytest.raises(PermissionError):
        delete(namenode)
    with namenode_of(ns) as namenode, pytest.raises(PermissionError):
        delete(namenode)
    assert len(ns[1].calls) == 2


def test_a_call_that_nobody_answers_names_every_namenode(nameservice: Make) -> None:
    ns = nameservice(2)
    ns[0].stop()
    with (
        namenode_of(ns, dfs_client_failover_max_attempts="1") as namenode,
        pytest.raises(NoActiveNamenode, match=r"10 attempts.*nn1 \(.*nn2 \(|nn2 \(.*nn1 \("),
    ):
        delete(namenode)


def test_without_threads_the_namenodes_are_asked_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def ask(namenode: str) -> str:
        asked.append(namenode)
        if namenode == "nn1":
            raise errors.StandbyError("not me")
        return "done"

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    answer, failures = first_answer(ask, ("nn1", "nn2"))
    assert answer is not None
    assert (answer.namenode, answer.result()) == ("nn2", "done")
    assert set(failures) == {"nn1"}
    assert asked == ["nn1", "nn2"]


def no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
