"""Files are taken from writers that died or fell silent, on real servers.

The writer is a process of its own that is killed or stopped; whatever fails besides, what
it flushed is there when the file is closed, and it never writes again.
"""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from howdah import errors
from howdah.datanode.state.fault_points import Point
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.faults import Action
from howdah.testing.waiting import wait_until
from tests.support.replicas import replicas_of

pytestmark = pytest.mark.timeout(240)

MIB = 1 << 20
DATA = random.Random(5).randbytes(4 * MIB)
PATIENCE_S = 60.0
CONF: dict[str, str | int] = {
    "howdah.namenode.lease-soft-limit": "1s",
    "howdah.namenode.block-recovery-timeout": "3s",
    "dfs.namenode.lease-recheck-interval-ms": 100,
    "dfs.namenode.redundancy.interval.seconds": 1,
    "dfs.namenode.heartbeat.recheck-interval": 500,
    "dfs.blocksize": MIB,
}
_numbers = itertools.count()

# Does what it is told, a line at a time, and says how that went.
WRITER = """
import random, sys
import howdah

data = random.Random(5).randbytes(4 << 20)
fs = howdah.connect(sys.argv[1])
out = None
for line in sys.stdin:
    word, _, argument = line.strip().partition(" ")
    try:
        if word == "create":
            out = fs.create(argument)
        elif word == "append":
            out = fs.append(argument)
        elif word == "write":
            first, end = map(int, argument.split())
            out.write(data[first:end])
        else:
            getattr(out, word)()
    except OSError as error:
        print(type(error).__name__, flush=True)
    else:
        print("done", flush=True)
"""


class Writer:
    """A client in a process of its own."""

    def __init__(self, cluster: MiniCluster) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, cluster.uri],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line: str) -> str:
        """`done`, or the name of the error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def do(self, *lines: str) -> None:
        for line in lines:
            assert self.tell(line) == "done", line

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # A line that it was not there to read any more.


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=3, conf=CONF, faults=True) as cluster:
        yield cluster


@pytest.fixture
def fs(cluster: MiniCluster) -> Iterator[HdfsFileSystem]:
    with cluster.connect() as connected:
        assert isinstance(connected, HdfsFileSystem)
        yield connected


@pytest.fixture
def writer_of(cluster: MiniCluster) -> Iterator[Callable[[], Writer]]:
    writers: list[Writer] = []

    def make() -> Writer:
        writers.append(Writer(cluster))
        return writers[-1]

    yield make
    for writer in writers:
        writer.close()


@pytest.fixture
def path() -> str:
    return f"/lease/file-{next(_numbers)}"


def content(fs: HdfsFileSystem, path: str) -> bytes:
    with fs.open(path) as stream:
        return stream.read()


def wait_until_closed(fs: HdfsFileSystem, path: str) -> None:
    wait_until(lambda: fs.recover_lease(path), PATIENCE_S, f"{path} is closed")


def up_again(cluster: MiniCluster, fs: HdfsFileSystem, names: list[str]) -> None:
    """Datanodes that a test killed are there for the next one."""
    cluster.faults.heal()
    for name in names:
        cluster.restart(name)
    cluster.wait_ready()


@pytest.mark.req("AP-014", "AP-015", "AP-026", "AP-028", "AP-047", "LM-059")
@pytest.mark.parametrize("length", [1, 700, MIB, 2 * MIB + 5])
def test_a_killed_writers_file_is_closed_with_all_that_it_flushed(
    fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str, length: int
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", f"write 0 {length}", "hflush")
    writer.kill()
    assert not fs.is_file_closed(path)
    wait_until_closed(fs, path)
    assert content(fs, path) == DATA[:length]
    assert fs.get_file_status(path).length == length


@pytest.mark.req("AP-047")
def test_bytes_that_were_written_behind_a_flush_may_be_there_but_never_others(
    fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 1000", "hflush", f"write 1000 {MIB // 2}")
    writer.kill()
    wait_until_closed(fs, path)
    found = content(fs, path)
    assert len(found) >= 1000
    assert found == DATA[: len(found)]


def test_a_file_to_which_nothing_was_written_is_closed_empty(
    fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}")
    writer.kill()
    assert fs.recover_lease(path)
    assert content(fs, path) == b""


@pytest.mark.req("AP-012", "AP-014", "AP-015", "FS-005")
def test_another_client_appends_once_the_writer_was_silent_for_too_long(
    fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 1000", "hflush")
    writer.kill()

    def appended() -> bool:
        try:
            out = fs.append(path)
        except (errors.AlreadyBeingCreated, errors.RecoveryInProgress):
            return False
        with out:
            out.write(DATA[1000:2000])
        return True

    wait_until(appended, PATIENCE_S)
    assert content(fs, path) == DATA[:2000]


@pytest.mark.req("AP-048", "FS-005")
def test_a_writer_that_was_stopped_and_goes_on_is_refused(
    fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 1000", "hflush")
    writer.signal(signal.SIGSTOP)
    wait_until_closed(fs, path)
    writer.signal(signal.SIGCONT)
    attempts = [writer.tell("write 1000 1500"), writer.tell("hflush"), writer.tell("close")]
    assert attempts[1] != "done"
    assert content(fs, path) == DATA[:1000]
    with fs.append(path) as out:
        out.write(b"new")
    assert content(fs, path) == DATA[:1000] + b"new"


@pytest.mark.req("AP-027")
def test_all_replicas_are_alike_after_a_recovery(
    cluster: MiniCluster, fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 70000", "hflush")
    writer.kill()
    wait_until_closed(fs, path)
    wait_until(lambda: len(replicas_of(cluster, path)[0]) == 3, PATIENCE_S, "three replicas")
    (replicas,) = replicas_of(cluster, path)
    assert {replica.path.read_bytes() for replica in replicas} == {DATA[:70000]}


@pytest.mark.req("AP-048")
@pytest.mark.parametrize(
    "point", [Point.INIT_RECOVERY, Point.UPDATE_RECOVERY, Point.COMMIT_RECOVERY]
)
def test_a_datanode_that_dies_in_the_middle_of_a_recovery_is_gone_round(
    cluster: MiniCluster,
    fs: HdfsFileSystem,
    writer_of: Callable[[], Writer],
    path: str,
    point: Point,
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 70000", "hflush")
    writer.kill()
    fault = cluster.faults.arm(point, Action.KILL)
    try:
        wait_until_closed(fs, path)
        assert len(fault.victims()) == 1
        assert content(fs, path) == DATA[:70000]
    finally:
        up_again(cluster, fs, fault.victims())


@pytest.mark.req("AP-048", "LM-059")
def test_a_namenode_that_is_killed_in_the_middle_of_a_recovery_goes_on_with_it(
    cluster: MiniCluster, fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 70000", "hflush")
    writer.kill()
    fault = cluster.faults.arm(Point.INIT_RECOVERY, Action.PAUSE)
    try:
        assert not fs.recover_lease(path)
        wait_until(fault.victims, PATIENCE_S, "the recovery has begun")
        cluster.kill("namenode")
    finally:
        for name in fault.victims():
            cluster.resume(name)
        cluster.faults.heal()
    cluster.restart("namenode")
    cluster.wait_ready()
    wait_until(lambda: fs.is_file_closed(path), PATIENCE_S, "the file is closed")
    assert content(fs, path) == DATA[:70000]


@pytest.mark.req("AP-046", "FS-005")
def test_a_cut_within_a_block_is_read_back(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(DATA[: 2 * MIB + 700])
    assert fs.truncate(path, MIB + 7) is False
    assert content(fs, path) == DATA[: MIB + 7]
    wait_until(lambda: fs.is_file_closed(path), PATIENCE_S, "the file is closed")
    assert content(fs, path) == DATA[: MIB + 7]
    assert fs.get_file_status(path).length == MIB + 7
    wait_until(lambda: len(replicas_of(cluster, path)[1]) == 3, PATIENCE_S, "three replicas")
    assert {replica.path.stat().st_size for replica in replicas_of(cluster, path)[1]} == {7}


def test_a_cut_between_blocks_is_done_at_once(fs: HdfsFileSystem, path: str) -> None:
    with fs.create(path) as out:
        out.write(DATA[: 2 * MIB + 700])
    assert fs.truncate(path, MIB) is True
    assert fs.is_file_closed(path)
    assert content(fs, path) == DATA[:MIB]
    assert fs.truncate(path, 0) is True
    assert content(fs, path) == b""


def test_a_cut_goes_on_after_the_namenode_was_killed(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    with fs.create(path) as out:
        out.write(DATA[: MIB + 700])
    fault = cluster.faults.arm(Point.INIT_RECOVERY, Action.PAUSE)
    try:
        assert fs.truncate(path, MIB + 7) is False
        wait_until(fault.victims, PATIENCE_S, "the cut has begun")
        cluster.kill("namenode")
    finally:
        for name in fault.victims():
            cluster.resume(name)
        cluster.faults.heal()
    cluster.restart("namenode")
    cluster.wait_ready()
    wait_until(lambda: fs.is_file_closed(path), PATIENCE_S, "the file is closed")
    assert content(fs, path) == DATA[: MIB + 7]


def test_files_that_are_joined_are_read_back_as_one(
    cluster: MiniCluster, fs: HdfsFileSystem, path: str
) -> None:
    parts = [DATA[:700], DATA[: MIB + 5], DATA[5000:5001]]
    names = [path, path + ".1", path + ".2"]
    for name, part in zip(names, parts, strict=True):
        with fs.create(name) as out:
            out.write(part)
    fs.concat(path, names[1:])
    assert content(fs, path) == b"".join(parts)
    assert not fs.exists(names[1])
    cluster.restart("namenode")
    cluster.wait_ready()
    assert content(fs, path) == b"".join(parts)
    with fs.append(path) as out:
        out.write(b"more")
    assert content(fs, path) == b"".join(parts) + b"more"


@pytest.mark.req("XC-003", "OS-158")
def test_a_length_that_a_sync_told_outlives_the_namenode(
    cluster: MiniCluster, fs: HdfsFileSystem, writer_of: Callable[[], Writer], path: str
) -> None:
    writer = writer_of()
    writer.do(f"create {path}", "write 0 10", "hflush", "write 10 1000", "hsync")
    cluster.kill("namenode")
    cluster.restart("namenode")
    cluster.wait_ready()
    assert fs.get_file_status(path).length == 1000
    assert content(fs, path) == DATA[:1000]


@pytest.mark.req("AP-047", "FS-156", "OS-010")
@pytest.mark.parametrize("writer_lives", [True, False])
def test_what_was_flushed_outlives_a_namenode_that_is_killed_at_once(
    cluster: MiniCluster,
    fs: HdfsFileSystem,
    writer_of: Callable[[], Writer],
    path: str,
    writer_lives: bool,
) -> None:
    """It may have forgotten all lengths of the block but the first; the bytes are there."""
    writer = writer_of()
    writer.do(f"create {path}", "write 0 10", "hflush", "write 10 1000", "hflush")
    cluster.kill("namenode")
    if not writer_lives:
        writer.kill()
    cluster.restart("namenode")
    cluster.wait_ready()
    assert 10 <= fs.get_file_status(path).length <= 1000
    assert content(fs, path) == DATA[:1000]
    if writer_lives:
        writer.do("hflush")
        assert fs.get_file_status(path).length == 1000
        writer.do("write 1000 1001", "close")
    else:
        wait_until(lambda: fs.recover_lease(path), PATIENCE_S, "the file is closed")
    assert content(fs, path) == DATA[: 1001 if writer_lives else 1000]
