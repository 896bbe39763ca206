"""Reading replicas from their files: against a datanode's server in this process."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howdah import errors
from howdah.client.peer_cache import PeerCache
from howdah.client.reading.block_reader import DatanodeReaders
from howdah.client.reading.readers import ReadRequest, ReadSource
from howdah.client.settings.short_circuit import ShortCircuitSettings
from howdah.client.shortcircuit import segments
from howdah.client.shortcircuit.access import UnixSockets
from howdah.client.shortcircuit.cache import ShortCircuitCache
from howdah.client.shortcircuit.datanode import LocalDatanode
from howdah.client.shortcircuit.reader import ShortCircuitReader, ShortCircuitReaders
from howdah.client.shortcircuit.replica import LocalReplica, key_of
from howdah.client.state.blocks import LocatedBlock
from howdah.config import Configuration
from howdah.datanode.recovery import replica_recovery
from howdah.datanode.replicas import reopen
from howdah.datanode.replicas.short_circuit import ShortCircuitRegistry
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Event
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.transfer.data_server import DataServer, listen
from howdah.datanode.transfer.short_circuit_socket import effective_path, listen_local
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import (
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.op_requests import CachingHints, Stage, WriteBlock
from howdah.protocol.data_transfer.packet_stream import Packet, PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader, encode_packet
from howdah.runtime.sockets import Connection, connect_local, is_local_address
from howdah.testing.waiting import wait_until

POOL = "BP-7-127.0.0.1-1"
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
DATA = random.Random(3).randbytes(300_123)


class _Holder:
    def stop(self, why: str) -> None:
        raise AssertionError(f"nobody else writes here: {why}")


class LocalNode:
    """A store with a data port and a Unix domain socket, and no control process."""

    def __init__(self, root: Path, socket: str = "socket") -> None:
        volume = Volume(str(root / "data"), "DS-0", StorageType.DISK)
        volume.make_pool_directories(POOL)
        replicas = ReplicaMap()
        self.store = BlockStore(VolumeSet([volume]), replicas, self._notify)
        self.store.serve_pool(POOL)
        self.store.short_circuit.gives_files = True
        self.settings = DataSettings(socket_timeout_s=5, write_timeout_s=5, keepalive_s=2)
        self.path = str(root / socket)
        self.start()

    def _notify(self, event: Event) -> None:
        """There is no control process to tell."""

    def start(self) -> None:
        data = listen(("127.0.0.1", 0))
        port = data.getsockname()[1]
        self.address = DatanodeAddress("127.0.0.1", "localhost", "uuid", port)
        self.servers = [
            DataServer(data, self.store, self.settings),
            DataServer(listen_local(effective_path(self.path, port)), self.store, self.settings),
        ]
        for server in self.servers:
            server.start()

    def close(self) -> None:
        for server in self.servers:
            server.close()

    def put(self, data: bytes, block_id: int = 1, spec: ChecksumSpec = SPEC) -> LocatedBlock:
        """A finalized replica."""
        block = ExtendedBlock(POOL, block_id, 1001)
        holder = _Holder()
        writer = self.store.create(block, spec, StorageType.DISK, holder=holder)
        writer.write([packet_of(data, spec=spec)])
        self.store.finalize(writer)
        return self.located(block.with_length(len(data)))

    def located(self, block: ExtendedBlock) -> LocatedBlock:
        return LocatedBlock(block, 0, (self.address,))

    def append(self, block: ExtendedBlock, more: bytes) -> ExtendedBlock:
        """Reopen and finalize again, under the next generation stamp."""
        stamp = block.generation_stamp + 1
        request = WriteBlock(
            block,
            "appender",
            Stage.PIPELINE_SETUP_APPEND,
            SPEC,
            min_bytes_received=block.length_bytes,
            latest_generation_stamp=stamp,
        )
        writer = reopen.append(self.store, request, _Holder())
        writer.write([packet_of(more, block.length_bytes)])
        self.store.finalize(writer)
        return ExtendedBlock(POOL, block.block_id, stamp, block.length_bytes + len(more))

    def block_file(self, block: ExtendedBlock) -> Path:
        with self.store.open(block) as opened:
            return Path(f"/proc/self/fd/{opened.block_fd}").resolve()


def packet_of(data: bytes, offset: int = 0, spec: ChecksumSpec = SPEC) -> Packet:
    sums = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, sums)
    encoded = encode_packet(PacketHeader(offset, 0, False, len(data)), bytes(sums), data)
    stream = PacketStream(limit_bytes=len(encoded) + 1)
    left = memoryview(encoded)
    while True:
        room = stream.writable()
        count = min(len(room), len(left))
        room[:count] = left[:count]
        left = left[count:]
        stream.filled(count)
        packet = stream.next_packet()
        if packet is not None:
            return packet


class Client:
    """Both ways to a replica, and what they share."""

    def __init__(self, node: LocalNode, **settings: Any) -> None:
        self.node = node
        self.settings = ShortCircuitSettings(socket_path=node.path, **settings)
        self.cache = ShortCircuitCache(self.settings, lambda: "a client", 5.0)
        self.peers = PeerCache(4, 3.0)
        self.through_datanode = DatanodeReaders(self.peers, use_hostname=False, timeout_s=5.0)
        self.readers = ShortCircuitReaders(self.cache, self.through_datanode)

    def request(
        self, block: LocatedBlock, offset: int = 0, length: int | None = None, **more: Any
    ) -> ReadRequest:
        count = block.length_bytes - offset if length is None else length
        return ReadRequest("/f", block, block.nodes[0], offset, count, "a client", **more)

    def open(
        self, block: LocatedBlock, offset: int = 0, length: int | None = None, **more: Any
    ) -> ShortCircuitReader | None:
        return self.readers.open(self.request(block, offset, length, **more))

    def reader(
        self, block: LocatedBlock, offset: int = 0, length: int | None = None, **more: Any
    ) -> ShortCircuitReader:
        reader = self.open(block, offset, length, **more)
        assert reader is not None
        return reader

    def read(self, block: LocatedBlock, offset: int = 0, length: int | None = None) -> bytes:
        with closing(self.reader(block, offset, length)) as reader:
            return drain(reader)

    def close(self) -> None:
        self.cache.close()
        self.peers.close()


def drain(reader: ShortCircuitReader) -> bytes:
    out = bytearray(reader.remaining)
    filled = 0
    while reader.remaining:
        filled += reader.read_into(memoryview(out)[filled:])
    return bytes(out)


def view_of(reader: ShortCircuitReader, count: int) -> memoryview:
    view = reader.view(count)
    assert view is not None
    return view


@pytest.fixture
def node() -> Iterator[LocalNode]:
    with tempfile.TemporaryDirectory(prefix="howdah-") as root:
        made = LocalNode(Path(root))
        yield made
        made.close()


@pytest.fixture
def client(node: LocalNode) -> Iterator[Client]:
    made = Client(node)
    yield made
    made.close()


@pytest.fixture
def block(node: LocalNode) -> LocatedBlock:
    return node.put(DATA)


# --- reading ---


@pytest.mark.req("FS-090", "LM-001")
def test_a_local_replica_is_read_from_its_file(client: Client, block: LocatedBlock) -> None:
    with closing(client.reader(block)) as reader:
        assert reader.source is ReadSource.SHORT_CIRCUIT
        assert drain(reader) == DATA


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Client, dict[int, LocatedBlock]]]:
    """The same data, summed in chunks of several sizes."""
    with tempfile.TemporaryDirectory(prefix="howdah-") as root:
        node = LocalNode(Path(root))
        client = Client(node)
        sizes = (512, 5_000, 100_000, 1 << 20)
        yield (
            client,
            {
                size: node.put(DATA, size, spec=ChecksumSpec(ChecksumType.CRC32, size))
                for size in sizes
            },
        )
        client.close()
        node.close()


@given(st.integers(0, len(DATA)), st.integers(0, 5_000) | st.integers(0, len(DATA)))
@pytest.mark.parametrize("chunk_bytes", [512, 5_000, 100_000, 1 << 20])
def test_any_range_is_what_the_file_has(
    shared: tuple[Client, dict[int, LocatedBlock]], chunk_bytes: int, offset: int, length: int
) -> None:
    client, blocks = shared
    block = blocks[chunk_bytes]
    length = min(length, len(DATA) - offset)
    assert client.read(block, offset, length) == DATA[offset : offset + length]


@given(st.integers(0, len(DATA) - 1), st.integers(1, 5_000))
def test_any_view_is_what_the_file_has(
    shared: tuple[Client, dict[int, LocatedBlock]], offset: int, length: int
) -> None:
    client, blocks = shared
    block = blocks[512]
    length = min(length, len(DATA) - offset)
    with closing(client.reader(block, offset, length)) as reader:
        view = view_of(reader, length)
    assert view == DATA[offset : offset + length]


def test_a_view_can_not_be_written_to(client: Client, block: LocatedBlock) -> None:
    with closing(client.reader(block)) as reader:
        view = reader.view(100)
    assert view is not None
    assert view.readonly


def test_a_skip_costs_no_reading(client: Client, block: LocatedBlock) -> None:
    with closing(client.reader(block)) as reader:
        reader.skip(100_000)
        assert reader.position == 100_000
        assert drain(reader) == DATA[100_000:]


def test_threads_share_the_descriptors_of_a_replica(client: Client, block: LocatedBlock) -> None:
    found: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda at: found.append(client.read(block, at, 1000)), args=(at * 1000,)
        )
        for at in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(DATA[at * 1000 : at * 1000 + 1000] for at in range(16))
    assert len(client.cache) == 1


# --- damage ---


def damage(node: LocalNode, block: LocatedBlock, offset: int) -> None:
    with node.block_file(block.block).open("r+b") as file:
        file.seek(offset)
        file.write(bytes((DATA[offset] ^ 1,)))


def test_damage_is_noticed(node: LocalNode, client: Client, block: LocatedBlock) -> None:
    damage(node, block, 200_000)
    with closing(client.reader(block, 199_990, 20)) as reader:
        with pytest.raises(
            errors.ChecksumMismatch, match=r"blk_1_1001 is corrupt at offset 199680"
        ):
            drain(reader)


def test_damage_is_noticed_in_a_view(node: LocalNode, client: Client, block: LocatedBlock) -> None:
    damage(node, block, 200_000)
    with closing(client.reader(block, 199_990, 20)) as reader:
        with pytest.raises(errors.ChecksumMismatch):
            reader.view(20)


@pytest.fixture
def neighbours(request: pytest.FixtureRequest) -> Iterator[tuple[LocalNode, LocalNode]]:
    """Two datanodes of this machine with the same block; the first one's replica is damaged."""
    with tempfile.TemporaryDirectory(prefix="howdah-") as root:
        first = LocalNode(Path(root, "a"), f"../{request.param}")
        second = LocalNode(
            Path(root, "b"), f"../{request.param}" + "2" * ("_" not in request.param)
        )
        first.address = replace(first.address, uuid="first")
        second.address = replace(second.address, uuid="second")
        damage(first, first.put(DATA), 200_000)
        second.put(DATA)
        yield first, second
        first.close()
        second.close()


@pytest.mark.req("FS-100")
@pytest.mark.parametrize("neighbours", ["socket._PORT"], indirect=True)
def test_a_damaged_replica_says_nothing_of_the_same_block_at_another_datanode(
    neighbours: tuple[LocalNode, LocalNode],
) -> None:
    bad, good = neighbours
    block = bad.located(ExtendedBlock(POOL, 1, 1001, len(DATA)))
    with closing(Client(bad)) as client:
        assert client.read(block, 0, 5) == DATA[:5]
        with closing(client.reader(replace(block, nodes=(good.address,)))) as reader:
            assert drain(reader) == DATA
            assert reader.source is ReadSource.SHORT_CIRCUIT
        with pytest.raises(errors.ChecksumMismatch, match=str(bad.address.transfer_port)):
            client.read(block)


@pytest.mark.req("FS-100")
@pytest.mark.parametrize("neighbours", ["socket"], indirect=True)
def test_damage_behind_a_socket_of_another_datanode_is_not_told_of_this_one(
    neighbours: tuple[LocalNode, LocalNode],
) -> None:
    bad, good = neighbours
    block = good.located(ExtendedBlock(POOL, 1, 1001, len(DATA)))
    with closing(Client(bad)) as client:
        with closing(client.reader(block)) as reader:
            assert reader.source is ReadSource.SHORT_CIRCUIT, "the socket is the other one's"
            assert drain(reader) == DATA
        with closing(client.reader(block, 199_990, 20)) as reader:
            assert view_of(reader, 20) == DATA[199_990:200_010]


@pytest.mark.parametrize("neighbours", ["socket._PORT"], indirect=True)
def test_a_refusal_by_one_datanode_says_nothing_of_another(
    neighbours: tuple[LocalNode, LocalNode],
) -> None:
    without, holder = neighbours
    block = holder.put(DATA, block_id=2)
    with closing(Client(without)) as client:
        assert client.open(replace(block, nodes=(without.address,))) is None
        assert client.read(block) == DATA


@pytest.mark.req("FS-037")
def test_a_view_of_what_is_locked_in_memory_is_not_checked_again(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    registry, block_id = node.store.short_circuit, block.block.block_id
    registry.cached(POOL, block_id)
    damage(node, block, 200_000)
    with closing(client.reader(block, 200_000, 1)) as reader:
        assert view_of(reader, 1) == bytes((DATA[200_000] ^ 1,))
    assert not registry.is_anchored(POOL, block_id)
    registry.uncached(POOL, block_id)
    with closing(client.reader(block, 200_000, 1)) as reader:
        with pytest.raises(errors.ChecksumMismatch):
            reader.view(1)


def test_checksums_can_be_skipped(node: LocalNode, block: LocatedBlock) -> None:
    damage(node, block, 200_000)
    client = Client(node, skip_checksum=True)
    with closing(client):
        assert client.read(block, 200_000, 1) == bytes((DATA[200_000] ^ 1,))


# --- the datanode takes a replica back ---


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A datanode that was there once is not asked again whether it still is."""
    monkeypatch.setattr("howdah.client.shortcircuit.segments.TRUST_S", 3600.0)


@pytest.fixture
def killed(node: LocalNode, monkeypatch: pytest.MonkeyPatch) -> Callable[[LocalReplica], None]:
    """Ends the datanode as `kill -9` does: it clears no slot any more."""

    def kill(replica: LocalReplica) -> None:
        monkeypatch.setattr(ShortCircuitRegistry, "close_segment", lambda self, name: None)
        node.close()
        slot = replica.slot
        assert slot is not None
        wait_until(lambda: not slot.segment.is_alive, what="the segment ends")

    return kill


@pytest.mark.req("FS-037", "FS-090")
@pytest.mark.parametrize("takes_back", ["append", "delete"])
def test_the_next_view_is_not_the_files_once_the_datanode_takes_the_replica_back(
    node: LocalNode, client: Client, block: LocatedBlock, believed: None, takes_back: str
) -> None:
    node.store.short_circuit.cached(POOL, block.block.block_id)
    with closing(client.reader(block)) as reader:
        assert view_of(reader, 100) == DATA[:100]
        if takes_back == "append":
            node.append(block.block, b"x")
        else:
            assert node.store.invalidate(block.block)
        assert reader.view(100) is None


def test_a_dead_datanode_is_asked_again_before_damage_is_told(
    node: LocalNode,
    client: Client,
    block: LocatedBlock,
    believed: None,
    killed: Callable[[LocalReplica], None],
) -> None:
    with closing(client.reader(block)) as reader:
        assert view_of(reader, 100) == DATA[:100]
        damage(node, block, 200)
        replica = reader._replica
        assert replica is not None
        killed(replica)
        assert replica.is_current, "it was believed"
        assert reader.view(200) is None


@pytest.mark.req("FS-037")
def test_that_a_datanode_lives_is_asked_once_in_a_while(
    client: Client,
    block: LocatedBlock,
    killed: Callable[[LocalReplica], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr("howdah.client.shortcircuit.segments.time.monotonic", lambda: now_s)
    with closing(client.reader(block)) as reader:
        replica = reader._replica
        assert replica is not None
        assert replica.is_current
        killed(replica)
        now_s += segments.TRUST_S / 2
        assert replica.is_current
        now_s += segments.TRUST_S
        assert not replica.is_current
        assert reader.view(100) is None


def test_after_an_append_the_datanode_reads_the_rest(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    with closing(client.reader(block)) as reader:
        first = bytearray(1000)
        reader.read_into(memoryview(first))
        node.append(block.block, b"x" * 700)
        assert bytes(first) + drain(reader) == DATA
        assert reader.source is not ReadSource.SHORT_CIRCUIT


def test_the_partial_last_chunk_survives_an_append_to_it(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    with closing(client.reader(block, len(DATA) - 50)) as reader:
        node.append(block.block, b"y" * 100)
        assert drain(reader) == DATA[-50:]


def test_the_appended_replica_is_read_from_its_file_again(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    client.read(block, 0, 10)
    longer = node.located(node.append(block.block, b"z" * 700))
    assert client.read(longer) == DATA + b"z" * 700


def test_a_reader_of_a_deleted_replica_gets_no_more_from_its_file(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    with closing(client.reader(block)) as reader:
        assert node.store.invalidate(block.block)
        with pytest.raises(errors.RemoteError, match="Replica not found"):
            drain(reader)


def test_a_deleted_replica_that_nobody_reads_is_let_go(
    node: LocalNode, client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("howdah.client.shortcircuit.cache._SWEEP_S", 0.01)
    client.read(block, 0, 10)
    node.store.invalidate(block.block)
    wait_until(lambda: len(client.cache) == 0, what="the replica is closed")


def test_a_view_outlives_the_replica(node: LocalNode, client: Client, block: LocatedBlock) -> None:
    with closing(client.reader(block)) as reader:
        view = view_of(reader, 1000)
    node.store.invalidate(block.block)
    client.close()
    assert view == DATA[:1000]


def test_a_view_outlives_a_cut_of_the_replica(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    with closing(client.reader(block)) as reader:
        view = view_of(reader, len(DATA))
    assert replica_recovery.init_recovery(node.store, block.block, 1002) is not None
    replica_recovery.settle(node.store, block.block, 1002, 700)
    assert node.block_file(ExtendedBlock(POOL, 1, 1002)).stat().st_size == 700
    # Memory that the file no longer has would kill this process.
    pid = os.fork()
    if pid == 0:
        os._exit(0 if view == DATA else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_cut_replica_is_read_from_its_new_file(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    client.read(block, 0, 10)
    replica_recovery.init_recovery(node.store, block.block, 1002)
    replica_recovery.settle(node.store, block.block, 1002, 700)
    shorter = node.located(ExtendedBlock(POOL, 1, 1002, 700))
    assert client.read(shorter) == DATA[:700]


def test_a_restarted_datanode_is_noticed(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    with closing(client.reader(block)) as reader:
        node.close()
        replica = reader._replica
        assert replica is not None
        wait_until(lambda: not replica.is_current, what="the segment ends")
        node.start()
        with pytest.raises(errors.Unreachable):
            drain(reader)
    moved = replace(block, nodes=(node.address,))
    assert client.read(moved) == DATA


def test_a_block_under_construction_is_left_to_the_datanode(
    node: LocalNode, client: Client
) -> None:
    new = ExtendedBlock(POOL, 9, 1001)
    writer = node.store.create(new, SPEC, StorageType.DISK, holder=_Holder())
    writer.write([packet_of(b"abc")])
    assert client.open(node.located(new.with_length(3))) is None
    node.store.abandon(writer)


def test_a_refusal_for_one_block_says_nothing_about_others(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    assert client.open(node.located(ExtendedBlock(POOL, 99, 1001, 5))) is None
    assert client.read(block, 0, 5) == DATA[:5]


def test_what_was_refused_is_not_asked_for_again_at_once(
    node: LocalNode, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ExtendedBlock] = []
    fetch = LocalDatanode.fetch

    def noting(self: LocalDatanode, block: ExtendedBlock, token: BlockToken) -> object:
        asked.append(block)
        return fetch(self, block, token)

    monkeypatch.setattr(LocalDatanode, "fetch", noting)
    absent = ExtendedBlock(POOL, 99, 1001, 5)
    for _ in range(2):
        assert client.open(node.located(absent)) is None
    assert asked == [absent]


def test_a_replica_is_known_by_its_datanode_and_by_its_pool() -> None:
    """Each namenode gives the same ids to blocks of its own."""
    block, other = ExtendedBlock(POOL, 1, 1001, 5), ExtendedBlock(f"{POOL}-2", 1, 1001, 5)
    assert len({key_of("/a", block), key_of("/b", block), key_of("/a", other)}) == 3


def test_a_replica_that_is_shorter_than_its_block_is_left_to_the_datanode(
    client: Client, block: LocatedBlock
) -> None:
    longer = replace(block, block=block.block.with_length(len(DATA) + 1))
    assert client.open(longer) is None


def test_readers_of_a_replica_that_is_appended_to_all_the_time_read_nothing_wrong(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    content = bytearray(DATA)
    versions = [block]
    done = threading.Event()
    wrong: list[str] = []

    def read(seed: int) -> None:
        randomness = random.Random(seed)
        while not done.is_set():
            version = randomness.choice(versions)
            offset = randomness.randrange(version.length_bytes)
            length = min(randomness.choice((10, 700, 90_000)), version.length_bytes - offset)
            reader = client.open(version, offset, length)
            if reader is None:
                continue
            with closing(reader):
                if drain(reader) != content[offset : offset + length]:
                    wrong.append(f"{version.block} at {offset}")

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for number in range(30):
        more = random.Random(number).randbytes(number * 7 + 1)
        content += more
        versions.append(node.located(node.append(versions[-1].block, more)))
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


# --- where ---


def test_a_replica_on_another_machine_is_not_local(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    elsewhere = DatanodeAddress("192.0.2.7", "elsewhere", "uuid", 9866)
    assert client.open(replace(block, nodes=(elsewhere,))) is None


def test_the_addresses_of_this_machine_are_local() -> None:
    assert is_local_address("127.0.0.1")
    assert not is_local_address("192.0.2.7")


def test_a_socket_that_is_not_there_is_left_alone_for_a_while(
    node: LocalNode, client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def connect(path: str, **_: object) -> Connection:
        asked.append(path)
        raise errors.Unreachable("nobody")

    monkeypatch.setattr("howdah.client.shortcircuit.access.connect_local", connect)
    assert client.open(block) is None
    assert client.open(node.put(b"1", 2)) is None
    assert len(asked) == 1


def test_a_datanode_without_shared_memory_passes_descriptors_all_the_same(
    node: LocalNode, client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, client_name: str) -> tuple[object, int]:
        raise OSError("no memory")

    monkeypatch.setattr(
        "howdah.datanode.replicas.short_circuit.ShortCircuitRegistry.open_segment", refuse
    )
    assert client.read(block) == DATA


def test_without_shared_memory_an_append_is_told_by_the_length(
    node: LocalNode, client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, client_name: str) -> tuple[object, int]:
        raise OSError("no memory")

    monkeypatch.setattr(
        "howdah.datanode.replicas.short_circuit.ShortCircuitRegistry.open_segment", refuse
    )
    with closing(client.reader(block, len(DATA) - 50)) as reader:
        node.append(block.block, b"y" * 100)
        assert drain(reader) == DATA[-50:]
        assert reader.source is not ReadSource.SHORT_CIRCUIT


# --- the cache ---


def test_a_replica_that_was_read_stays_open_for_the_next_reader(
    client: Client, block: LocatedBlock
) -> None:
    client.read(block, 0, 10)
    with closing(client.reader(block)) as first:
        with closing(client.reader(block)) as second:
            assert first._replica is second._replica


def test_the_cache_holds_no_more_than_its_size(node: LocalNode) -> None:
    client = Client(node, cache_size=2)
    with closing(client):
        for block_id in range(10, 15):
            client.read(node.put(DATA[:1000], block_id))
        assert len(client.cache) == 2
        assert len(node.store.short_circuit) == 2


def test_a_cache_of_no_size_closes_each_replica_behind_its_reader(
    node: LocalNode, block: LocatedBlock
) -> None:
    client = Client(node, cache_size=0)
    with closing(client):
        client.read(block, 0, 10)
        assert len(client.cache) == 0
        assert len(node.store.short_circuit) == 0


def test_idle_replicas_expire(node: LocalNode, block: LocatedBlock) -> None:
    client = Client(node, cache_expiry_s=0.01)
    with closing(client):
        client.read(block, 0, 10)
        wait_until(lambda: len(node.store.short_circuit) == 0, what="the slot is free")


def test_more_replicas_than_a_segment_has_slots_take_another_segment(node: LocalNode) -> None:
    client = Client(node)
    with closing(client):
        for block_id in range(200, 200 + 130):
            client.read(node.put(b"abc", block_id))
        assert len(node.store.short_circuit) == 130


def test_a_closed_cache_keeps_nothing_open(node: LocalNode, block: LocatedBlock) -> None:
    client = Client(node)
    client.read(block, 0, 10)
    client.close()
    wait_until(
        lambda: len(node.store.short_circuit) == 0, what="the datanode has forgotten the client"
    )


def test_a_reader_may_finish_after_its_cache_was_closed(
    node: LocalNode, block: LocatedBlock
) -> None:
    client = Client(node)
    with closing(client.reader(block)) as reader:
        client.close()
        assert drain(reader) == DATA


def test_a_forked_child_reads_with_descriptors_of_its_own(
    node: LocalNode, client: Client, block: LocatedBlock
) -> None:
    client.read(block, 0, 10)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            fresh = client.cache.acquire(block, node.address)
            code = 0 if fresh is not None and fresh.pid == os.getpid() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert client.read(block, 0, 10) == DATA[:10]


# --- hints ---


@pytest.mark.req("OS-115")
def test_drop_behind_is_for_the_file_that_is_read(
    client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice: list[tuple[int, int, int]] = []
    monkeypatch.setattr(
        os, "posix_fadvise", lambda fd, offset, length, what: advice.append((offset, length, what))
    )
    with closing(client.reader(block, hints=CachingHints(drop_behind=True))) as reader:
        drain(reader)
    assert advice == [(0, len(DATA), os.POSIX_FADV_DONTNEED)]


def test_readahead_is_for_the_file_that_is_read(
    client: Client, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice: list[tuple[int, int, int]] = []
    monkeypatch.setattr(
        os, "posix_fadvise", lambda fd, offset, length, what: advice.append((offset, length, what))
    )
    client.reader(block, 512, hints=CachingHints(readahead_bytes=4096)).close()
    assert advice == [(512, 4096, os.POSIX_FADV_WILLNEED)]


# --- configuration ---


def test_it_is_off_by_default() -> None:
    assert not ShortCircuitSettings.from_configuration(Configuration()).socket_path


def test_switched_on_without_a_socket_is_refused() -> None:
    conf = Configuration().with_values({"dfs.client.read.shortcircuit": "true"})
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.domain\.socket\.path is not set"):
        ShortCircuitSettings.from_configuration(conf)


def test_the_socket_may_be_named_by_the_data_port(node: LocalNode) -> None:
    way = UnixSockets("/run/howdah/dn._PORT")
    assert way.socket_path(replace(node.address, transfer_port=9866)) == "/run/howdah/dn.9866"
    assert way.socket_path(replace(node.address, ip="192.0.2.7")) is None


def test_ordinary_reads_go_over_the_socket_too(node: LocalNode, block: LocatedBlock) -> None:
    from howdah.protocol.data_transfer.op_requests import ReadBlock, encode_request
    from howdah.protocol.data_transfer.responses import read_response

    with connect_local(node.path, timeout_s=5) as connection:
        connection.send_all(encode_request(ReadBlock(block.block, "c", 0, 10)))
        assert read_response(connection).is_success


# --- the thread that lets go ---


def test_a_reader_is_closed_though_there_is_no_thread_and_the_next_one_begins_it(
    node: LocalNode, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def no_thread(thread: threading.Thread) -> None:
        if thread.name == "short-circuit cache":
            raise RuntimeError("can't start new thread")
        start(thread)

    with closing(Client(node, cache_expiry_s=0.01)) as client:
        with monkeypatch.context() as without:
            without.setattr(threading.Thread, "start", no_thread)
            client.cache.release(acquired(client, block))
        assert len(client.cache) == 1
        client.cache.release(acquired(client, block))
        wait_until(lambda: len(client.cache) == 0)


def acquired(client: Client, block: LocatedBlock) -> LocalReplica:
    replica = client.cache.acquire(block, block.nodes[0])
    assert replica is not None
    return replica


def test_a_replica_that_cannot_be_let_go_keeps_no_other_open(
    node: LocalNode, block: LocatedBlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = LocalReplica.let_go

    def fails_once(replica: LocalReplica) -> None:
        monkeypatch.setattr(LocalReplica, "let_go", let_go)
        raise RuntimeError("a defect of this test")

    monkeypatch.setattr(LocalReplica, "let_go", fails_once)
    with closing(Client(node, cache_expiry_s=0.01)) as client:
        client.cache.release(acquired(client, block))
        wait_until(lambda: len(client.cache) == 0)
        client.cache.release(acquired(client, block))
        wait_until(lambda: len(client.cache) == 0)
        wait_until(lambda: len(node.store.short_circuit) <= 1)
