"""kill -9 of a namenode under load: what was acknowledged is there, what was refused is not.

Each writer works in a directory of its own, one call after the other, so after
the kill it knows what must be there, what must not be, and the one path about
which it was never told.
"""

from __future__ import annotations

import getpass
import random
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from howdah import errors
from howdah.fs.api import FileSystem
from howdah.proto import client_namenode_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

WRITERS = 8
CLIENT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
NO_RETRIES = {"ipc.client.connect.max.retries": "0", "dfs.replication": "1"}


@dataclass
class Ledger:
    """What one writer was told. `doubtful` are the paths of the call that got no answer,
    `is_calling` says that there is one. `marks` are the times that it has set."""

    name: str
    present: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    acknowledged: int = 0
    is_calling: bool = False
    interrupted: bool = False

    def acknowledge(self, *, came: str | None = None, went: str | None = None) -> None:
        mark = None
        if went is not None:
            self.present.discard(went)
            self.absent.add(went)
            mark = self.marks.pop(went, None)
        if came is not None:
            self.absent.discard(came)
            self.present.add(came)
            if mark is not None:
                self.marks[came] = mark
        self.doubtful.clear()
        self.acknowledged += 1


def work(fs: FileSystem, ledger: Ledger, dice: random.Random) -> None:
    """Change things until the namenode is gone."""
    number = 0
    try:
        while True:
            number += 1
            ledger.is_calling = True
            step(fs, ledger, dice, number)
            ledger.is_calling = False
    except (errors.Unreachable, errors.CallTimeout, ConnectionError, errors.ClosedStream):
        ledger.interrupted = True


def step(fs: FileSystem, ledger: Ledger, dice: random.Random, number: int) -> None:
    path = f"{ledger.name}/{number}"
    choice = dice.randrange(6)
    old = dice.choice(sorted(ledger.present)) if ledger.present else None
    if choice == 0 or old is None:
        ledger.doubtful = {path}
        fs.mkdirs(path)
        ledger.acknowledge(came=path)
    elif choice == 1:
        ledger.doubtful = {path}
        fs.create(path).close()
        ledger.acknowledge(came=path)
    elif choice == 2:
        ledger.doubtful = {path, old}
        fs.rename(old, path)
        ledger.acknowledge(came=path, went=old)
    elif choice == 3:
        ledger.doubtful = {old}
        assert fs.delete(old, recursive=True)
        ledger.acknowledge(went=old)
    elif choice == 4:
        ledger.doubtful = {old}
        fs.set_times(old, mtime_ms=number)
        ledger.marks[old] = number
        ledger.acknowledge()
    else:
        missing = f"{path}/no/parent"
        ledger.refused.add(missing)
        with pytest.raises(errors.PathNotFound):
            fs.create(missing, create_parent=False)


def check(fs: FileSystem, ledger: Ledger) -> None:
    listed = {status.path: status for status in fs.list_status(ledger.name)}
    found = set(listed)
    assert ledger.present - ledger.doubtful <= found, "an acknowledged change is lost"
    assert not (ledger.absent - ledger.doubtful) & found, "an acknowledged removal came back"
    for path in ledger.marks.keys() - ledger.doubtful:
        assert listed[path].modification_time_ms == ledger.marks[path], (
            "an acknowledged time is lost"
        )
    assert not any(fs.exists(path) for path in sorted(ledger.refused)[-20:])
    unknown = found - ledger.present - ledger.doubtful
    assert not unknown, f"nobody was told of {unknown}"


def rounds(count: int, seed: int, name_directories: Path | None = None) -> None:
    """Kill and look, so many times. With `name_directories`, there are two of them, and
    an administrator takes one away and gives an empty one back meanwhile."""
    dice = random.Random(seed)
    acknowledged = 0
    conf = dict(NO_RETRIES)
    if name_directories is not None:
        roots = [name_directories / name for name in ("first", "second")]
        conf["dfs.namenode.name.dir"] = ",".join(root.as_uri() for root in roots)
    with MiniCluster(datanodes=1, conf=conf) as cluster:
        administrator = Administrator(cluster, roots[1]) if name_directories else None
        for number in range(count):
            ledgers = [Ledger(f"/kill/{number}/{writer}") for writer in range(WRITERS)]
            clients = [cluster.connect() for _ in ledgers]
            killed = threading.Event()
            threads = []
            for ledger, client in zip(ledgers, clients, strict=True):
                client.mkdirs(ledger.name)
                own = random.Random(dice.random())
                threads.append(threading.Thread(target=work, args=(client, ledger, own)))
            if administrator is not None:
                own = random.Random(dice.random())
                threads.append(threading.Thread(target=administrator.work, args=(own, killed)))
            for thread in threads:
                thread.start()
            wait_for_work(ledgers, dice.randrange(10, 200))
            if administrator is not None:
                administrator.wait_for_rolls(dice.randrange(2, 5))
            cluster.kill("namenode")
            killed.set()
            for thread in threads:
                thread.join(timeout=60)
                assert not thread.is_alive(), "a client hangs on a dead namenode"
            if administrator is not None:
                administrator.make_startable()
            cluster.restart("namenode")
            with cluster.connect() as fs:
                for ledger in ledgers:
                    check(fs, ledger)
            for client in clients:
                client.close()
            hit = [ledger for ledger in ledgers if ledger.interrupted and ledger.is_calling]
            assert hit, f"kill {number} hit nothing"
            acknowledged += sum(ledger.acknowledged for ledger in ledgers)
    assert acknowledged > 10 * count
    if administrator is not None:
        assert administrator.rolls > count, "the log was not rolled under load"
        assert administrator.failures, "no directory failed"
        assert administrator.restored, "no directory came back"


class Administrator:
    """Rolls the log, takes the second name directory away, and gives an empty one."""

    def __init__(self, cluster: MiniCluster, second: Path) -> None:
        self._cluster = cluster
        self._second = second
        self.rolls = 0
        self.failures = 0
        self.restored = 0

    def work(self, dice: random.Random, until: threading.Event) -> None:
        host, _, port = self._cluster.uri.removeprefix("hdfs://").rpartition(":")
        client = RpcClient((host, int(port)), CLIENT_PROTOCOL, user=getpass.getuser())
        try:
            client.call(
                "restoreFailedStorage",
                pb.RestoreFailedStorageRequestProto(arg="true"),
                pb.RestoreFailedStorageResponseProto,
                timeout_s=30,
            )
            while not until.wait(dice.random() / 20):
                if dice.randrange(3) == 0:
                    self._change()
                request = pb.RollEditsRequestProto()
                client.call("rollEdits", request, pb.RollEditsResponseProto, timeout_s=30)
                self.rolls += 1
        except (errors.Unreachable, errors.CallTimeout, ConnectionError, errors.ClosedStream):
            return
        finally:
            client.close()

    def wait_for_rolls(self, more: int) -> None:
        """Until the log was rolled so many times more: on a quick machine the writers are ahead."""
        least = self.rolls + more
        wait_until(lambda: self.rolls >= least, 30)

    def _change(self) -> None:
        """As a mount that goes, and an empty disk that comes."""
        if self._second.exists():
            self._second.rename(self._second.with_name(f"gone{self.failures}"))
            self.failures += 1
        else:
            self._second.mkdir()
            self.restored += 1

    def make_startable(self) -> None:
        """A directory that is missing stops a start; an empty one does not."""
        if not self._second.exists():
            self._change()


def wait_for_work(ledgers: list[Ledger], changes: int) -> None:
    """Until the writers have been told of so many changes: the kill's moment is the
    dice's, and not that of a clock."""
    done = threading.Event()
    for _ in range(6000):
        if sum(ledger.acknowledged for ledger in ledgers) >= changes:
            return
        done.wait(0.001)
    raise AssertionError("the writers do not get on")


@pytest.mark.req("FS-023")
def test_nothing_acknowledged_is_lost_and_nothing_refused_appears() -> None:
    rounds(10, seed=7)


@pytest.mark.req("FS-023", "FS-030")
def test_nothing_is_lost_though_one_of_two_directories_goes_and_comes_meanwhile(
    tmp_path: Path,
) -> None:
    rounds(5, seed=3, name_directories=tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_two_hundred_kills_with_directories_that_go_and_come(tmp_path: Path) -> None:
    rounds(200, seed=2, name_directories=tmp_path)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_two_hundred_kills() -> None:
    rounds(200, seed=1)
