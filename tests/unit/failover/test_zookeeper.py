"""Controllers that elect on a real ZooKeeper, from the jars that PySpark has (FS-066, FS-067)."""

from __future__ import annotations

import logging
import queue
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from typing import Any, cast

import pytest

from howdah import errors
from howdah.cli.zkfc import main
from howdah.config import Configuration
from howdah.config.value_types import Address
from howdah.failover.controller_loop import RunningController
from howdah.failover.namenodes import Controller
from howdah.failover.server import CannotStart, FailoverServer, setup
from howdah.failover.settings import targets
from howdah.failover.state.active_node import decode, encode
from howdah.failover.state.status import active_of
from howdah.failover.zookeeper import ZooKeeperElection, ZooKeeperSettings
from howdah.java import NoJava
from howdah.local.zookeeper import NoZooKeeper
from howdah.protocol.zookeeper import Session, Znode, parse_acls
from howdah.testing.waiting import wait_until
from tests.support.zookeeper import zookeeper_server

from .conftest import Cluster, MakeCluster

_parents = count()


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """Where a ZooKeeper server answers."""
    pytest.importorskip("kazoo", reason="an election on ZooKeeper needs kazoo")
    try:
        with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as address:
            yield address
    except (NoZooKeeper, NoJava) as error:
        pytest.skip(str(error))


class ZooKeeperCluster:
    """A cluster of fakes whose controllers elect on ZooKeeper, and what its znodes hold."""

    def __init__(self, cluster: Cluster, address: Address) -> None:
        self.cluster = cluster
        self.parent = f"/test-{next(_parents)}"
        cluster.settings |= {
            "ha.zookeeper.quorum": f"{address[0]}:{address[1]}",
            "ha.zookeeper.parent-znode": self.parent,
            "ha.zookeeper.session-timeout.ms": "4000",
        }
        self._settings = ZooKeeperSettings.of(Configuration(cluster.settings), "east")
        self.session = Session(self._settings.ensemble)

    def format(self, *words: str) -> int:
        return main(["-formatZK", *words], self.cluster.conf(0))

    def content(self, name: str) -> bytes | None:
        found = self.session.read(f"{self.parent}/east/{name}")
        return None if found is None else found.content

    @property
    def lock(self) -> bytes | None:
        return self.content("ActiveStandbyElectorLock")

    @property
    def breadcrumb(self) -> bytes | None:
        return self.content("ActiveBreadCrumb")

    def start(self) -> int:
        """All controllers; the number of the active."""
        assert self.format() == 0
        return self.cluster.start_zkfcs()


@pytest.fixture
def make(make_cluster: MakeCluster, zookeeper: Address) -> Iterator[Callable[[], ZooKeeperCluster]]:
    made: list[ZooKeeperCluster] = []

    def one() -> ZooKeeperCluster:
        made.append(ZooKeeperCluster(make_cluster(journal_nodes=0), zookeeper))
        return made[-1]

    yield one
    for each in made:
        each.session.close()


def test_znodes_name_the_active_as_those_of_hadoop_do(make: Callable[[], ZooKeeperCluster]) -> None:
    there = make()
    active = there.start()
    own = there.cluster.zkfcs[active].server.own
    wait_until(lambda: there.breadcrumb is not None)
    assert there.lock == there.breadcrumb == encode(own)
    assert decode(there.lock or b"").namenode == f"nn{active}"


def test_a_namenode_that_is_not_well_is_made_standby_and_replaced(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    there = make()
    before = there.start()
    there.cluster.namenodes[before].is_healthy = False
    there.cluster.wait_for_active(1 - before)
    last = there.cluster.orders[::-1]
    assert last.index((f"nn{1 - before}", "active")) < last.index((f"nn{before}", "standby"))


def test_a_graceful_failover_leaves_nobody_to_fence(
    make: Callable[[], ZooKeeperCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = make()
    before = there.start()
    crumbs: list[bytes | None] = []
    election = there.cluster.zkfcs[1 - before].server.running._election
    assert election is not None
    read = election.read_breadcrumb

    def noted() -> Any:
        found = read()
        crumbs.append(found.content if found else None)
        return found

    monkeypatch.setattr(election, "read_breadcrumb", noted)
    controller = Controller(targets(there.cluster.conf(), "east")[f"nn{1 - before}"], 20)
    controller.fail_over_to_it()
    controller.close()
    assert there.cluster.states()[1 - before] == "active"
    assert crumbs == [None]


def test_a_controller_that_stops_leaves_its_breadcrumb(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    there = make()
    active = there.start()
    breadcrumb = there.breadcrumb
    for zkfc in there.cluster.zkfcs.values():
        if zkfc is not there.cluster.zkfcs[active]:
            zkfc.stop()
    there.cluster.zkfcs[active].stop()
    assert there.lock is None
    assert there.breadcrumb == breadcrumb


@pytest.mark.req("FS-066", "FS-069")
def test_a_lost_session_is_an_election_and_no_two_are_active(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    from kazoo.client import KazooClient

    there = make()
    before = there.start()
    election: Any = there.cluster.zkfcs[before].server.running._election

    def session_id() -> object:
        # A controller that leaves the election meanwhile joins it with another session.
        session = getattr(election._candidate, "session", None)
        return None if session is None else session._client.client_id

    lost = session_id()
    # Who connects with the same session and closes it ends it.
    quorum = there.cluster.settings["ha.zookeeper.quorum"]
    killer = KazooClient(hosts=quorum, client_id=lost)
    killer.start(timeout=10)
    killer.stop()
    killer.close()
    wait_until(lambda: session_id() not in (None, lost), what="there is another session")

    def is_named_by_the_lock() -> bool:
        lock = there.lock
        active = [nn.name for nn in there.cluster.namenodes if nn.state == "active"]
        return lock is not None and active == [decode(lock).namenode]

    wait_until(is_named_by_the_lock)


def test_who_was_stopped_for_longer_than_his_session_holds_nothing(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    there = make()
    active = there.start()
    election = there.cluster.zkfcs[active].server.running._election
    assert election is not None
    assert election.holds()
    # Its lock is gone, and it was told nothing yet.
    candidate: Any = getattr(election, "_candidate")  # noqa: B009 - of this kind of election
    events, candidate._events = candidate._events, queue.SimpleQueue()
    there.session.remove(f"{there.parent}/east/ActiveStandbyElectorLock")
    wait_until(lambda: not election.holds())
    with pytest.raises(errors.ServiceFailed, match="not held any more"):
        election.read_breadcrumb()
    candidate._events = events


@pytest.mark.req("FS-066", "FS-070")
def test_a_foreign_controller_is_waited_for_and_its_namenode_fenced(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    there = make()
    assert there.format() == 0
    foreign = Session(there._settings.ensemble)
    content = encode(targets(there.cluster.conf(), "east")["nn1"])
    assert foreign.create(f"{there.parent}/east/ActiveStandbyElectorLock", content, ephemeral=True)
    assert foreign.create(f"{there.parent}/east/ActiveBreadCrumb", content)
    there.cluster.start_zkfc(0)
    wait_until(lambda: ("nn0", "standby") in there.cluster.orders)
    assert "active" not in there.cluster.states()
    foreign.close()
    there.cluster.wait_for_active(0)
    assert there.cluster.orders[-2:] == [("nn1", "standby"), ("nn0", "active")]


def test_a_lock_that_somebody_removes_is_taken_again(make: Callable[[], ZooKeeperCluster]) -> None:
    there = make()
    there.start()
    there.session.remove(f"{there.parent}/east/ActiveStandbyElectorLock")
    wait_until(lambda: there.lock is not None)
    there.cluster.wait_for_active()


@pytest.mark.parametrize("content", [b"", b"\xff\xff", b"\x0a\x04west"])
def test_a_hostile_breadcrumb_makes_nothing_active(
    content: bytes, make: Callable[[], ZooKeeperCluster], caplog: pytest.LogCaptureFixture
) -> None:
    there = make()
    assert there.format() == 0
    assert there.session.create(f"{there.parent}/east/ActiveBreadCrumb", content)
    there.cluster.start_zkfc(0)
    message = "the election names no namenode"
    wait_until(lambda: any(message in record.getMessage() for record in caplog.records))
    assert there.cluster.states() == ["standby", "standby"]


def test_a_znode_that_is_removed_ends_the_controller_with_advice(
    make: Callable[[], ZooKeeperCluster], caplog: pytest.LogCaptureFixture
) -> None:
    there = make()
    active = there.start()

    def is_removed() -> bool:
        try:
            there.session.remove(f"{there.parent}/east", recursive=True)
        except errors.ServiceFailed:
            return False  # a candidate made the lock once more
        return True

    wait_until(is_removed)
    there.cluster.zkfcs[active].thread.join(20)
    assert there.cluster.zkfcs[active].codes == [1]
    assert "run `howdah zkfc -formatZK`" in caplog.text


def test_a_breadcrumb_that_is_removed_meanwhile_is_not_written(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    """By an operator who clears the directory: the controller went down on a defect."""
    there = make()
    active = there.start()
    election = there.cluster.zkfcs[active].server.running._election
    assert election is not None
    before = election.read_breadcrumb()
    assert before is not None
    there.session.discard(f"{there.parent}/east/ActiveBreadCrumb")
    with pytest.raises(errors.ServiceFailed, match="removed at the same time"):
        election.write_breadcrumb(before)


# -- before it starts


def test_a_znode_is_formatted_once(make: Callable[[], ZooKeeperCluster]) -> None:
    there = make()
    assert there.format() == 0
    there.session.create(f"{there.parent}/east/ActiveBreadCrumb", b"old")
    assert there.format("-nonInteractive") == 2
    assert there.breadcrumb == b"old"
    assert there.format("-force") == 0
    assert there.breadcrumb is None


def test_formatting_asks_before_it_clears(
    make: Callable[[], ZooKeeperCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    there = make()
    there.format()
    for answer, code in (("n\n", 2), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert there.format() == code


def test_a_controller_does_not_start_without_its_znode(
    make: Callable[[], ZooKeeperCluster],
) -> None:
    with pytest.raises(CannotStart, match="Run with -formatZK") as told:
        FailoverServer(setup(make().cluster.conf(0)))
    assert told.value.exit_code == 3


def test_a_controller_does_not_start_without_zookeeper(make_cluster: MakeCluster) -> None:
    pytest.importorskip("kazoo", reason="an election on ZooKeeper needs kazoo")
    cluster = make_cluster(journal_nodes=0)
    cluster.settings |= {
        "ha.zookeeper.quorum": "127.0.0.1:1",
        "ha.zookeeper.session-timeout.ms": "300",
    }
    with pytest.raises(CannotStart, match="no ZooKeeper server answered") as told:
        FailoverServer(setup(cluster.conf(0)))
    assert told.value.exit_code == 6
    assert main(["-formatZK"], cluster.conf(0)) == 6


def test_without_kazoo_it_is_said_what_to_install(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_cluster(journal_nodes=0)
    cluster.settings["ha.zookeeper.quorum"] = "127.0.0.1:1"
    for name in [name for name in sys.modules if name.startswith("kazoo")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kazoo", None)
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    with pytest.raises(errors.InvalidConfiguration, match=r"pip install 'howdah\[zookeeper\]'"):
        FailoverServer(setup(cluster.conf(0)))


def test_a_session_that_cannot_begin_leaves_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("kazoo.client", reason="a session needs kazoo").KazooClient
    ended: list[str] = []

    def fail(self: Any, timeout: float) -> None:
        raise ValueError("no such scheme")

    monkeypatch.setattr(client, "start", fail)
    monkeypatch.setattr(client, "stop", lambda self: ended.append("stop"))
    monkeypatch.setattr(client, "close", lambda self: ended.append("close"))
    with pytest.raises(ValueError, match="no such scheme"):
        Session(settings().ensemble)
    assert ended == ["stop", "close"]


# -- a breadcrumb that is cleared late


class LateSession:
    """The session of a candidacy that has ended. Its first one was lost, and meanwhile the next
    candidacy of the same controller was elected."""

    def __init__(self, session_id: int) -> None:
        self.session_id = session_id
        self.removed: list[tuple[str, int]] = []

    def read(self, path: str) -> Znode:
        return Znode(b"nn1", 7)

    def owner(self, path: str) -> int | None:
        return 1

    def remove(self, path: str, version: int) -> None:
        self.removed.append((path, version))


@pytest.mark.parametrize(("session_id", "removed"), [(1, [7]), (2, [])])
def test_a_breadcrumb_is_cleared_only_by_the_session_that_has_the_lock(
    session_id: int, removed: list[int]
) -> None:
    """Else it would be that of a namenode that is active, and would not be fenced."""
    election = ZooKeeperElection(settings(), lambda *_: None, lambda _: None)
    election._content = b"nn1"
    late = LateSession(session_id)
    election._clear(cast(Session, late))
    assert [version for _, version in late.removed] == removed


# -- the keys


def settings(**values: str) -> ZooKeeperSettings:
    named = {f"ha.zookeeper.{key.replace('_', '-')}": value for key, value in values.items()}
    return ZooKeeperSettings.of(Configuration({"ha.zookeeper.quorum": "zk:2181"} | named), "east")


def test_acls_are_read_as_hadoop_reads_them() -> None:
    assert parse_acls("world:anyone:rwcda, sasl:hdfs:rw,digest:u:hash=:r", "k") == (
        ("world", "anyone", 31),
        ("sasl", "hdfs", 3),
        ("digest", "u:hash=", 1),
    )


@pytest.mark.parametrize("text", ["world", "world:anyone", "world:anyone:xyz", "world:anyone:"])
def test_what_is_no_acl_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match="znode-acl"):
        parse_acls(text, "znode-acl")


def test_secrets_may_be_in_a_file_and_are_never_shown(tmp_path: Any) -> None:
    (tmp_path / "auth").write_text("digest:hdfs:secret\n")
    assert settings(auth=f"@{tmp_path}/auth").ensemble.auths == (("digest", "hdfs:secret"),)
    with pytest.raises(errors.InvalidConfiguration) as told:
        settings(auth="secret")
    assert "secret" not in str(told.value)
    with pytest.raises(errors.InvalidConfiguration, match="cannot be read"):
        settings(auth="@/nowhere")


def test_tls_is_refused_rather_than_ignored() -> None:
    conf = {"ha.zookeeper.quorum": "zk:2281", "dfs.ha.zkfc.client.ssl.enabled": "true"}
    with pytest.raises(errors.InvalidConfiguration, match="is not supported"):
        ZooKeeperSettings.of(Configuration(conf), "east")


def test_the_znode_is_that_of_the_nameservice() -> None:
    assert settings().directory == "/hadoop-ha/east"
    assert settings(parent_znode="/a/").directory == "/a/east"
    with pytest.raises(errors.InvalidConfiguration, match="does not begin with /"):
        settings(parent_znode="a")


@pytest.fixture(autouse=True)
def _logs(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is the test's."""
    caplog.set_level(logging.INFO, "howdah")
    monkeypatch.setattr("howdah.cli.zkfc.begin", lambda options: None)


def says_elected(running: RunningController, namenode: str) -> bool:
    return active_of(running.sight()) == namenode


@pytest.mark.req("FS-260")
def test_the_web_port_tells_of_the_session_and_of_the_elected(
    zookeeper: Address, make_cluster: MakeCluster
) -> None:
    cluster = make_cluster()
    together = ZooKeeperCluster(cluster, zookeeper)
    with closing(together.session):
        active = together.start()
        for number in range(2):
            running = cluster.zkfcs[number].server.running
            wait_until(partial(says_elected, running, f"nn{active}"), timeout_s=60)
            standing = running.sight().standing
            assert standing.is_reached
            assert standing.said.startswith("session 0x")
            assert together.parent in standing.place
