"""A write through the kernel beside the same write through Python, and when it is the one."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from howdah.datanode.latency.activity import Activity, Count, Work, read_count, read_work
from howdah.datanode.latency.monitor import DiskMeter
from howdah.datanode.replicas.writer import ReplicaWriter
from howdah.datanode.state import fault_points
from howdah.datanode.state.replicas.page_cache import CachePolicy
from howdah.datanode.transfer import relay
from howdah.datanode.transfer.mirror import Mirror
from howdah.datanode.transfer.relay import Reason, Relay
from howdah.native.loader import kernel
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType
from howdah.protocol.data_transfer.packets import HEARTBEAT, PacketHeader, encode_packet
from howdah.protocol.data_transfer.status import Status
from howdah.runtime.sockets import PeerClosed

Lab = Any
CHUNK = 512
DATA = bytes(range(256)) * 64


@pytest.fixture
def node(lab: Lab) -> Any:
    return lab.node()


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long each replica was when a relay had ended."""
    if kernel() is None:
        pytest.skip("the kernel is not built here")
    lengths: list[int] = []
    run = Relay.run

    def noting(self: Relay, *arguments: Any) -> Any:
        try:
            return run(self, *arguments)
        finally:
            lengths.append(self._writer.replica.length_bytes)

    monkeypatch.setattr(Relay, "run", noting)
    return lengths


# -- both ways ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A packet: how many bytes, and what is special about it."""

    count: int
    kind: str = "plain"


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from([1, 100, 511, 512, 513, 1024, 4096, 5000]),
        st.sampled_from(
            ["plain"] * 12
            + ["sync", "sync", "order", "damaged", "heartbeat", "again", "a hole", "few sums"]
        ),
    ),
    max_size=12,
)
whole_steps = st.lists(st.builds(Step, st.sampled_from([512, 1024, 4096, 65536])), max_size=12)


def packets_of(lab: Lab, story: list[Step], *, ends: bool) -> list[list[bytes]]:
    """As a client sends them: after a part of a chunk it goes on at that chunk's begin. What is
    special comes by itself: of packets that come with one that ends the write, it depends on the
    moment how many are acked."""
    wire: list[list[bytes]] = [[]]
    offset = end = 0
    for seqno, step in enumerate(story):
        if step.kind == "heartbeat":
            wire += [encode_packet(HEARTBEAT)], []
            continue
        if step.kind == "order":
            wire += [encode_packet(PacketHeader(end, seqno, False, 0, True))], []
            continue
        start = {"again": 0, "a hole": end + CHUNK}.get(step.kind, offset)
        data = (DATA * 5)[start % 251 : start % 251 + step.count]
        sums = lab.sums_of(data)
        if step.kind == "damaged":
            sums = bytes(len(sums))
        elif step.kind == "few sums":
            sums = sums[:-4]
        header = PacketHeader(start, seqno, False, len(data), step.kind == "sync")
        packet = encode_packet(header, sums, data)
        if step.kind == "plain":
            wire[-1].append(packet)
        else:
            wire += [packet], []
        end = max(end, start + len(data))
        offset = end - end % CHUNK
    if ends:
        wire[-1].append(encode_packet(PacketHeader(end, len(story), True, 0)))
    return wire


def outcome(lab: Lab, nodes: list[Any], block_id: int, wire: list[list[bytes]]) -> tuple[Any, ...]:
    """What a client sees of the write, and what is left of it at each node."""
    first, *others = nodes
    writer = lab.Writer(first, lab.write_request(lab.block(block_id), *others))
    acks = []
    try:
        for packets in wire:
            writer.connection.send_all(b"".join(packets))
            for _ in packets:
                acks.append(writer.ack())
    except PeerClosed:
        acks.append("closed")
    writer.close()
    left = []
    for node in nodes:
        node.wait_idle()
        replica = node.replicas.find(lab.POOL, block_id)
        assert replica._progress is None
        volume = node.volumes.all[0]
        assert volume.promised_bytes == 0
        paths = node.store.paths(lab.POOL, replica)
        block, meta = (Path(path).read_bytes() for path in paths)
        length = replica.length_bytes
        left.append(
            (replica.state, replica.tail, block[:length], meta[: 7 + -(-length // 512) * 4])
        )
    return acks, left


@pytest.mark.parametrize("mirrors", [0, 1])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(story=steps | whole_steps, ends=st.booleans())
def test_a_client_cannot_tell_the_kernel_from_python(
    lab: Lab, nodes: list[Any], mirrors: int, story: list[Step], ends: bool
) -> None:
    wire = packets_of(lab, story, ends=ends)
    found = []
    for native in (kernel, lambda: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(relay, "kernel", native)
            nodes.append(None)
            found.append(outcome(lab, nodes[: mirrors + 1], len(nodes), wire))
    assert found[0] == found[1]


@pytest.fixture
def nodes(lab: Lab) -> list[Any]:
    """Two nodes, and something more for each block that they were asked to write."""
    return [lab.node(), lab.node()]


# -- when it is the one -------------------------------------------------------------------


def test_packets_pass_through_the_kernel_up_to_the_first_odd_one(
    lab: Lab, relayed: list[int]
) -> None:
    first, second = lab.node(), lab.node()
    lab.write_block(first, lab.block(1), DATA + b"tail", second)
    assert relayed == [len(DATA) + 4] * 2
    assert first.content(1) == second.content(1) == DATA + b"tail"


@pytest.mark.parametrize("ends", [(1024, 2048), (100, 101, 512, 1300, 1301)])
def test_replicas_are_read_while_the_kernel_has_their_files(
    lab: Lab, node: Any, relayed: list[int], ends: tuple[int, ...]
) -> None:
    """Also where a flush has left a part of a chunk, which comes again with the next packet."""
    writer, start = lab.Writer(node, lab.write_request(lab.block(1))), 0
    for end in ends:
        writer.send(start, DATA[start:end])
        writer.ack()
        start = end - end % CHUNK
        replica = node.replicas.find(lab.POOL, 1)
        assert replica.visible_bytes == replica.length_bytes == end
        sums = lab.sums_of(DATA[start:end])
        assert replica.tail == (end, sums if end % CHUNK else b"")
        read = lab.read_block(node, lab.read_request(lab.block(1), 0, end))
        assert read.data == DATA[:end]
    assert relayed == []
    writer.close()
    node.wait_idle()
    assert relayed == [ends[-1]]


def test_after_a_part_of_a_chunk_python_goes_on_where_the_kernel_stops(
    lab: Lab, node: Any, relayed: list[int]
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA[:700])
    writer.ack()
    writer.send(512, DATA[512:700])
    writer.ack()
    assert relayed == [700]
    writer.send(700, DATA[700:900])
    writer.send(512, DATA[512:1000])
    writer.send(1000, b"", last=True)
    assert [writer.ack().is_success for _ in range(3)] == [True] * 3
    assert node.content(1) == DATA[:1000]


@pytest.mark.parametrize("count", [1, 2])
def test_orders_to_sync_do_not_end_the_kernels_part_of_a_block(
    lab: Lab, node: Any, relayed: list[int], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Our client's, in packets of their own, and Hadoop's, with data. When Python has done the
    first one, and the files can be found on the disk, the kernel does the others by itself."""
    synced: list[int] = []
    counted = 0
    sync, took = ReplicaWriter.sync, Activity.took

    def noting(self: ReplicaWriter) -> None:
        synced.append(self.replica.length_bytes)
        sync(self)

    def counting(self: Activity, work: Work, ns: int, number: int = 1) -> None:
        nonlocal counted
        counted += number if work is Work.Fsync else 0
        took(self, work, ns, number)

    monkeypatch.setattr(ReplicaWriter, "sync", noting)
    monkeypatch.setattr(Activity, "took", counting)
    targets = [lab.node() for _ in range(count - 1)]
    writer = lab.Writer(node, lab.write_request(lab.block(1), *targets))
    writer.send(0, DATA[:700])
    writer.send(700, b"", sync=True)
    writer.send(512, DATA[512:1000], sync=True)
    writer.send(1000, b"", sync=True)
    assert [writer.ack().is_success for _ in range(4)] == [True] * 4
    assert relayed == []
    assert synced == [700] * count
    assert all(each.replicas.find(lab.POOL, 1).synced for each in (node, *targets))
    writer.send(1000, b"", last=True)
    assert writer.ack().is_success
    assert relayed == [1000] * count
    assert counted == 3 * count
    assert all(each.content(1) == DATA[:1000] for each in (node, *targets))


@pytest.mark.parametrize("count", [1, 2])
def test_a_disk_that_fails_to_sync_is_told_as_in_python(
    lab: Lab, node: Any, relayed: list[int], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def fail(self: ReplicaWriter) -> None:
        raise OSError(5, "the disk is gone")

    targets = [lab.node() for _ in range(count - 1)]
    writer = lab.Writer(node, lab.write_request(lab.block(1), *targets))
    writer.send(0, DATA)
    assert writer.ack().is_success
    monkeypatch.setattr(ReplicaWriter, "sync", fail)
    writer.send(len(DATA), b"", sync=True)
    assert writer.ack().replies[0] is Status.ERROR
    node.wait_idle()
    writer.close()
    for each in targets:
        each.wait_idle()
    assert relayed == [len(DATA)] * count


@pytest.mark.parametrize("which", [0, 1], ids=["data", "checksums"])
def test_a_disk_that_fails_when_the_kernel_syncs_is_told_as_in_python(
    lab: Lab, node: Any, relayed: list[int], which: int
) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA[:1024], sync=True)
    assert writer.ack().is_success
    descriptor = node.store.writers.all()[0]._writer.files[which]
    with open(os.devnull, "r+b") as null:
        os.dup2(null.fileno(), descriptor)
    writer.send(1024, DATA[1024:1500], sync=True)
    assert writer.ack().replies == (Status.ERROR,)
    node.wait_idle()
    writer.close()
    assert node.replicas.find(lab.POOL, 1).acked_bytes == 1024
    assert relayed == [1500]


@pytest.mark.parametrize("count", [1, 2])
def test_heartbeats_do_not_end_the_kernels_part_of_a_block(
    lab: Lab, node: Any, relayed: list[int], count: int
) -> None:
    targets = [lab.node() for _ in range(count - 1)]
    writer = lab.Writer(node, lab.write_request(lab.block(1), *targets))
    for end in (700, 900):
        writer.send(end - 700 and 512, DATA[end - 700 and 512 : end])
        writer.connection.send_all(encode_packet(HEARTBEAT))
        first, second = writer.ack(), writer.ack()
        assert first.is_success
        assert (second.seqno, second.is_success) == (-1, True)
    assert relayed == []
    writer.send(900, b"", last=True)
    assert writer.ack().is_success
    assert relayed == [900] * count


def test_acknowledged_bytes_stay_when_the_client_goes(lab: Lab, node: Any) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA)
    writer.ack()
    writer.close()
    node.wait_idle()
    replica = node.replicas.find(lab.POOL, 1)
    assert replica.acked_bytes == replica.length_bytes == len(DATA)


def test_work_is_counted(lab: Lab, node: Any, relayed: list[int]) -> None:
    words = [0] * 100

    def add(number: int, change: int) -> None:
        words[number] += change

    mirrored = lab.node()
    mirrored.store.activity = Activity(add)
    lab.write_block(mirrored, lab.block(1), DATA, node)
    for work in (Work.DiskWrite, Work.MirrorSend):
        number, ns = read_work(words.__getitem__, work)
        assert number > 0
        assert ns > 0
    assert read_count(words.__getitem__, Count.BytesWritten) == len(DATA)
    # Four of data, and the last one.
    lab.wait_until(lambda: read_count(words.__getitem__, Count.PacketsReceived) == 5)


@pytest.mark.usefixtures("either_way")
def test_a_mirror_that_is_lost_counts_as_an_error_of_the_network(lab: Lab, node: Any) -> None:
    words = [0] * 100

    def add(number: int, change: int) -> None:
        words[number] += change

    mirror = lab.node()
    node.store.activity = Activity(add)
    writer = lab.Writer(node, lab.write_request(lab.block(1), mirror))
    writer.send(0, DATA)
    assert writer.ack().is_success
    node.store.writers.all()[0]._mirror.connection._sock.shutdown(socket.SHUT_WR)
    writer.send(len(DATA), DATA)
    assert writer.ack().replies == (Status.SUCCESS, Status.ERROR)
    assert read_count(words.__getitem__, Count.DatanodeNetworkErrors) == 1
    writer.close()
    node.wait_idle()


def listening(monkeypatch: pytest.MonkeyPatch, node: Any) -> None:
    monkeypatch.setattr(fault_points, "_listeners", [lambda *_: None])


def metered(monkeypatch: pytest.MonkeyPatch, node: Any) -> None:
    node.volumes.all[0].measure(DiskMeter(100, lambda number, change: None))


def watched(monkeypatch: pytest.MonkeyPatch, node: Any) -> None:
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda *arguments: real(*arguments))


def told_to_the_cache(monkeypatch: pytest.MonkeyPatch, node: Any) -> None:
    policy = CachePolicy(drop_behind_writes=True)
    node.server._settings = replace(node.settings, cache=policy)


@pytest.mark.parametrize("how", [listening, metered, watched])
def test_where_each_write_counts_by_itself_python_has_them(
    lab: Lab, node: Any, relayed: list[int], monkeypatch: pytest.MonkeyPatch, how: Any
) -> None:
    how(monkeypatch, node)
    lab.write_block(node, lab.block(1), DATA)
    assert relayed == []


def test_a_replica_that_is_dropped_from_the_page_cache_is_written_by_python(
    lab: Lab, relayed: list[int]
) -> None:
    node = lab.node(replace(lab.node().settings, cache=CachePolicy(drop_behind_writes=True)))
    lab.write_block(node, lab.block(1), DATA)
    assert relayed == []


def test_a_replica_without_sums_or_in_mid_chunk_is_written_by_python(
    lab: Lab, node: Any, relayed: list[int]
) -> None:
    lab.write_block(node, lab.block(1), DATA, spec=ChecksumSpec(ChecksumType.NULL, 512))
    assert relayed == []
    lab.write_block(node, lab.block(2), DATA[:100])
    assert relayed == [100]
    request = replace(
        lab.write_request(lab.block(2, length=100), stage=lab.Stage.PIPELINE_SETUP_APPEND),
        min_bytes_received=100,
        latest_generation_stamp=1002,
    )
    writer = lab.Writer(node, request)
    writer.send(100, DATA[100:512])
    writer.send(512, DATA[512:])
    writer.send(len(DATA), b"", last=True)
    assert [writer.ack().is_success for _ in range(3)] == [True] * 3
    assert node.content(2) == DATA
    assert relayed == [100]


# -- what goes wrong ----------------------------------------------------------------------


def test_a_disk_that_fails_in_the_kernel_is_told_as_in_python(
    lab: Lab, node: Any, relayed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("/dev/full", "wb") as full:
        monkeypatch.setattr(ReplicaWriter, "files", (full.fileno(), full.fileno()))
        writer = lab.Writer(node, lab.write_request(lab.block(1)))
        writer.send(0, DATA)
        assert writer.ack().replies == (Status.ERROR,)
        with pytest.raises(PeerClosed):
            writer.ack()
        node.wait_idle()
    assert relayed == [0]
    assert node.replicas.find(lab.POOL, 1).length_bytes == 0


def test_a_failing_disk_in_the_middle_is_told_with_the_acks_that_are_due(
    lab: Lab, node: Any, relayed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = lab.node()
    writer = lab.Writer(node, lab.write_request(lab.block(1), mirror))
    writer.send(0, DATA)
    assert writer.ack().is_success
    descriptor = node.store.writers.all()[0]._writer.files[0]
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), descriptor)
    writer.send(len(DATA), DATA)
    ack = writer.ack()
    assert ack.replies[0] is Status.ERROR
    node.wait_idle()
    writer.close()
    mirror.wait_idle()
    assert sorted(relayed) == [len(DATA), 2 * len(DATA)]


@pytest.mark.req("FS-124")
@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("own_packet", [True, False], ids=["order alone", "with data"])
def test_the_checksum_of_a_part_that_was_synced_is_replaced_when_its_data_is_on_the_disk(
    lab: Lab, node: Any, own_packet: bool
) -> None:
    """Of a power cut in between, what was synced would be left with a checksum that does not fit.
    /dev/null takes all that is written to it, and cannot be synced."""
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA[:700], sync=not own_packet)
    if own_packet:
        writer.send(700, b"", sync=True)
        assert writer.ack().is_success
    assert writer.ack().is_success
    descriptor = node.store.writers.all()[0]._writer.files[0]
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), descriptor)
    writer.send(512, DATA[512:800])
    assert writer.ack().replies == (Status.ERROR,)
    node.wait_idle()
    writer.close()
    replica = node.replicas.find(lab.POOL, 1)
    assert replica.length_bytes == 700
    _, meta = node.store.paths(lab.POOL, replica)
    assert Path(meta).read_bytes()[7:] == lab.sums_of(DATA[:700])


@pytest.mark.usefixtures("either_way")
def test_bytes_behind_whole_chunks_that_were_synced_wait_for_no_disk(lab: Lab, node: Any) -> None:
    writer = lab.Writer(node, lab.write_request(lab.block(1)))
    writer.send(0, DATA[:1024], sync=True)
    assert writer.ack().is_success
    descriptor = node.store.writers.all()[0]._writer.files[0]
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), descriptor)
    writer.send(1024, DATA[1024:1100])
    writer.send(1024, DATA[1024:1200])
    assert [writer.ack().is_success for _ in range(2)] == [True] * 2
    writer.close()
    node.wait_idle()


@pytest.fixture
def filling() -> Iterator[Callable[[int], None]]:
    """Given a number, files get no longer than that from then on, as on a disk that fills up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda most_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("then", ["it is deleted", "its pipeline is rebuilt"])
def test_what_a_write_that_failed_has_left_is_in_the_account_of_its_volume(
    lab: Lab, node: Any, filling: Callable[[int], None], then: str
) -> None:
    """As on a disk that fills up: a part of the data gets there, and none of its checksums."""
    (volume,) = node.volumes.all

    def used_on_disk() -> int:
        return sum(path.stat().st_size for path in Path(volume.path).rglob("blk_*"))

    writer = lab.Writer(node, lab.write_request(lab.block(1, length=1 << 20)))
    writer.send(0, DATA)
    assert writer.ack().is_success
    filling(len(DATA) + 1000)
    writer.send(len(DATA), DATA)
    assert writer.ack().replies == (Status.ERROR,)
    filling(1 << 30)
    writer.close()
    node.wait_idle()
    assert used_on_disk() > len(DATA) + 1000
    assert volume.pool_used_bytes(lab.POOL) == used_on_disk()
    if then == "it is deleted":
        assert node.store.invalidate(lab.block(1))
    else:
        request = replace(
            lab.write_request(lab.block(1), stage=lab.Stage.PIPELINE_SETUP_STREAMING_RECOVERY),
            min_bytes_received=len(DATA),
            max_bytes_received=2 * len(DATA),
            latest_generation_stamp=1002,
        )
        writer = lab.Writer(node, request)
        writer.send(len(DATA), DATA[:700])
        writer.send(len(DATA) + 700, b"", last=True)
        assert [writer.ack().is_success for _ in range(2)] == [True] * 2
        assert node.content(1) == DATA + DATA[:700]
    assert volume.pool_used_bytes(lab.POOL) == used_on_disk()


@pytest.mark.parametrize("behind", [18, 19, 40])
def test_a_pipeline_may_have_any_number_of_datanodes(
    lab: Lab, node: Any, monkeypatch: pytest.MonkeyPatch, behind: int
) -> None:
    """The kernel has room for acks of some twenty; beyond that they are Python's."""
    mirror = lab.node()
    nodes = Mirror.open

    def opened(*arguments: Any) -> Mirror:
        found = nodes(*arguments)
        found.nodes = behind
        return found

    monkeypatch.setattr(Mirror, "open", opened)
    lab.write_block(node, lab.block(1), DATA, mirror)
    assert node.content(1) == mirror.content(1) == DATA


def test_without_descriptors_to_spare_there_is_no_bell(
    lab: Lab,
    node: Any,
    relayed: list[int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def none(*_: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "eventfd", none, raising=False)
    lab.write_block(node, lab.block(1), DATA)
    assert relayed == [len(DATA)]
    assert "without a bell" in caplog.text


def test_reasons_are_told_apart() -> None:
    assert [reason.value for reason in Reason] == list(range(1, 11))
