"""A data server in this process, and a client that speaks to it byte by byte."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from howdah.datanode.replicas.startup_scan import scan_pool
from howdah.datanode.replicas.store import BlockStore
from howdah.datanode.settings import DataSettings
from howdah.datanode.state.messages import Event
from howdah.datanode.state.replicas.replicas import ReplicaMap
from howdah.datanode.state.volumes import block_files
from howdah.datanode.transfer.data_server import DataServer, listen
from howdah.datanode.volumes.volumes import Volume, VolumeSet
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.protocol.data_transfer.op_requests import (
    NO_HINTS,
    CachingHints,
    ReadBlock,
    Stage,
    WriteBlock,
    encode_request,
)
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import (
    PacketHeader,
    PipelineAck,
    decode_ack,
    encode_packet,
)
from howdah.protocol.data_transfer.responses import (
    BlockOpResponse,
    encode_read_status,
    read_response,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.varint import read_delimited
from howdah.runtime.sockets import Connection, connect

POOL = "BP-7-127.0.0.1-1"
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)


def sums_of(data: bytes, spec: ChecksumSpec = SPEC) -> bytes:
    out = bytearray(spec.sums_length(len(data)))
    checksum_chunks(spec, data, out)
    return bytes(out)


class Node:
    """A datanode without a control process: volumes, a store and a server in this process."""

    def __init__(
        self,
        root: Path,
        settings: DataSettings | None = None,
        types: tuple[StorageType, ...] = (StorageType.DISK,),
    ) -> None:
        self.root = root
        self.settings = settings or DataSettings(
            socket_timeout_s=5, write_timeout_s=5, keepalive_s=2
        )
        self.events: list[Event] = []
        self._changed = threading.Condition()
        volumes = []
        for number, kind in enumerate(types):
            volume = Volume(str(root / f"data{number}"), f"DS-{number}", kind)
            volume.make_pool_directories(POOL)
            volumes.append(volume)
        self.volumes = VolumeSet(volumes)
        self.replicas = ReplicaMap()
        scan_pool(self.volumes, POOL, self.replicas)
        self.store = BlockStore(
            self.volumes, self.replicas, self._notify, memory_bytes=self.settings.memory_bytes
        )
        self.store.serve_pool(POOL)
        listener = listen(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.address = DatanodeAddress("127.0.0.1", "localhost", f"uuid-{self.port}", self.port)
        self.server = DataServer(listener, self.store, self.settings)
        self.server.start()

    def _notify(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait_for(self, kind: type[Event], timeout_s: float = 30.0) -> Event:
        """The first event of this kind, once it has come."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for event in self.events:
                    if isinstance(event, kind):
                        return event
                assert self._changed.wait(deadline - time.monotonic()), (
                    f"no {kind.__name__} among {self.events}"
                )

    def connect(self, timeout_s: float = 30.0) -> Connection:
        return connect(("127.0.0.1", self.port), read_timeout_s=timeout_s)

    def wait_idle(self, timeout_s: float = 30.0) -> None:
        wait_until(lambda: self.server.active == 0, timeout_s)

    def files(self, kind: str) -> set[str]:
        """Names of the files in rbw, finalized, tmp, quarantine or lazypersist of all volumes."""
        names: set[str] = set()
        for volume in self.volumes.all:
            root = {
                "rbw": volume.rbw_path,
                "finalized": volume.finalized_path,
                "tmp": volume.tmp_path,
                "quarantine": volume.quarantine_path,
                "lazypersist": volume.lazy_persist_path,
            }[kind](POOL)
            for _, _, found in os.walk(root):
                names.update(found)
        return names

    def content(self, block_id: int, volume: int = 0) -> bytes:
        """The data of a finalized block."""
        directory = self.volumes.all[volume].finalized_directory(POOL, block_id)
        return Path(directory, block_files.block_file_name(block_id)).read_bytes()

    def block_path(self, block_id: int, volume: int = 0) -> Path:
        directory = self.volumes.all[volume].finalized_directory(POOL, block_id)
        return Path(directory, block_files.block_file_name(block_id))

    def close(self) -> None:
        self.server.close()


def wait_until(condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.002)


def block(block_id: int = 1, generation_stamp: int = 1001, length: int = 0) -> ExtendedBlock:
    return ExtendedBlock(POOL, block_id, generation_stamp, length)


class Writer:
    """A client's end of a write pipeline, one packet at a time."""

    def __init__(self, node: Node, request: WriteBlock) -> None:
        self.connection = node.connect()
        self.connection.send_all(encode_request(request))
        self.spec = request.checksum
        self.seqno = 0
        self.response: BlockOpResponse | None = None
        if request.client_name:
            self.response = read_response(self.connection)

    def send(
        self,
        offset: int,
        data: bytes,
        *,
        last: bool = False,
        sync: bool = False,
        sums: bytes | None = None,
    ) -> int:
        """Send one packet; its seqno."""
        header = PacketHeader(offset, self.seqno, last, len(data), sync)
        sums = sums_of(data, self.spec) if sums is None else sums
        self.connection.send_all(encode_packet(header, sums, data))
        self.seqno += 1
        return header.seqno

    def ack(self) -> PipelineAck:
        return decode_ack(read_delimited(self.connection))

    def close(self) -> None:
        self.connection.close()


def write_request(
    target: ExtendedBlock,
    *targets: Node,
    spec: ChecksumSpec = SPEC,
    client: str = "client",
    stage: Stage = Stage.PIPELINE_SETUP_CREATE,
) -> WriteBlock:
    return WriteBlock(
        target,
        client,
        stage,
        spec,
        targets=tuple(node.address for node in targets),
        pipeline_size=len(targets) + 1,
    )


def write_block(
    node: Node,
    target: ExtendedBlock,
    data: bytes,
    *mirrors: Node,
    spec: ChecksumSpec = SPEC,
    packet_bytes: int = 4096,
    hints: CachingHints = NO_HINTS,
) -> None:
    """Write and close a whole block, every packet acked with success."""
    writer = Writer(node, replace(write_request(target, *mirrors, spec=spec), hints=hints))
    assert writer.response is not None
    assert writer.response.is_success, writer.response
    for offset in range(0, len(data), packet_bytes):
        writer.send(offset, data[offset : offset + packet_bytes])
    writer.send(len(data), b"", last=True)
    for seqno in range(writer.seqno):
        ack = writer.ack()
        assert ack.seqno == seqno
        assert ack.replies == (Status.SUCCESS,) * (len(mirrors) + 1)
    writer.close()


class ReadResult:
    """What a read brought: response, packets' offsets, sums and data."""

    def __init__(self, response: BlockOpResponse) -> None:
        self.response = response
        self.offsets: list[int] = []
        self.sizes: list[int] = []
        self.sums = b""
        self.data = b""


def read_block(
    node: Node,
    request: ReadBlock,
    connection: Connection | None = None,
    verdict: Status = Status.CHECKSUM_OK,
) -> ReadResult:
    """Run a READ_BLOCK to its end; the status is sent, the connection stays if it was given."""
    own = connection or node.connect()
    own.send_all(encode_request(request))
    result = ReadResult(read_response(own))
    if result.response.is_success:
        stream = PacketStream(1 << 16)
        while True:
            packet = stream.next_packet()
            if packet is None:
                stream.filled(own.recv_some_into(stream.writable()))
                continue
            if packet.header.last_in_block:
                break
            result.offsets.append(packet.header.offset_in_block)
            result.sizes.append(packet.header.data_length_bytes)
            result.sums += bytes(packet.sums)
            result.data += bytes(packet.data)
        own.push_back(stream.take_pending())
        own.send_all(encode_read_status(verdict))
    if connection is None:
        own.close()
    return result


def read_request(target: ExtendedBlock, offset: int, length: int, **more: Any) -> ReadBlock:
    return replace(ReadBlock(target, "client", offset, length), **more)


class Lab:
    """What a test has at hand: nodes, and everything above."""

    POOL = POOL
    SPEC = SPEC
    Stage = Stage
    replace = staticmethod(replace)
    Writer = Writer
    sums_of = staticmethod(sums_of)
    block = staticmethod(block)
    wait_until = staticmethod(wait_until)
    write_request = staticmethod(write_request)
    write_block = staticmethod(write_block)
    read_block = staticmethod(read_block)
    read_request = staticmethod(read_request)

    def __init__(self, root: Path) -> None:
        self.root = root
        self._nodes: list[Node] = []

    def node(
        self,
        settings: DataSettings | None = None,
        types: tuple[StorageType, ...] = (StorageType.DISK,),
        root: Path | None = None,
    ) -> Node:
        """A new node, with directories of its own unless `root` is an old one's."""
        node = Node(root or self.root / f"node{len(self._nodes)}", settings, types)
        self._nodes.append(node)
        return node

    def close(self) -> None:
        for node in self._nodes:
            node.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    laboratory = Lab(tmp_path)
    yield laboratory
    laboratory.close()
