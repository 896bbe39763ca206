"""One namenode after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.namenode import NamenodeProxy
from howdah.client.namenodes.call_loop import NoActiveNamenode
from howdah.client.namenodes.connections import Connections
from howdah.client.namenodes.failover import ConfiguredFailover
from howdah.client.namenodes.target import target_of
from howdah.client.settings.settings import ClientSettings
from howdah.config import Configuration
from howdah.protocol.rpc.call import Call
from howdah.protocol.rpc.failover import FailoverPolicy
from howdah.rpc import wait_notices

FakeNameservice = Any  # of conftest.py
Make = Callable[..., FakeNameservice]


HEDGING = {
    "dfs_client_failover_proxy_provider_ns": (
        "org.apache.hadoop.hdfs.server.namenode.ha.RequestHedgingProxyProvider"
    )
}


@contextmanager
def namenode_of(ns: FakeNameservice, **changes: str) -> Iterator[NamenodeProxy]:
    with closing(DFSClient.at("ns", ns.conf(**changes))) as client:
        yield client.namenode


def delete(namenode: NamenodeProxy) -> bool:
    return namenode.delete("/f", recursive=False)


@pytest.mark.req("FS-057", "FS-075")
def test_the_active_namenode_is_found(nameservice: Make) -> None:
    ns = nameservice(3)
    ns.active(2)
    with namenode_of(ns) as namenode:
        assert delete(namenode)
        assert delete(namenode)
    assert [len(each.calls) for each in ns.namenodes] == [1, 1, 2]


def test_a_repeated_call_keeps_its_identity_at_another_namenode(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(1)
    with namenode_of(ns) as namenode:
        assert delete(namenode)
        assert delete(namenode)
    (refused,), (answered, later) = ns[0].calls, ns[1].calls
    assert refused.call_id == answered.call_id != later.call_id
    assert refused.client_id == answered.client_id == later.client_id
    assert (refused.caller.retry_count, answered.caller.retry_count) == (-1, 1)


@pytest.mark.parametrize("provider", [{}, HEDGING], ids=["configured", "hedging"])
def test_a_client_goes_on_when_the_active_dies(nameservice: Make, provider: dict[str, str]) -> None:
    ns = nameservice(2)
    ns.active(0)
    with namenode_of(ns, **provider) as namenode:
        assert delete(namenode)
        ns[0].stop()
        ns.active(1)
        assert delete(namenode)
        assert namenode.address == ("127.0.0.1", ns[1].port)


@pytest.mark.parametrize("provider", [{}, HEDGING], ids=["configured", "hedging"])
def test_a_client_waits_for_a_namenode_to_become_active(
    nameservice: Make, provider: dict[str, str]
) -> None:
    ns = nameservice(2)

    def becomes_active(call: Call) -> None:
        if len(ns[1].calls) == 4:
            ns.active(0)

    ns[1].script = becomes_active
    with namenode_of(ns, **provider) as namenode:
        assert delete(namenode)
    assert provider or [len(each.calls) for each in ns.namenodes] == [5, 4]


def test_a_call_that_nobody_answers_names_every_namenode(nameservice: Make) -> None:
    ns = nameservice(3)
    ns[1].stop()
    with (
        namenode_of(ns, dfs_client_failover_max_attempts="1") as namenode,
        pytest.raises(NoActiveNamenode) as raised,
    ):
        delete(namenode)
    said = str(raised.value)
    assert said.startswith("no active namenode of ns answers delete (15 attempts in ")
    for each in ns.namenodes:
        assert f"{each.name} (127.0.0.1:{each.port}): " in said
    assert "not supported in state standby" in said
    assert "Connection refused" in said
    assert isinstance(raised.value, ConnectionError)


def test_an_answer_of_the_active_is_final(nameservice: Make) -> None:
    ns = nameservice(2)
    ns[0].script = lambda call: errors.AccessDenied("no")
    with namenode_of(ns) as namenode, pytest.raises(PermissionError) as raised:
        delete(namenode)
    assert raised.value.filename == "/f"
    assert ns[1].calls == []


def test_who_asks_for_patience_is_asked_again(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(0)
    ns[0].script = lambda call: errors.RetriableError("soon") if len(ns[0].calls) < 3 else None
    with namenode_of(ns) as namenode:
        assert delete(namenode)
    assert [len(each.calls) for each in ns.namenodes] == [3, 0]


def test_a_namenode_that_never_stops_asking_for_patience_is_given_up(nameservice: Make) -> None:
    ns = nameservice(2)
    ns[0].script = lambda call: errors.RetriableError("soon")
    with (
        namenode_of(ns, dfs_client_retry_max_attempts="2") as namenode,
        pytest.raises(errors.RetriableError),
    ):
        delete(namenode)
    assert len(ns[0].calls) == 3


def test_a_silent_namenode_is_left_for_another(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(1)
    let_go = threading.Event()

    def silence(call: Call) -> errors.HowdahError:
        let_go.wait(20)
        return errors.RemoteError("too late")

    ns[0].script = silence
    conf = ns.conf().with_values({"ipc.client.rpc-timeout.ms": "200"})
    with closing(DFSClient.at("ns", conf)) as client:
        try:
            assert delete(client.namenode)
        finally:
            let_go.set()


@pytest.mark.req("LM-019")
def test_a_new_client_begins_with_the_namenode_that_last_answered(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(1)
    for _ in range(3):
        with namenode_of(ns) as namenode:
            assert delete(namenode)
    assert [len(each.calls) for each in ns.namenodes] == [1, 3]


def test_all_threads_of_a_client_leave_a_namenode_together(nameservice: Make) -> None:
    ns = nameservice(2)
    ns.active(0)
    with namenode_of(ns) as namenode:
        assert delete(namenode)
        ns.active(1)
        together = threading.Barrier(8)
        done: list[bool] = []

        def work() -> None:
            together.wait(20)
            done.append(delete(namenode))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert done == [True] * 8
        assert namenode.address[1] == ns[1].port
    ids = [call.call_id for call in ns[1].calls]
    assert len(set(ids)) == len(ids) == 8


def test_a_random_order_is_one_of_the_client(nameservice: Make) -> None:
    ns = nameservice(3)
    ns.active(0)
    draws = iter([0.9, 0.5, 0.1])
    connections = Connections(target_of("ns", ns.conf()), ClientSettings(), "alice")
    calls = ConfiguredFailover(
        connections, FailoverPolicy(), random_order=True, draw=lambda: next(draws, 0.5)
    )
    with closing(calls):
        assert delete(NamenodeProxy(calls))
    assert [calls[0].caller.retry_count for calls in (each.calls for each in ns.namenodes)] == [
        2,
        1,
        -1,
    ]


def test_one_namenode_of_a_nameservice_is_asked_as_if_it_was_named(nameservice: Make) -> None:
    ns = nameservice(1)
    ns.active(0)
    with namenode_of(ns) as namenode:
        assert namenode.delete("/f", recursive=False)


def test_namenodes_that_only_a_name_server_lists_are_refused(nameservice: Make) -> None:
    ns = nameservice(2)
    with pytest.raises(errors.UnsupportedOperation, match=r"list the namenodes in .*nodes\.ns"):
        DFSClient.at("ns", ns.conf().with_values({"dfs.client.failover.resolve-needed.ns": "true"}))


def test_an_unknown_provider_is_refused_by_name(nameservice: Make) -> None:
    ns = nameservice(2)
    changes = {"dfs_client_failover_proxy_provider_ns": "org.example.TrustMeProxyProvider"}
    with pytest.raises(errors.UnsupportedOperation, match=r"TrustMe.*ConfiguredFailover"):
        DFSClient.at("ns", ns.conf(**changes))


@pytest.mark.req("FS-057", "FS-070")
@pytest.mark.parametrize("provider", ["ConfiguredFailover", "RequestHedging"])
def test_a_namenode_that_hangs_is_left_when_another_one_is_active(
    nameservice: Make, provider: str
) -> None:
    ns = nameservice(3)
    ns.active(0)
    ends, waits = threading.Event(), threading.Event()

    def hangs(call: Call) -> None:
        waits.set()
        ends.wait(60)

    conf = {
        "howdah_client_failover_probe_interval_ms": "20",
        "dfs_client_failover_proxy_provider_ns": f"{provider}ProxyProvider",
    }
    with namenode_of(ns, **conf) as namenode:
        assert delete(namenode)
        ns[0].script = hangs
        deleted: list[bool] = []
        caller = threading.Thread(target=lambda: deleted.append(delete(namenode)))
        caller.start()
        assert waits.wait(30)
        caller.join(0.2)
        # While no other is active, it is waited for.
        assert caller.is_alive()
        ns.active(2)
        caller.join(30)
        assert deleted == [True]
    hung = next(call for call in ns[0].calls[1:] if call.method == "delete")
    assert ns[2].calls[-1].call_id == hung.call_id
    ends.set()


@pytest.mark.parametrize("authority", ["", ":8020", "host:port", "host:\u00b2", "host:\u0661"])
def test_what_is_no_authority_is_refused(authority: str) -> None:
    with pytest.raises(errors.IllegalArgument, match="names no namenode"):
        target_of(authority, Configuration({}))


@pytest.mark.parametrize(
    "provider", ["ConfiguredFailoverProxyProvider", "RequestHedgingProxyProvider"]
)
def test_a_call_on_a_closed_client_of_a_nameservice_is_refused_at_once(
    nameservice: Callable[..., Any], provider: str
) -> None:
    ns = nameservice(2)
    conf = ns.conf(
        dfs_client_failover_proxy_provider_ns=f"org.apache.hadoop.hdfs.server.namenode.ha.{provider}"
    )
    client = DFSClient.at("ns", conf)
    client.close()
    with pytest.raises(errors.FilesystemClosed):
        client.namenode.delete("/f", recursive=False)
    assert not ns[0].calls
    assert not ns[1].calls


@pytest.mark.parametrize(
    "provider", ["ConfiguredFailoverProxyProvider", "RequestHedgingProxyProvider"]
)
def test_who_waits_for_an_active_is_told_how_long_that_lasts_in_all(
    nameservice: Make,
    provider: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(wait_notices, "is_terminal", lambda: False)
    changes = {
        "dfs_client_failover_proxy_provider_ns": (
            f"org.apache.hadoop.hdfs.server.namenode.ha.{provider}"
        ),
        "dfs_client_failover_max_attempts": "3",
    }
    with namenode_of(nameservice(2), **changes) as namenode:
        with pytest.raises(NoActiveNamenode):
            delete(namenode)
    said = [each.getMessage() for each in caplog.records if each.name == wait_notices.__name__]
    assert said
    assert all(", for up to 0.0" in each and "s in all" in each for each in said)
