"""How output streams end: closes at once, closes during syncs, aborts, and what is said then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from howdah import errors
from howdah.client.lease import LeaseRenewer
from howdah.options import SyncFlag
from howdah.runtime.sockets import Connection
from howdah.testing.waiting import wait_until

FakeCluster = Any
PATIENCE_S = 10.0


class Running:
    """A call on a thread of its own, and how it ended."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.error: errors.HowdahError | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except errors.HowdahError as error:
            self.error = error

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> errors.HowdahError | None:
        self._thread.join(PATIENCE_S)
        assert self.ended, "it hangs"
        return self.error


def break_all(cluster: FakeCluster) -> None:
    for node in cluster.datanodes:
        node.on_packet = lambda header, connection: True


def threads_of(name: str) -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith(f"howdah-{name}")]


# --- a file that is closed before its first packet was full -------------------------------


def test_the_connection_of_a_small_file_is_shut_down_once(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[Connection] = []
    shutdown = Connection.shutdown

    def counted(connection: Connection) -> None:
        ended.append(connection)
        shutdown(connection)

    out = cluster.create()
    out.write(b"x")
    monkeypatch.setattr(Connection, "shutdown", counted)
    out.close()
    own = [each for each in ended if each is out._dfs._streamer._acks.connection]
    assert len(own) == 1


def test_who_closes_a_small_file_writes_it_without_threads(cluster: FakeCluster) -> None:
    threads: list[str] = []

    def look(header: object, connection: object) -> bool:
        threads.extend(threads_of("streamer") + threads_of("ack-reader"))
        return False

    cluster.datanodes[0].on_packet = look
    with cluster.create() as out:
        out.write(b"content")
    assert (cluster.content(), threads) == (b"content", [])
    assert cluster.namenode.files["/f"].complete


def test_threads_take_over_from_who_closes_when_the_pipeline_breaks(cluster: FakeCluster) -> None:
    """The datanode may fail at any packet."""
    for which in (False, True):

        def fail(header: Any, connection: Any, which: bool = which) -> bool:
            return bool(header.last_in_block) is which

        cluster.datanodes[0].on_packet = fail
        with cluster.create() as out:
            out.write(b"content")
        assert out.statistics().recoveries == 1
        assert cluster.content(node=1) == b"content"
        assert threads_of("streamer") == []


def test_threads_take_over_from_who_closes_where_a_datanode_is_slow(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They send heartbeats, as long as it takes."""
    monkeypatch.setattr("howdah.client.writing.streamer.PATIENCE_S", 0.01)
    node = cluster.datanodes[0]

    def slow(header: Any, connection: Any) -> bool:
        wait_until(lambda: threads_of("streamer") and threads_of("ack-reader"), PATIENCE_S)
        return False

    node.on_packet = slow
    with cluster.create() as out:
        out.write(b"content")
    assert cluster.content() == b"content"
    assert threads_of("streamer") == threads_of("ack-reader") == []


def test_a_small_file_of_more_packets_than_may_be_on_their_way_is_written(
    cluster: FakeCluster,
) -> None:
    with cluster.create(max_packets_in_flight=1) as out:
        out.write(b"content")
    assert cluster.content() == b"content"


def test_an_abort_wakes_who_closes_a_small_file(cluster: FakeCluster) -> None:
    node = cluster.datanodes[0]
    node.let_acks_go.clear()
    out = cluster.create()
    out.write(b"content")
    closer = Running(out.close)
    wait_until(lambda: bool(node.packets), PATIENCE_S)
    out._inner.abort()
    error = closer.end()
    assert isinstance(error, errors.PipelineFailed)
    assert "it was aborted" in str(error)
    assert not cluster.namenode.files["/f"].complete


def test_a_defect_while_a_small_file_is_closed_is_said_and_leaves_nothing_open(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(body: object) -> None:
        raise AssertionError

    monkeypatch.setattr("howdah.client.writing.acks.decode_ack", die)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(AssertionError):
        out.close()
    with pytest.raises(errors.ClosedStream, match="the streamer died: AssertionError"):
        out.write(b"y")


# --- close --------------------------------------------------------------------------------


@pytest.mark.req("OS-168", "OS-019", "OS-020")
def test_ten_threads_that_close_at_once_complete_the_file_once(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    start = threading.Barrier(10)

    def close() -> None:
        start.wait(PATIENCE_S)
        out.close()

    closers = [Running(close) for _ in range(10)]
    assert [closer.end() for closer in closers] == [None] * 10
    assert cluster.namenode.names().count("complete") == 1


@pytest.mark.req("OS-021", "OS-022", "OS-062")
def test_of_ten_threads_that_close_a_broken_stream_one_is_told_and_nothing_is_tried_again(
    cluster: FakeCluster,
) -> None:
    break_all(cluster)
    out = cluster.create()
    out.write(b"x")
    closers = [Running(out.close) for _ in range(10)]
    failures = [error for closer in closers if (error := closer.end()) is not None]
    assert len(failures) == 1
    assert isinstance(failures[0], errors.PipelineFailed)
    assert "complete" not in cluster.namenode.names()
    assert out.closed


@pytest.mark.req("OS-136")
@pytest.mark.parametrize("sync", ["hflush", "hsync"])
def test_a_stream_can_be_closed_while_a_sync_waits_and_both_end(
    cluster: FakeCluster, sync: str
) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create()
    out.write(b"content")
    syncer = Running(getattr(out, sync))
    wait_until(lambda: bool(cluster.datanodes[0].packets), PATIENCE_S)
    closer = Running(out.close)
    wait_until(lambda: out.closed, PATIENCE_S)
    assert not syncer.ended
    assert not closer.ended
    cluster.datanodes[0].let_acks_go.set()
    assert (syncer.end(), closer.end()) == (None, None)
    assert cluster.namenode.files["/f"].complete


@pytest.mark.req("OS-136")
def test_a_sync_and_a_close_that_wait_both_fail_with_the_pipeline(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create()
    out.write(b"content")
    syncer = Running(out.hsync)
    wait_until(lambda: bool(cluster.datanodes[0].packets), PATIENCE_S)
    closer = Running(out.close)
    wait_until(lambda: out.closed, PATIENCE_S)
    # All at once, or the pipeline would be built anew with those that are left.
    for node in cluster.datanodes:
        node.refuse_connections()
    for node in cluster.datanodes:
        node.stop()
    cluster.datanodes[0].let_acks_go.set()
    for each in (syncer, closer):
        assert isinstance(each.end(), errors.PipelineFailed)


@pytest.mark.req("OS-136")
def test_a_sync_succeeds_whose_length_comes_after_the_file_was_closed(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = cluster.create()
    out.write(b"content")
    asked, closed = threading.Event(), threading.Event()

    def fsync(*_: object, durable: bool) -> None:
        asked.set()
        assert closed.wait(PATIENCE_S)
        raise errors.LeaseExpired("the file is not open for writing")

    monkeypatch.setattr(cluster.namenode, "fsync", fsync)
    syncer = Running(out.hflush)
    assert asked.wait(PATIENCE_S)
    out.close()
    closed.set()
    assert syncer.end() is None


@pytest.mark.req("OS-026")
def test_threads_go_on_writing_while_another_waits_for_its_sync(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create()
    out.write(b"first")
    syncer = Running(out.hsync)
    wait_until(lambda: bool(cluster.datanodes[0].packets), PATIENCE_S)
    out.write(b" second")
    assert not syncer.ended
    cluster.datanodes[0].let_acks_go.set()
    assert syncer.end() is None
    out.close()
    assert cluster.content() == b"first second"


def test_a_lock_that_the_parent_held_does_not_stop_a_forked_child(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    lock = out._inner._write_lock
    with lock:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                for call in (lambda: out.write(b"y"), out.hflush, out.hsync):
                    with pytest.raises(errors.ClosedStream):
                        call()
                out.close()
                status = 0
            finally:
                os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    out.close()
    assert cluster.content() == b"x"


# --- interrupted --------------------------------------------------------------------------


def test_a_write_that_is_interrupted_half_way_leaves_no_file_that_looks_whole(
    cluster: FakeCluster,
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    out = cluster.create(packet_data_bytes=512, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        out.write(bytes(2000))
    for call in (lambda: out.write(b"x"), out.hflush, out.close):
        with pytest.raises(errors.PipelineFailed, match="/f: a write was interrupted half-way"):
            call()
    assert not cluster.namenode.files["/f"].complete
    assert out.closed


# --- abort --------------------------------------------------------------------------------


def test_an_aborted_stream_keeps_what_is_acknowledged_and_does_not_complete_the_file(
    cluster: FakeCluster,
) -> None:
    out = cluster.create()
    out.write(b"acknowledged")
    out.hflush()
    out.write(b" and not")
    result = out._inner.abort()
    assert not result.already_closed
    assert cluster.content() == b"acknowledged"
    assert "complete" not in cluster.namenode.names()


def test_an_aborted_stream_is_closed_and_says_why(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    out._inner.abort("nobody wants it")
    for call in (lambda: out.write(b"y"), out.hflush, out.hsync):
        with pytest.raises(errors.ClosedStream, match=r"/f is closed.*nobody wants it"):
            call()
    out.close()
    assert out._inner.abort().already_closed


def test_abort_waits_for_nobody_and_wakes_who_waits(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create()
    out.write(b"x")
    syncer = Running(out.hsync)
    wait_until(lambda: bool(cluster.datanodes[0].packets), PATIENCE_S)
    out._inner.abort()
    error = syncer.end()
    assert isinstance(error, OSError)
    assert "/f: it was aborted" in str(error)


def test_an_abort_after_close_changes_nothing(cluster: FakeCluster) -> None:
    out = cluster.create()
    out.write(b"x")
    out.close()
    assert out._inner.abort().already_closed
    assert cluster.namenode.files["/f"].complete


def test_the_public_stream_cannot_be_aborted_since_its_file_is_there(cluster: FakeCluster) -> None:
    with cluster.create() as out:
        assert not out.has_capability("fs.capability.outputstream.abortable")
        with pytest.raises(errors.UnsupportedOperation, match="/f"):
            out.abort()


# --- errors name the file -----------------------------------------------------------------


def no_datanode(cluster: FakeCluster, out: Any) -> None:
    for node in cluster.datanodes:
        node.stop()


def broken_pipeline(cluster: FakeCluster, out: Any) -> None:
    break_all(cluster)


def no_block(cluster: FakeCluster, out: Any) -> None:
    cluster.namenode.add_block_errors = [errors.SpaceQuotaExceeded("no room")] * 9


def no_lease(cluster: FakeCluster, out: Any) -> None:
    def expired(*_: object, **__: object) -> None:
        raise errors.LeaseExpired("somebody else has it")

    cluster.namenode.fsync = cluster.namenode.complete = expired


def aborted(cluster: FakeCluster, out: Any) -> None:
    out._inner.abort()


def closed(cluster: FakeCluster, out: Any) -> None:
    out.close()


FAILURES = [no_datanode, broken_pipeline, no_block, no_lease, aborted, closed]
CALLS: dict[str, Callable[[Any], object]] = {
    "write": lambda out: out.write(bytes(100_000)),
    "write one byte": lambda out: out.write(7),
    "hflush": lambda out: out.hflush(),
    "hsync": lambda out: out.hsync(),
    "hsync that ends the block": lambda out: out.hsync(SyncFlag.END_BLOCK),
    "current_block_replication": lambda out: out.current_block_replication(),
    "set_drop_behind": lambda out: out.set_drop_behind(True),
    "tell": lambda out: out.tell(),
    "close": lambda out: out.close(),
}


@pytest.mark.req("LM-049", "OS-035")
@pytest.mark.parametrize("fail", FAILURES)
def test_whatever_a_failed_stream_raises_names_the_file(
    cluster: FakeCluster, fail: Callable[[FakeCluster, Any], None]
) -> None:
    raised: list[Exception] = []
    for first in CALLS:
        out = cluster.create()
        out.write(b"x")
        fail(cluster, out)
        for name in (first, *CALLS):
            try:
                CALLS[name](out)
            except errors.HowdahError as error:
                raised.append(error)
        out.close()
    assert raised
    system = [error for error in raised if isinstance(error, OSError)]
    assert system == raised
    # What a quota refuses begins with the directory that has it; the file is its filename alone.
    assert [error for error in system if "/f" not in f"{error} {error.filename}"] == []


# --- leases -------------------------------------------------------------------------------


@pytest.mark.req("OS-066")
def test_a_lease_is_renewed_however_long_a_close_takes(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = cluster.create(lease_renewal_s=0.02)
    entered, go_on = threading.Event(), threading.Event()
    complete = cluster.namenode.complete

    def slow(*arguments: Any) -> bool:
        entered.set()
        assert go_on.wait(PATIENCE_S)
        return bool(complete(*arguments))

    monkeypatch.setattr(cluster.namenode, "complete", slow)
    closer = Running(out.close)
    assert entered.wait(PATIENCE_S)
    before = cluster.namenode.names().count("renewLease")
    wait_until(lambda: cluster.namenode.names().count("renewLease") >= before + 3, PATIENCE_S)
    go_on.set()
    assert closer.end() is None


@pytest.mark.req("OS-066")
def test_a_lease_is_renewed_however_long_a_sync_takes(cluster: FakeCluster) -> None:
    cluster.datanodes[0].let_acks_go.clear()
    out = cluster.create(lease_renewal_s=0.02)
    out.write(b"x")
    syncer = Running(out.hsync)
    wait_until(lambda: bool(cluster.datanodes[0].packets), PATIENCE_S)
    before = cluster.namenode.names().count("renewLease")
    wait_until(lambda: cluster.namenode.names().count("renewLease") >= before + 3, PATIENCE_S)
    assert not syncer.ended
    cluster.datanodes[0].let_acks_go.set()
    assert syncer.end() is None
    out.close()


def test_a_file_whose_lease_is_lost_is_given_up_and_its_writer_told(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(client_name: str, namespaces: object = ()) -> None:
        raise errors.Unreachable("the namenode is away")

    monkeypatch.setattr(cluster.namenode, "renew_lease", away)
    out = cluster.create(lease_renewal_s=0.01, lease_hard_limit_s=0.05)
    out.write(b"x")
    wait_until(lambda: out.closed, PATIENCE_S)
    with pytest.raises(errors.ClosedStream, match=r"/f is closed.*lease could not be renewed"):
        out.write(b"y")
    out.close()
    assert "complete" not in cluster.namenode.names()


# --- interruptions, forks, and a system that has nothing left ------------------------------


def test_a_forked_child_that_aborts_leaves_the_parents_pipeline_alone(
    cluster: FakeCluster,
) -> None:
    out = cluster.create()
    out.write(b"before")
    out.hflush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            out._inner.abort()
            with pytest.raises(errors.ClosedStream):
                out.write(b"from the child")
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    out.write(b" and after")
    out.close()
    assert cluster.content() == b"before and after"
    assert out.statistics().recoveries == 0


def test_who_gives_up_does_not_wait_for_a_datanode_that_is_silent(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipeline would be waited for as long as the time-out is, an hour here."""
    asked, over = threading.Event(), threading.Event()

    def silent(*_: object) -> None:
        asked.set()
        over.wait()

    monkeypatch.setattr(cluster.datanodes[0], "_write", silent)
    out = cluster.create(socket_timeout_s=3600.0)
    out.write(b"x")
    syncer = Running(out.hflush)
    assert asked.wait(PATIENCE_S)
    streamer = out._inner._streamer._thread
    out._inner.abort()
    assert isinstance(syncer.end(), errors.PipelineFailed)
    streamer.join(PATIENCE_S)
    assert not streamer.is_alive()
    over.set()


def test_a_system_without_another_thread_is_an_error_and_no_hanging_close(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def none_left(thread: threading.Thread) -> None:
        if thread.name.startswith("howdah-streamer"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", none_left)
    out = cluster.create()
    out.write(b"x")
    with pytest.raises(RuntimeError, match="can't start new thread"):
        out.hflush()
    with pytest.raises(errors.PipelineFailed, match="/f"):
        out.close()


def test_a_lease_without_a_thread_to_renew_it_is_renewed_when_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    renewed = threading.Event()
    leases = LeaseRenewer(renewed.set, 0.01)

    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none_left)
        with pytest.raises(RuntimeError):
            leases.add("a")
    leases.add("b")
    assert renewed.wait(PATIENCE_S)
    leases.remove("b")
    wait_until(lambda: not leases.is_running, PATIENCE_S)
