"""Syncs of a quiet stream, whose writer sends the packet and hears the ack itself."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from howdah import errors
from howdah.client.state.writing.pipeline_rules import Policy, ReplacementPolicy
from howdah.client.writing import acks, inline_sync, length_updates
from howdah.client.writing.output import DFSOutputStream
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream
from howdah.native.loader import kernel
from howdah.native.socket_io import Outcome
from howdah.protocol.data_transfer.packets import PacketHeader, encode_ack
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import Connection
from howdah.testing.waiting import wait_until

FakeCluster = Any
PATIENCE_S = 20.0
NEVER = ReplacementPolicy(Policy.NEVER)
SUCCESS = (Status.SUCCESS,) * 3

pytestmark = pytest.mark.skipif(kernel() is None, reason="without the kernel there are no steps")


def acks_of(out: HdfsDataOutputStream) -> acks.Acks:
    assert isinstance(out._dfs, DFSOutputStream)
    found = out._dfs._streamer._acks
    assert found is not None
    return found


def steps(out: HdfsDataOutputStream) -> int:
    return acks_of(out).steps


def become_quiet(out: HdfsDataOutputStream) -> None:
    """Until the next sync can be a step."""
    wait_until(lambda: acks_of(out).is_parked, PATIENCE_S)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that is parked stays so, however slow the machine is."""
    monkeypatch.setattr(acks, "PARKED_S", PATIENCE_S)


@pytest.fixture
def out(cluster: FakeCluster, patient: None) -> Iterator[HdfsDataOutputStream]:
    """A stream that has `a` in it, and is quiet."""
    made: HdfsDataOutputStream = cluster.create(replacement=NEVER)
    made.write(b"a")
    made.hflush()
    become_quiet(made)
    assert steps(made) == 0
    yield made
    if not made.closed:
        made._dfs.abort()


class Running:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def end(self) -> BaseException | None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "it hangs"
        return self.error


def goes_on(out: HdfsDataOutputStream, cluster: FakeCluster, content: bytes) -> None:
    """The stream takes more, and its file has all of it, once."""
    out.write(b"z")
    out.hflush()
    last = int(out._dfs.pipeline[-1].uuid.removeprefix("uuid-"))
    assert cluster.content(node=last) == content + b"z"
    out.close()
    assert cluster.content(node=last) == content + b"z"
    assert cluster.namenode.files["/f"].complete


# --- what is ordinary -------------------------------------------------------------------------


@pytest.mark.req("OS-152", "XC-003")
def test_a_sync_of_a_quiet_stream_is_a_step_and_the_length_is_told_behind_it(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    for number in range(1, 4):
        out.write(b"b")
        out.hflush()
        assert steps(out) == number
        assert cluster.content(node=2) == b"a" + b"b" * number
        assert cluster.namenode.calls[-1] == ("fsync early", 1 + number)
    counts = out.statistics()
    assert (counts.bytes_acknowledged, counts.packets_sent) == (4, 4)
    goes_on(out, cluster, b"abbb")


def test_a_sync_behind_which_nothing_waits_is_none(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    out.hflush()
    assert steps(out) == 0
    goes_on(out, cluster, b"a")


def test_packets_that_are_full_go_the_usual_way_and_the_stream_is_quiet_again_behind_a_sync(
    cluster: FakeCluster, patient: None
) -> None:
    data = os.urandom(5000)
    with cluster.create(packet_data_bytes=1024, block_size=2048) as out:
        out.write(data)
        out.hflush()
        become_quiet(out)
        out.write(b"b")
        out.hflush()
        assert steps(out) == 1
        out.write(data)
        out.hflush()
    assert cluster.content() == data + b"b" + data


def test_an_ack_that_comes_in_pieces_is_one(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    def in_pieces(connection: Connection, ack: bytes) -> None:
        for byte in ack:
            connection.send_all(bytes((byte,)))

    cluster.datanodes[0].send_ack = in_pieces
    out.write(b"b")
    out.hflush()
    assert steps(out) == 1
    goes_on(out, cluster, b"ab")


def test_a_reader_that_sees_no_step_for_a_while_reads_again(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipeline that breaks is built anew, also where nobody writes."""
    monkeypatch.setattr(acks, "PARKED_S", 0.01)
    out = cluster.create(replacement=NEVER)
    out.write(b"a")
    out.hflush()
    wait_until(lambda: not acks_of(out).is_parked, PATIENCE_S)
    cluster.datanodes[0].stop()
    wait_until(lambda: out.statistics().recoveries == 1, PATIENCE_S)
    goes_on(out, cluster, b"a")


# --- what is not ------------------------------------------------------------------------------


BAD = [
    pytest.param(lambda seqno: encode_ack(seqno, (*SUCCESS[:2], Status.ERROR)), id="error"),
    pytest.param(lambda seqno: encode_ack(seqno + 1, SUCCESS), id="another packet's"),
    pytest.param(lambda seqno: encode_ack(seqno, SUCCESS[:2]), id="of fewer"),
    pytest.param(lambda seqno: encode_ack(-2, (Status.OOB_RESTART,)), id="out of band"),
    pytest.param(lambda seqno: b"\0", id="empty"),
    pytest.param(lambda seqno: b"\xff" * 40, id="no ack"),
]


@pytest.mark.parametrize("bad", BAD)
def test_an_ack_that_says_something_else_is_understood_as_always(
    cluster: FakeCluster, out: HdfsDataOutputStream, bad: Callable[[int], bytes]
) -> None:
    def hostile(connection: Connection, ack: bytes) -> None:
        cluster.datanodes[0].send_ack = Connection.send_all
        connection.send_all(bad(cluster.datanodes[0].packets[-1].seqno))

    cluster.datanodes[0].send_ack = hostile
    out.write(b"b")
    out.hflush()
    assert out.statistics().recoveries == 1
    assert cluster.namenode.calls[-1] == ("fsync early", 2)
    goes_on(out, cluster, b"ab")


def test_acks_that_are_written_in_another_way_end_the_steps_of_a_pipeline(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    """As those of Hadoop's datanodes, which have the time in them."""

    def timed(connection: Connection, ack: bytes) -> None:
        seqno = cluster.datanodes[0].packets[-1].seqno
        connection.send_all(encode_ack(seqno, SUCCESS, 1234))

    cluster.datanodes[0].send_ack = timed
    for _ in range(3):
        out.write(b"b")
        out.hflush()
    assert steps(out) == 0
    assert not acks_of(out).has_steps
    assert not acks_of(out).is_parked
    assert out.statistics().recoveries == 0
    goes_on(out, cluster, b"abbb")


def test_what_comes_behind_the_ack_is_read(cluster: FakeCluster, out: HdfsDataOutputStream) -> None:
    def and_more(connection: Connection, ack: bytes) -> None:
        cluster.datanodes[0].send_ack = Connection.send_all
        connection.send_all(ack + encode_ack(-2, (Status.OOB_RESTART,)))

    cluster.datanodes[0].send_ack = and_more
    out.write(b"b")
    out.hflush()
    wait_until(lambda: out.statistics().recoveries == 1, PATIENCE_S)
    goes_on(out, cluster, b"ab")


@pytest.mark.parametrize("half", [False, True], ids=["without an ack", "with half of one"])
def test_a_datanode_that_dies_within_a_step_is_left_behind(
    cluster: FakeCluster, out: HdfsDataOutputStream, half: bool
) -> None:
    node = cluster.datanodes[0]

    def die(header: PacketHeader, connection: Connection) -> bool:
        if half:
            connection.send_all(encode_ack(header.seqno, SUCCESS)[:4])
        node.stop()
        return True

    node.on_packet = die
    out.write(b"b")
    out.hflush()
    assert out.statistics().recoveries == 1
    assert len(out._dfs.pipeline) == 2
    goes_on(out, cluster, b"ab")


def test_a_datanode_that_was_gone_before_the_step_is_left_behind(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    cluster.datanodes[0].stop()
    out.write(b"b")
    out.hflush()
    out.write(b"c")
    out.hflush()
    assert out.statistics().recoveries == 1
    goes_on(out, cluster, b"abc")


def test_an_ack_that_is_long_in_coming_is_left_to_the_threads(
    cluster: FakeCluster, out: HdfsDataOutputStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inline_sync, "_PATIENCE_NS", 1_000_000)
    cluster.datanodes[0].let_acks_go.clear()
    out.write(b"b")
    syncer = Running(out.hflush)
    wait_until(lambda: not acks_of(out).is_parked, PATIENCE_S)
    cluster.datanodes[0].let_acks_go.set()
    assert syncer.end() is None
    assert steps(out) == 0
    monkeypatch.setattr(inline_sync, "_PATIENCE_NS", int(PATIENCE_S * 1e9))
    become_quiet(out)
    out.write(b"c")
    out.hflush()
    assert steps(out) == 1
    goes_on(out, cluster, b"abc")


def test_the_rest_of_a_packet_that_the_socket_does_not_take_comes_before_all_else(
    cluster: FakeCluster, patient: None
) -> None:
    node = cluster.datanodes[0]
    out = cluster.create(packet_data_bytes=8 << 20, block_size=64 << 20)
    out.write(b"a")
    out.hflush()
    become_quiet(out)
    data = os.urandom((8 << 20) - 512)
    # Nothing is read of it while the packet in front waits.
    node.let_acks_go.clear()
    out.write(b"b")
    first = Running(out.hflush)
    wait_until(lambda: len(node.packets) == 2, PATIENCE_S)
    out.write(data)
    second = Running(out.hflush)
    node.let_acks_go.set()
    assert first.end() is None
    assert second.end() is None
    become_quiet(out)
    out.write(data)
    third = Running(out.hflush)
    out.write(b"c")
    assert third.end() is None
    out.close()
    assert cluster.content() == b"ab" + data + data + b"c"


class Narrow:
    """The kernel with a socket that takes five bytes at once."""

    def send_now(self, connection: Connection, wire: bytes, found: list[tuple[int, int]]) -> None:
        found.append((connection.socket.send(wire[:5]), 0))

    def hear_acks(self, *arguments: object) -> None:
        raise AssertionError("the packet is not sent")


def test_what_others_write_comes_behind_the_rest_of_a_packet(
    cluster: FakeCluster, out: HdfsDataOutputStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[Running] = []
    end = inline_sync.InlineSync._end

    def write() -> None:
        out.write(b"c")
        out.hflush()

    def later(self: inline_sync.InlineSync) -> None:
        """When another one's packet has been sent."""
        if not others:
            others.append(Running(write))
            wait_until(lambda: out.statistics().packets_sent == 3, PATIENCE_S)
        end(self)

    monkeypatch.setattr(inline_sync, "kernel", Narrow)
    monkeypatch.setattr(inline_sync.InlineSync, "_end", later)
    out.write(b"b")
    out.hflush()
    assert others[0].end() is None
    assert out.statistics().recoveries == 0
    goes_on(out, cluster, b"abc")
    assert out.statistics().recoveries == 0


# --- others beside it -------------------------------------------------------------------------


@pytest.mark.req("OS-026")
def test_two_threads_that_sync_a_stream_have_all_of_their_bytes_in_it(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    def write(letter: bytes) -> None:
        for _ in range(200):
            out.write(letter)
            out.hflush()

    threads = [Running(lambda each=each: write(each)) for each in (b"x", b"y")]  # type: ignore[misc]
    assert [each.end() for each in threads] == [None, None]
    content = cluster.content(node=2)
    assert sorted(content) == sorted(b"a" + b"xy" * 200)
    told = [call[1] for call in cluster.namenode.calls if call[0].startswith("fsync")]
    assert told == sorted(told)
    assert told[-1] == 401
    goes_on(out, cluster, content)


def test_a_packet_that_is_written_beside_a_step_does_not_wait_for_its_ack(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    node = cluster.datanodes[0]
    node.let_acks_go.clear()
    out.write(b"b")
    syncers = [Running(out.hflush)]
    wait_until(lambda: len(node.packets) == 2, PATIENCE_S)
    out.write(b"c")
    syncers.append(Running(out.hflush))
    wait_until(lambda: out.statistics().packets_sent == 3, PATIENCE_S)
    node.let_acks_go.set()
    assert [each.end() for each in syncers] == [None, None]
    goes_on(out, cluster, b"abc")


def test_a_close_beside_a_step_waits_for_it_and_both_end(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    node = cluster.datanodes[0]
    node.let_acks_go.clear()
    out.write(b"b")
    syncer = Running(out.hflush)
    wait_until(lambda: len(node.packets) == 2, PATIENCE_S)
    closer = Running(out.close)
    wait_until(lambda: out.closed, PATIENCE_S)
    node.let_acks_go.set()
    assert syncer.end() is None
    assert closer.end() is None
    assert cluster.content(node=2) == b"ab"
    assert cluster.namenode.files["/f"].complete


def test_an_abort_within_a_step_ends_it(cluster: FakeCluster, out: HdfsDataOutputStream) -> None:
    node = cluster.datanodes[0]
    node.let_acks_go.clear()
    out.write(b"b")
    syncer = Running(out.hflush)
    wait_until(lambda: len(node.packets) == 2, PATIENCE_S)
    out._dfs.abort()
    error = syncer.end()
    assert isinstance(error, errors.HowdahError)
    assert "/f: it was aborted" in str(error)


# --- the call that tells the length -----------------------------------------------------------


class Prepared:
    """A call whose server answers what it is told to, on a real socket."""

    def __init__(self, answer: bytes | None, length: int, durable: bool) -> None:
        self.request = b"the length"
        self.length, self.durable = length, durable
        self.connection, self.server = socket.socketpair()
        self.answer = answer
        self.ended: list[object] = []
        if answer is None:
            self.server.close()
        else:
            self.server.sendall(answer)

    def unused(self) -> None:
        self.ended.append("unused")

    def answered(self, outcome: int, frame: bytes) -> bool:
        self.ended.append((outcome, frame))
        return outcome == Outcome.WHOLE and frame == b"well"


def prepare(cluster: FakeCluster, answer: bytes | None) -> list[Prepared]:
    made: list[Prepared] = []

    def prepare_fsync(
        path: str, client_name: str, length: int, file_id: int, *, durable: bool
    ) -> Prepared:
        made.append(Prepared(answer, length, durable))
        return made[-1]

    cluster.namenode.prepare_fsync = prepare_fsync
    return made


def early(cluster: FakeCluster) -> int:
    return sum(call[0] == "fsync early" for call in cluster.namenode.calls)


@pytest.mark.req("XC-003")
def test_a_length_that_was_told_with_the_ack_is_not_told_again(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")
    out.write(b"b")
    out.hflush()
    (call,) = made
    assert call.server.recv(100) == call.request
    assert call.ended == [(Outcome.WHOLE, b"well")]
    assert early(cluster) == 0
    goes_on(out, cluster, b"ab")


@pytest.mark.req("XC-003")
@pytest.mark.parametrize("answer", [None, b"\0\0\0\3bad", b"\xff" * 9, b"\0\0\0\4well?"])
def test_a_length_whose_call_did_not_go_well_is_told_as_always(
    cluster: FakeCluster, out: HdfsDataOutputStream, answer: bytes | None
) -> None:
    made = prepare(cluster, answer)
    out.write(b"b")
    out.hflush()
    assert len(made[0].ended) == 1
    assert cluster.namenode.calls[-1] == ("fsync early", 2)
    assert steps(out) == 1
    goes_on(out, cluster, b"ab")


def test_no_length_is_told_of_bytes_that_are_not_acknowledged(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")

    def hostile(connection: Connection, ack: bytes) -> None:
        cluster.datanodes[0].send_ack = Connection.send_all
        connection.send_all(encode_ack(1, (*SUCCESS[:2], Status.ERROR)))

    cluster.datanodes[0].send_ack = hostile
    out.write(b"b")
    out.hflush()
    assert made[0].ended == ["unused"]
    made[0].server.setblocking(False)
    with pytest.raises(BlockingIOError):
        made[0].server.recv(100)
    assert cluster.namenode.calls[-1] == ("fsync early", 2)


def test_the_first_length_of_a_block_is_told_by_itself_and_is_durable(
    cluster: FakeCluster, patient: None
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")
    with cluster.create(block_size=512, packet_data_bytes=512) as out:
        out.write(b"a")
        out.hflush()
        become_quiet(out)
        out.write(b"b")
        out.hflush()
        assert len(made) == 1
        out.write(bytes(511))
        out.hflush()
        become_quiet(out)
        assert cluster.namenode.calls[-1] == ("fsync", 1)
        assert len(made) == 1


# --- hsync ------------------------------------------------------------------------------------


def hold_acks_of_syncs(cluster: FakeCluster) -> Callable[[], None]:
    """The disks take until what is returned is called; bytes are acknowledged meanwhile."""
    node = cluster.datanodes[0]

    def hold(header: PacketHeader, connection: Connection) -> bool:
        if header.sync_block:
            node.let_acks_go.clear()
        return False

    def let_go() -> None:
        node.on_packet = None
        node.let_acks_go.set()

    node.on_packet = hold
    return let_go


def test_an_hsync_is_one_step_and_its_length_is_durable(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")
    for number in range(1, 4):
        out.write(b"b")
        out.hsync()
        assert steps(out) == number
        assert [packet.sync_block for packet in cluster.datanodes[0].packets[-2:]] == [False, True]
        assert (made[-1].length, made[-1].durable) == (1 + number, True)
        assert made[-1].server.recv(100) == made[-1].request
    assert [call[0] for call in cluster.namenode.calls].count("fsync") == 1, "that of the fixture"
    goes_on(out, cluster, b"abbb")


def test_the_length_is_told_while_the_datanodes_wait_for_their_disks(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    made = prepare(cluster, b"")
    let_go = hold_acks_of_syncs(cluster)
    out.write(b"b")
    syncer = Running(out.hsync)
    wait_until(lambda: bool(made), PATIENCE_S)
    assert made[0].server.recv(100) == made[0].request
    made[0].server.sendall(b"\0\0\0\4well")
    wait_until(lambda: len(cluster.datanodes[0].packets) == 3, PATIENCE_S)
    assert not made[0].ended, "the second ack is not there"
    let_go()
    assert syncer.end() is None
    assert made[0].ended == [(Outcome.WHOLE, b"well")]
    assert steps(out) == 1
    goes_on(out, cluster, b"ab")


def test_a_sync_that_is_long_in_coming_is_left_to_the_threads_with_its_length_told(
    cluster: FakeCluster, out: HdfsDataOutputStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")
    monkeypatch.setattr(inline_sync, "_PATIENCE_NS", 50_000_000)
    let_go = hold_acks_of_syncs(cluster)
    out.write(b"b")
    syncer = Running(out.hsync)
    wait_until(lambda: not acks_of(out).is_parked, PATIENCE_S)
    let_go()
    assert syncer.end() is None
    assert steps(out) == 0
    assert made[0].ended == [(Outcome.WHOLE, b"well")]
    assert [call[0] for call in cluster.namenode.calls].count("fsync") == 1, "that of the fixture"
    goes_on(out, cluster, b"ab")


@pytest.mark.parametrize("answer", [None, b"\0\0\0\3bad"])
def test_an_hsync_whose_call_did_not_go_well_tells_a_durable_length_as_always(
    cluster: FakeCluster, out: HdfsDataOutputStream, answer: bytes | None
) -> None:
    prepare(cluster, answer)
    out.write(b"b")
    out.hsync()
    assert cluster.namenode.calls[-1] == ("fsync", 2)
    assert steps(out) == 1
    goes_on(out, cluster, b"ab")


def test_without_a_call_the_length_is_told_before_the_disks_are_done(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    let_go = hold_acks_of_syncs(cluster)
    out.write(b"b")
    syncer = Running(out.hsync)
    wait_until(lambda: cluster.namenode.calls[-1] == ("fsync", 2), PATIENCE_S)
    let_go()
    assert syncer.end() is None
    goes_on(out, cluster, b"ab")


def test_an_hsync_behind_an_hflush_sends_the_order_and_makes_the_length_durable(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    made = prepare(cluster, b"\0\0\0\4well")
    out.write(b"b")
    out.hflush()
    out.hsync()
    assert [(call.length, call.durable) for call in made] == [(2, False), (2, True)]
    out.hsync()
    assert len(made) == 2, "the namenode cannot forget it"
    assert steps(out) == 3
    goes_on(out, cluster, b"ab")


# --- signals ----------------------------------------------------------------------------------


class Interrupted(Exception):
    pass


def interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are for Unix")
def test_a_signal_while_the_ack_is_waited_for_ends_the_sync_and_not_the_stream(
    cluster: FakeCluster, out: HdfsDataOutputStream
) -> None:
    node = cluster.datanodes[0]
    main = threading.main_thread().ident
    assert main is not None

    def send(header: PacketHeader, connection: Connection) -> bool:
        node.on_packet = None
        node.let_acks_go.clear()
        signal.pthread_kill(main, signal.SIGUSR1)
        return False

    node.on_packet = send
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        out.write(b"b")
        with pytest.raises(Interrupted):
            out.hflush()
    finally:
        signal.signal(signal.SIGUSR1, before)
    node.let_acks_go.set()
    out.hflush()
    assert cluster.content(node=2) == b"ab"
    goes_on(out, cluster, b"ab")


OURS = tuple(each.__file__ for each in (inline_sync, length_updates))


class At:
    """Raises in this thread at one step of the code that syncs. A step is where the interpreter
    looks for signals: a function begins, or one that is not Python's has returned."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_filename not in OURS or event not in ("call", "c_return"):
            return
        self.left -= 1
        if self.left == 0:
            raise Interrupted

    @contextmanager
    def set(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)


@pytest.mark.parametrize("to_disk", [False, True], ids=["hflush", "hsync"])
def test_a_step_that_is_interrupted_anywhere_loses_nothing_and_hangs_nobody(
    cluster: FakeCluster, patient: None, to_disk: bool
) -> None:
    def sync(at: At, path: str) -> bool:
        """Whether the stream went on."""
        prepare(cluster, b"\0\0\0\4well")
        out = cluster.create(path)
        out.write(b"a")
        out.hflush()
        become_quiet(out)
        out.write(b"b")
        with at.set():
            try:
                (out.hsync if to_disk else out.hflush)()
            except Interrupted:
                assert at.left <= 0
        failed: list[errors.PipelineFailed] = []
        try:
            out.hflush()
            out.write(b"c")
            out.hflush()
            assert cluster.content(path, node=2) == b"abc"
            out.close()
        except errors.PipelineFailed as error:
            failed.append(error)
        if failed:
            assert "a sync was interrupted half-way" in str(failed[0])
            assert cluster.content(path, node=2) in (b"ab", b"a")
            return False
        assert cluster.namenode.files[path].complete
        assert cluster.content(path, node=2) == b"abc"
        return True

    counting = At(-1)
    assert sync(counting, "/f")
    count = -1 - counting.left
    assert count > 20
    went_on = [sync(At(number), f"/f{number}") for number in range(1, count + 1)]
    assert went_on.count(True) > count // 2, went_on
