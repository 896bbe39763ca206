"""Random erasure-coded files, written by three clients while datanodes are killed and come back,
under our namenode and under Hadoop's.

What `close` has acknowledged is read back equal by every client. Hadoop's `hdfs debug verifyEC`
and ours agree of each file: when internal blocks are missing, when they have been made anew, and
when some were changed so that their checksums fit.
"""

from __future__ import annotations

import math
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import pytest

from howdah.cli.main import main
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.protocol.striping.layout import group_id_of, is_striped
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster
from tests.support.hadoop.tools_gateway import HadoopCommands
from tests.support.replicas import BEING_WRITTEN, replica_files
from tests.support.striped_blocks import first_not_settled
from tests.support.striped_clients import CLIENTS, JAVA, OURS, RUST, StripedClient, all_clients
from tests.support.torture import times

pytest.importorskip("hdfs_native", reason="hdfs-native is not installed")
pytest.importorskip("py4j", reason="PySpark is not installed")

pytestmark = [pytest.mark.timeout(1800), pytest.mark.torture]

MIB = 1 << 20
POLICIES = {"XOR-2-1-1024k": (2, 1), "RS-3-2-1024k": (3, 2), "RS-6-3-1024k": (6, 3)}
XOR = "XOR-2-1-1024k"
CODERS = {XOR: (JAVA, OURS)}
"""The clients that code by a policy as Hadoop does, where not all do."""
DATANODES = 9
NAMENODES: dict[str, tuple[str, ...]] = {"nn-ours": (), "nn-hadoop": ("namenode",)}
FILES = times(200)
"""Of each client, at both namenodes and by all policies together."""
BLOCK = 2 * MIB
KILLS = 8
"""Files are written until there were so many, however quick the machine is."""
DAMAGED = 6
ATTEMPTS = 40
PATIENCE_S = 180
CONF: dict[str, str | int | bool] = {
    "dfs.blocksize": BLOCK,
    "dfs.heartbeat.interval": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.redundancy.considerLoad": False,
    # Of datanodes that are killed the orders are lost.
    "dfs.namenode.reconstruction.pending.timeout-sec": 10,
    "dfs.namenode.excess.redundancy.timeout-sec": 10,
    "ipc.client.connect.max.retries": 1,
}


class Scene:
    def __init__(
        self,
        cluster: MixedCluster,
        fs: HdfsFileSystem,
        commands: HadoopCommands,
        clients: dict[str, StripedClient],
        *,
        has_hadoops_namenode: bool,
    ) -> None:
        self.cluster, self.fs, self.clients = cluster, fs, clients
        self.has_hadoops_namenode = has_hadoops_namenode
        self._commands = commands

    def verified_by_hadoop(self, path: str) -> tuple[int, str]:
        """The exit code of `hdfs debug verifyEC`, and what it prints."""
        done = self._commands("debug", "verifyEC", "-file", path, "-skipFailureBlocks")
        return done.code, done.out

    def verified_by_ours(
        self, path: str, capsys: pytest.CaptureFixture[str]
    ) -> tuple[int, str, str]:
        """The same of `howdah debug verifyEC`, and what it says of errors."""
        capsys.readouterr()
        conf = str(self.cluster.conf_dir)
        words = ["verifyEC", "-file", path, "-skipFailureBlocks"]
        code = main(["--conf", conf, "debug", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    def agreed(self, path: str, capsys: pytest.CaptureFixture[str]) -> int:
        """Have both verify a file, until both say the same: meanwhile internal blocks come, and
        those that are too much go. Returns the exit code that both have."""
        codes = []

        def do_agree() -> bool:
            code, printed, _ = self.verified_by_ours(path, capsys)
            codes.append(code)
            return (code, printed) == self.verified_by_hadoop(path)

        wait_until(do_agree, PATIENCE_S, f"both verify {path} alike")
        return codes[-1]


@pytest.fixture(scope="module", params=NAMENODES.values(), ids=list(NAMENODES))
def scene(
    request: pytest.FixtureRequest, hadoop_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    with (
        MixedCluster(
            hadoop_classpath, request.param, namenodes=1, datanodes=DATANODES, conf=CONF
        ) as cluster,
        cluster.connect() as fs,
    ):
        wait_until(lambda: len(fs.datanode_report("live")) == DATANODES, PATIENCE_S)
        scratch = tmp_path_factory.mktemp("files")
        commands = HadoopCommands(
            hadoop_classpath, cluster.conf_dir, tmp_path_factory.mktemp("commands")
        )
        try:
            clients = all_clients(commands, fs, cluster, hadoop_classpath, scratch)
            is_hadoops = "namenode" in request.param
            yield Scene(cluster, fs, commands, clients, has_hadoops_namenode=is_hadoops)
        finally:
            commands.close()


class Killer(threading.Thread):
    """Kills datanodes and starts them again, at most so many at once, until it is stopped."""

    def __init__(self, cluster: MixedCluster, most: int, dice: random.Random) -> None:
        super().__init__(name="killer", daemon=True)
        self._cluster = cluster
        self._most = most
        self._dice = dice
        self._names = [name for name in cluster.names if name.startswith("datanode")]
        self._stop_asked = threading.Event()
        self.kills = 0
        self.error: Exception | None = None

    def run(self) -> None:
        dead: list[str] = []
        try:
            while not self._stop_asked.wait(self._dice.uniform(0.05, 0.8)):
                if dead and (len(dead) == self._most or self._dice.random() < 0.4):
                    name = dead.pop(self._dice.randrange(len(dead)))
                    self._cluster.restart(name)
                else:
                    name = self._dice.choice([each for each in self._names if each not in dead])
                    self._cluster.kill(name)
                    dead.append(name)
                    self.kills += 1
            for name in dead:
                self._cluster.restart(name)
        except Exception as error:  # noqa: BLE001 - the test raises it
            self.error = error

    def stop(self) -> None:
        self._stop_asked.set()
        self.join()
        if self.error is not None:
            raise self.error


@dataclass
class Ledger:
    """What clients have done. Any thread may add to it."""

    files: dict[str, bytes] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def size_of(dice: random.Random, data_units: int) -> int:
    """A length around cells, stripes and groups."""
    stripe = data_units * MIB
    whole = dice.choice([0, MIB, dice.randrange(data_units) * MIB, stripe, 2 * stripe])
    more = dice.choice([-1, 0, 1, 10, dice.randrange(MIB)])
    return max(0, whole + more)


def write(
    client: StripedClient, name: str, ledger: Ledger, directory: str, sizes: Iterator[int]
) -> None:
    """Write files, each under other names until it is acknowledged."""
    for number, size in enumerate(sizes):
        for attempt in range(ATTEMPTS):
            path = f"{directory}/{name}-{number}-{attempt}"
            data = random.Random(path).randbytes(size)
            try:
                client.write(path, data, BLOCK)
            # Too many datanodes were killed under a group: no client promises anything then.
            except Exception:  # noqa: BLE001 - each client has errors of its own
                ledger.refused[name] += 1
                continue
            ledger.files[path] = data
            ledger.written[name] += 1
            break
        else:
            raise AssertionError(f"{name} wrote no file of {size} bytes in {ATTEMPTS} attempts")


def read_on(
    client: StripedClient, name: str, ledger: Ledger, dice: random.Random, done: threading.Event
) -> None:
    """Read files that are acknowledged. They may be unreadable for a while, but never wrong."""
    while not done.wait(0.05):
        paths = list(ledger.files)
        if not paths:
            continue
        path = dice.choice(paths)
        try:
            found = client.read(path)
        except Exception:  # noqa: BLE001 - each client has errors of its own
            ledger.unread[name] += 1
            continue
        ledger.read[name] += 1
        if found != ledger.files[path]:
            ledger.wrong.append(f"{name} reads other bytes from {path}")


class Worker(threading.Thread):
    """Runs something, and keeps what it raises."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self.error = error

    def wait(self) -> None:
        self.join()
        if self.error is not None:
            raise self.error


def files_of(name: str) -> int:
    """How many files a client writes at one namenode by one policy."""
    policies = sum(name in CODERS.get(policy, CLIENTS) for policy in POLICIES)
    return math.ceil(FILES / len(NAMENODES) / policies)


def sizes_under_kills(
    killer: Killer, dice: random.Random, data_units: int, count: int
) -> Iterator[int]:
    """Lengths of files: `count` and more, until enough datanodes were killed."""
    number = 0
    while number < count or (killer.kills < KILLS and killer.error is None):
        yield size_of(dice, data_units)
        number += 1


def written_under_kills(scene: Scene, policy: str, directory: str) -> Ledger:
    data_units, parity_units = POLICIES[policy]
    dice = random.Random(policy)
    ledger = Ledger()
    clients = {name: scene.clients[name] for name in CODERS.get(policy, CLIENTS)}
    killer = Killer(scene.cluster, parity_units, random.Random(dice.random()))
    written = threading.Event()
    killer.start()
    try:
        writers = []
        for name, client in clients.items():
            own_dice = random.Random(dice.random())
            sizes = sizes_under_kills(killer, own_dice, data_units, files_of(name))
            writers.append(Worker(partial(write, client, name, ledger, directory, sizes)))
        readers = [
            Worker(partial(read_on, client, name, ledger, random.Random(name), written))
            for name, client in clients.items()
        ]
        for writer in writers:
            writer.wait()
        written.set()
        for reader in readers:
            reader.wait()
    finally:
        written.set()
        killer.stop()
    for count_of in ("written", "refused", "read", "unread"):
        print(f"{policy}: {count_of} {dict(getattr(ledger, count_of))}")
    return ledger


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_acknowledged_while_datanodes_are_killed_is_whole_in_the_end(
    scene: Scene, policy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = f"/kills/{policy}"
    scene.fs.mkdirs(directory, 0o777)
    scene.fs.client.namenode.enable_erasure_coding_policy(policy)
    scene.fs.set_erasure_coding_policy(directory, policy)
    ledger = written_under_kills(scene, policy, directory)
    assert ledger.wrong == []
    assert set(ledger.read) == set(CODERS.get(policy, CLIENTS))
    wait_until(lambda: len(scene.fs.datanode_report("live")) == DATANODES, PATIENCE_S)
    paths = sorted(ledger.files)
    incomplete = sum(scene.agreed(path, capsys) != 0 for path in paths)
    for path in paths:
        for name, client in scene.clients.items():
            assert client.read(path) == ledger.files[path], f"{name} reads {path}"

    paths = [path for path in paths if can_be_made_anew(scene, policy, path)]
    with suppress(AssertionError):  # It would not say which.
        wait_until(lambda: first_not_settled(scene.fs, paths) is None, PATIENCE_S)
    assert first_not_settled(scene.fs, paths) is None, f"at first {incomplete} files had not all"
    for path in paths:
        assert scene.agreed(path, capsys) == 0, path
    damage(scene, paths, random.Random(policy), capsys)
    scene.fs.delete(directory, recursive=True)


def can_be_made_anew(scene: Scene, policy: str, path: str) -> bool:
    """Return whether what a file lacks is made anew where there are no more datanodes than units.

    A datanode that is killed while a group is finished may leave an unfinished internal block under
    the group's last stamp; hdfs-native leaves one wherever a datanode fails. Hadoop's namenode
    gives that datanode no other one of the group, and has it deleted only when the group is whole:
    one waits for the other.
    """
    if sum(POLICIES[policy]) < DATANODES or not scene.has_hadoops_namenode:
        return True
    located = scene.fs.client.namenode.get_block_locations(path, 0, 1 << 40)
    groups = {group.block.block_id for group in located.blocks}
    unfinished = replica_files(scene.cluster, state=BEING_WRITTEN)
    ids = [replica.block_id for replica in unfinished if is_striped(replica.block_id)]
    return groups.isdisjoint(map(group_id_of, ids))


def damage(
    scene: Scene, paths: list[str], dice: random.Random, capsys: pytest.CaptureFixture[str]
) -> None:
    """Change internal blocks of some files, each by a byte, and have both tools find them."""
    checker = scene.fs.client.replica_checker()
    long = [path for path in paths if scene.fs.get_file_status(path).length > MIB]
    for path in dice.sample(long, DAMAGED):
        group = dice.choice(checker.finished_blocks(path).blocks)
        assert group.members is not None
        block_id = group.block.block_id + dice.choice(group.members.indices)
        replica = replica_files(scene.cluster, [block_id])[0]
        replica.change(dice.randrange(replica.path.stat().st_size))
        assert scene.agreed(path, capsys) == 1, path
        said = scene.verified_by_ours(path, capsys)[2]
        assert "EC compute result not match." in said


def test_the_parity_that_hdfs_native_writes_for_xor_is_found_to_be_wrong(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    """It codes by its Reed-Solomon matrix whatever the codec of the policy is."""
    scene.fs.mkdirs("/xor")
    scene.fs.client.namenode.enable_erasure_coding_policy(XOR)
    scene.fs.set_erasure_coding_policy("/xor", XOR)
    data = random.Random(XOR).randbytes(2 * MIB + 5)
    scene.clients[RUST].write("/xor/f", data, BLOCK)
    assert all(client.read("/xor/f") == data for client in scene.clients.values())
    assert scene.agreed("/xor/f", capsys) == 1
    assert "EC compute result not match." in scene.verified_by_ours("/xor/f", capsys)[2]
