"""A namenode of a few dictionaries, and datanodes that speak the real data protocol.

The datanodes listen on loopback and can be told to misbehave, once or always, at any
point. The namenode stands where the RPC proxy would, so what the client asks of it is
a plain list of calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from howdah import errors
from howdah.client.dfs import DFSClient
from howdah.client.namenode import NamenodeProxy
from howdah.client.settings.settings import ClientSettings
from howdah.client.state.blocks import LocatedBlock, LocatedBlocks
from howdah.fs.hdfs.filesystem import HdfsDataOutputStream
from howdah.fs.streams import FSDataInputStream
from howdah.options import CreateFlag
from howdah.proto import types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.protocol.data_transfer.checksum import (
    ChecksumSpec,
    ChecksumType,
    checksum_chunks,
    verify_chunks,
)
from howdah.protocol.data_transfer.op_request_decoder import read_request
from howdah.protocol.data_transfer.op_requests import (
    BlockChecksum,
    ReadBlock,
    Stage,
    TransferBlock,
    WriteBlock,
)
from howdah.protocol.data_transfer.packet_stream import PacketStream
from howdah.protocol.data_transfer.packets import PacketHeader, encode_ack, encode_packet
from howdah.protocol.data_transfer.responses import (
    PIPELINE_READY,
    BlockChecksumResult,
    BlockOpResponse,
    ReadChecksumInfo,
)
from howdah.protocol.data_transfer.status import Status
from howdah.protocol.encryption_zones.messages import EncryptedKey, encryption_info_of
from howdah.protocol.varint import read_delimited
from howdah.rpc.connection import PreparedCall
from howdah.runtime.sockets import Connection

POOL = "BP-test"
SPEC = ChecksumSpec(ChecksumType.CRC32C, 512)
_replicas_change = threading.Lock()


class FakeDatanode:
    """Replicas in memory behind a real socket. Faults are attributes that tests set.

    The first node of a pipeline writes for those behind it, into their memory; one of
    them that is stopped is its bad link.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.peers: dict[str, FakeDatanode] = {}
        self.stopped = False
        self.replicas: dict[int, bytearray] = {}
        self.stamps: dict[int, int] = {}
        self.transfers: list[TransferBlock] = []
        self.refuse_transfer: BlockOpResponse | None = None
        self.read_packet_bytes = 4096
        self.writes: list[WriteBlock] = []
        self.reads: list[ReadBlock] = []
        self.read_statuses: list[Status] = []
        self.packets: list[PacketHeader] = []
        self.synced: set[int] = set()
        self.finalized: set[int] = set()
        self.connections = 0
        # Faults.
        self.refuse_write: BlockOpResponse | None = None
        self.refuse_read: BlockOpResponse | None = None
        self.on_packet: Callable[[PacketHeader, Connection], bool] | None = None
        self.corrupt_at: int | None = None
        self.break_reads_after: int | None = None
        self.hang_reads = False
        self.mute = False
        self.lost_replicas: set[int] = set()
        self.on_sync: Callable[[], object] = lambda: None
        self.send_ack: Callable[[Connection, bytes], object] = Connection.send_all
        self.let_acks_go = threading.Event()
        self.let_acks_go.set()
        self._open: list[Connection] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.address = DatanodeAddress("127.0.0.1", "localhost", f"uuid-{index}", port)
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        self.refuse_connections()
        self.drop_connections()

    def refuse_connections(self) -> None:
        """Take no new ones; those that there are stay."""
        if self.stopped:
            return
        self.stopped = True
        # Wakes the thread in accept, which would take one more connection otherwise.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def drop_connections(self) -> None:
        for connection in self._open:
            connection.shutdown()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            connection = Connection(sock, read_timeout_s=20)
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with connection, contextlib.suppress(OSError, errors.HowdahError):
            again = True
            while again:
                match read_request(connection):
                    case WriteBlock() as request:
                        self._write(request, connection)
                        again = False
                    case TransferBlock() as request:
                        self._transfer(request, connection)
                    case ReadBlock() as request:
                        again = self._read(request, connection)
                    case BlockChecksum() as request:
                        self._checksum(request, connection)

    def _write(self, request: WriteBlock, connection: Connection) -> None:
        self.writes.append(request)
        if self.refuse_write is not None:
            connection.send_all(self.refuse_write.encode())
            return
        if request.block.block_id in self.lost_replicas:
            connection.send_all(BlockOpResponse(Status.ERROR, "no such replica").encode())
            return
        if request.stage is Stage.PIPELINE_CLOSE_RECOVERY:
            self.on_sync()
        pipeline = [self] + [self.peers[node.uuid] for node in request.targets]
        for node in pipeline:
            if node.stopped:
                bad = BlockOpResponse(
                    Status.ERROR, "is stopped", first_bad_link=node.address.transfer_address
                )
                connection.send_all(bad.encode())
                return
            with _replicas_change:
                node.open_replica(request)
        connection.send_all(PIPELINE_READY.encode())
        if request.stage is Stage.PIPELINE_CLOSE_RECOVERY:
            return
        block_id = request.block.block_id
        stream = PacketStream()
        done = False
        while not done:
            packet = stream.next_packet()
            if packet is None:
                stream.filled(connection.recv_some_into(stream.writable()))
                continue
            header = packet.header
            self.packets.append(header)
            if self.on_packet is not None and self.on_packet(header, connection):
                return
            assert self.let_acks_go.wait(20)
            assert verify_chunks(request.checksum, packet.data, packet.sums) == -1
            replies = []
            with _replicas_change:
                if self.stamps[block_id] != request.latest_generation_stamp:
                    return  # another pipeline writes the replica now
                for node in pipeline:
                    replies.append(Status.ERROR if node.stopped else Status.SUCCESS)
                    if node.stopped:
                        break
                    node.take(header, block_id, packet.data)
            self.send_ack(connection, encode_ack(header.seqno, replies))
            if Status.ERROR in replies:
                # Closed with packets unread, the connection would be reset, and the
                # acknowledgement that names the bad node lost with it.
                unread = memoryview(bytearray(64 * 1024))
                while connection.recv_some_into(unread):
                    pass
            done = header.last_in_block or Status.ERROR in replies

    def take(self, header: PacketHeader, block_id: int, data: memoryview) -> None:
        if header.data_length_bytes:
            assert header.offset_in_block <= len(self.replicas[block_id])
            self.replicas[block_id][header.offset_in_block :] = data
            self.synced.discard(block_id)
        if header.sync_block:
            self.synced.add(block_id)
        if header.last_in_block:
            self.finalized.add(block_id)

    def open_replica(self, request: WriteBlock) -> None:
        """As a datanode does: a recovery keeps what was acknowledged and no more."""
        block_id, stamp = request.block.block_id, request.latest_generation_stamp
        if request.stage is Stage.PIPELINE_SETUP_CREATE:
            assert block_id not in self.replicas
            self.replicas[block_id] = bytearray()
        else:
            replica = self.replicas[block_id]
            known = self.stamps.get(block_id, request.block.generation_stamp)
            if request.stage is Stage.PIPELINE_CLOSE_RECOVERY and known == stamp:
                # Asked of a replica that is final: nothing is left to be done but a sync.
                assert block_id in self.finalized
                assert request.min_bytes_received == len(replica)
                self.synced.add(block_id)
                return
            assert request.block.generation_stamp <= known < stamp
            assert request.min_bytes_received <= len(replica) <= request.max_bytes_received
            del replica[request.min_bytes_received :]
        self.stamps[block_id] = stamp
        # What goes on is not synced as a whole any more.
        self.synced.discard(block_id)
        if request.stage is Stage.PIPELINE_CLOSE_RECOVERY:
            self.finalized.add(block_id)

    def _transfer(self, request: TransferBlock, connection: Connection) -> None:
        self.transfers.append(request)
        answer = self.refuse_transfer
        (target,) = (self.peers[node.uuid] for node in request.targets)
        if answer is None and target.stopped:
            answer = BlockOpResponse(Status.ERROR, f"cannot reach {target.address}")
        if answer is None:
            block = request.block
            replica = self.replicas[block.block_id]
            assert block.block_id not in target.replicas
            assert len(replica) >= block.length_bytes
            target.replicas[block.block_id] = bytearray(replica[: block.length_bytes])
            target.stamps[block.block_id] = block.generation_stamp
        connection.send_all((answer or BlockOpResponse(Status.SUCCESS)).encode())

    def _read(self, request: ReadBlock, connection: Connection) -> bool:
        self.reads.append(request)
        if self.mute:
            with contextlib.suppress(OSError, errors.HowdahError):
                connection.recv_exactly(1)  # until the reader gives up
            return False
        if self.refuse_read is not None:
            connection.send_all(self.refuse_read.encode())
            return False
        replica = self.replicas[request.block.block_id]
        chunk = SPEC.bytes_per_checksum
        start = request.offset - request.offset % chunk
        end = min(-(-(request.offset + request.length_bytes) // chunk) * chunk, len(replica))
        response = BlockOpResponse(Status.SUCCESS, read_checksum=ReadChecksumInfo(SPEC, start))
        connection.send_all(response.encode())
        sent = 0
        for seqno in itertools.count():
            data = bytearray(replica[start : min(start + self.read_packet_bytes, end)])
            sums = bytearray(SPEC.sums_length(len(data)))
            checksum_chunks(SPEC, data, sums)
            if self.corrupt_at is not None and start <= self.corrupt_at < start + len(data):
                data[self.corrupt_at - start] ^= 1
            header = PacketHeader(start, seqno, not data, len(data))
            packet = encode_packet(header, sums, data)
            if self.break_reads_after is not None and sent + len(data) > self.break_reads_after:
                connection.send_all(packet[: len(packet) // 2])
                return False
            if self.hang_reads:
                self.let_acks_go.wait(20)
            connection.send_all(packet)
            sent += len(data)
            start += len(data)
            if not data:
                break
        body = read_delimited(connection)
        self.read_statuses.append(Status(body[1]))
        return True

    def _checksum(self, request: BlockChecksum, connection: Connection) -> None:
        data = self.replicas[request.block.block_id][: request.block.length_bytes]
        sums = bytearray(SPEC.sums_length(len(data)))
        checksum_chunks(SPEC, data, sums)
        result = BlockChecksumResult(
            hashlib.md5(sums).digest(),
            SPEC.bytes_per_checksum,
            1024,
            SPEC.type,
            request.checksum_type,
        )
        connection.send_all(BlockOpResponse(Status.SUCCESS, block_checksum=result).encode())


@dataclass
class FakeFile:
    """A file at the fake namenode."""

    file_id: int
    block_size: int
    blocks: list[ExtendedBlock] = field(default_factory=list)
    complete: bool = False
    key: EncryptedKey | None = None


class FakeNamenode:
    """Stands for `NamenodeProxy`."""

    user = "anna"

    def __init__(self, datanodes: list[FakeDatanode]) -> None:
        self.datanodes = datanodes
        self.files: dict[str, FakeFile] = {}
        self.key_of_new: EncryptedKey | None = None
        self.calls: list[tuple[Any, ...]] = []
        self.incomplete_answers = 0
        self.complete_errors: list[errors.HowdahError] = []
        self.add_block_errors: list[errors.HowdahError] = []
        self.block_flags: list[CreateFlag] = []
        self.spares: list[FakeDatanode] = []
        self.bad_blocks: list[LocatedBlock] = []
        self.moved: dict[int, list[FakeDatanode]] = {}
        self._ids = itertools.count(1)
        self._stamps = itertools.count(1002)

    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def close(self) -> None:
        self.calls.append(("close",))

    def get_server_defaults(self) -> types_pb2.FsServerDefaultsProto:
        return types_pb2.FsServerDefaultsProto(
            blockSize=64 * 1024,
            bytesPerChecksum=SPEC.bytes_per_checksum,
            writePacketSize=65536,
            replication=len(self.datanodes),
            fileBufferSize=4096,
            checksumType="CHECKSUM_CRC32C",
        )

    def _status(self, path: str) -> types_pb2.HdfsFileStatusProto:
        file = self.files[path]
        info = None if file.key is None else encryption_info_of(file.key)
        return types_pb2.HdfsFileStatusProto(
            fileEncryptionInfo=info,
            fileType="IS_FILE",
            path=b"",
            length=sum(block.length_bytes for block in file.blocks),
            permission=types_pb2.FsPermissionProto(perm=0o644),
            owner="anna",
            group="g",
            modification_time=0,
            access_time=0,
            fileId=file.file_id,
            blocksize=file.block_size,
            block_replication=len(self.datanodes),
        )

    def create(self, path: str, client_name: str, **options: Any) -> types_pb2.HdfsFileStatusProto:
        self.calls.append(("create", path, options))
        self.files[path] = FakeFile(next(self._ids), options["block_size"], key=self.key_of_new)
        status = self._status(path)
        if options.get("flags", CreateFlag.NONE) & CreateFlag.LAZY_PERSIST:
            status.storagePolicy = 15
        return status

    def append(
        self, path: str, client_name: str, flags: CreateFlag = CreateFlag.NONE
    ) -> tuple[LocatedBlock | None, types_pb2.HdfsFileStatusProto]:
        self.calls.append(("append", path))
        file = self.files[path]
        file.complete = False
        room = None
        if flags & CreateFlag.NEW_BLOCK:
            last = self._located(file.blocks[-1], 0, []) if file.blocks else None
            return last, self._status(path)
        if file.blocks and file.blocks[-1].length_bytes < file.block_size:
            offset = sum(block.length_bytes for block in file.blocks[:-1])
            room = self._located(file.blocks[-1], offset)
        return room, self._status(path)

    def _located(
        self, block: ExtendedBlock, offset: int, nodes: list[FakeDatanode] | None = None
    ) -> LocatedBlock:
        chosen = self.moved.get(block.block_id, self.datanodes) if nodes is None else nodes
        return LocatedBlock(
            block,
            offset,
            tuple(node.address for node in chosen),
            tuple(f"storage-{node.index}" for node in chosen),
            (StorageType.DISK,) * len(chosen),
        )

    def add_block(
        self,
        path: str,
        client_name: str,
        previous: ExtendedBlock | None,
        excluded: tuple[DatanodeAddress, ...],
        file_id: int,
        flags: CreateFlag = CreateFlag.NONE,
        favored_nodes: Sequence[str] = (),
    ) -> LocatedBlock:
        self.calls.append(("addBlock", previous, excluded))
        self.block_flags.append(flags)
        if self.add_block_errors:
            raise self.add_block_errors.pop(0)
        file = self.files[path]
        if previous is not None:
            file.blocks[-1] = previous
        nodes = [node for node in self.datanodes if node.address not in excluded]
        if not nodes:
            raise errors.NoDatanodes(f"File {path} could only be written to 0 nodes")
        block = ExtendedBlock(POOL, next(self._ids), 1001)
        file.blocks.append(block)
        return self._located(block, 0, nodes)

    def abandon_block(
        self, path: str, client_name: str, block: ExtendedBlock, file_id: int
    ) -> None:
        self.calls.append(("abandonBlock", block.block_id))
        self.files[path].blocks.pop()

    def complete(
        self, path: str, client_name: str, last: ExtendedBlock | None, file_id: int
    ) -> bool:
        self.calls.append(("complete", last))
        if self.complete_errors:
            raise self.complete_errors.pop(0)
        if self.incomplete_answers:
            self.incomplete_answers -= 1
            return False
        if last is not None:
            self.files[path].blocks[-1] = last
        self.files[path].complete = True
        return True

    def fsync(
        self,
        path: str,
        client_name: str,
        last_block_length: int,
        file_id: int,
        *,
        durable: bool = True,
    ) -> None:
        self.calls.append(("fsync" if durable else "fsync early", last_block_length))
        if self.files[path].complete:
            raise errors.LeaseExpired("the file is not open for writing")

    def prepare_fsync(
        self,
        path: str,
        client_name: str,
        last_block_length: int,
        file_id: int,
        *,
        durable: bool = True,
    ) -> PreparedCall | None:
        """A call of this namenode is not sent by others."""
        return None

    def update_block_for_pipeline(self, block: ExtendedBlock, client_name: str) -> LocatedBlock:
        self.calls.append(("updateBlockForPipeline", block))
        return self._located(block.with_generation_stamp(next(self._stamps)), 0)

    def get_additional_datanode(
        self,
        path: str,
        client_name: str,
        block: LocatedBlock,
        excluded: tuple[DatanodeAddress, ...],
        file_id: int,
    ) -> LocatedBlock:
        self.calls.append(("getAdditionalDatanode", block.nodes, excluded))
        nodes = [node for node in self.datanodes + self.spares if node.address in block.nodes]
        for node in self.datanodes + self.spares:
            if node.address not in block.nodes and node.address not in excluded:
                return self._located(block.block, 0, [*nodes, node])
        return self._located(block.block, 0, nodes)

    def update_pipeline(
        self, client_name: str, old: ExtendedBlock, new: ExtendedBlock, block: LocatedBlock
    ) -> None:
        self.calls.append(("updatePipeline", old.generation_stamp, new.generation_stamp))

    def renew_lease(self, client_name: str, namespaces: Sequence[str] = ()) -> None:
        self.calls.append(("renewLease", client_name))

    def get_block_locations(self, path: str, offset: int, length: int) -> LocatedBlocks:
        self.calls.append(("getBlockLocations", offset, length))
        if path not in self.files:
            raise errors.PathNotFound(f"File does not exist: {path}")
        found, start = [], 0
        for block in self.files[path].blocks:
            end = start + block.length_bytes
            if start < offset + length and end > offset:
                found.append(self._located(block, start))
            start = end
        last = found[-1] if found else None
        key = self.files[path].key
        return LocatedBlocks(start, tuple(found), False, last, True, key=key)

    def report_bad_blocks(self, blocks: list[LocatedBlock]) -> None:
        self.bad_blocks += blocks


class FakeCluster:
    """Datanodes, a namenode, and clients of them."""

    def __init__(self) -> None:
        self.datanodes = [FakeDatanode(index) for index in range(3)]
        self._know_each_other(self.datanodes)
        self.namenode = FakeNamenode(self.datanodes)
        self._clients: list[DFSClient] = []

    def _know_each_other(self, nodes: list[FakeDatanode]) -> None:
        for node in nodes:
            node.peers = {peer.address.uuid: peer for peer in nodes}

    def add_spare(self) -> FakeDatanode:
        """A datanode that no block is placed on, until one needs another."""
        spares = self.namenode.spares
        spares.append(FakeDatanode(len(self.datanodes) + len(spares)))
        self._know_each_other(self.datanodes + spares)
        return spares[-1]

    def client(self, **settings: Any) -> DFSClient:
        quick = {
            "socket_timeout_s": 5.0,
            "timeout_per_node_s": 0.0,
            "retry_window_s": 0.01,
            "next_block_first_delay_s": 0.01,
            "block_write_retries": 2,
        }
        client = DFSClient(
            cast(NamenodeProxy, self.namenode),
            ClientSettings(**{**quick, **settings}),
        )
        self._clients.append(client)
        return client

    def create(self, path: str = "/f", **settings: Any) -> HdfsDataOutputStream:
        block_size = settings.pop("block_size", None)
        progress = settings.pop("progress", None)
        flags = settings.pop("flags", CreateFlag.NONE)
        return HdfsDataOutputStream(
            self.client(**settings).create(
                path,
                masked=0o644,
                unmasked=0o666,
                overwrite=False,
                create_parent=True,
                replication=None,
                block_size=block_size,
                progress=progress,
                flags=flags,
            )
        )

    def append(self, path: str = "/f", **settings: Any) -> HdfsDataOutputStream:
        flags = settings.pop("flags", CreateFlag.NONE)
        return HdfsDataOutputStream(self.client(**settings).append(path, flags=flags))

    def open(self, path: str = "/f", **settings: Any) -> FSDataInputStream:
        return FSDataInputStream(self.client(**settings).open(path))

    def put(self, content: bytes, path: str = "/f", block_size: int = 64 * 1024) -> None:
        """A file that is there, on every datanode."""
        file = FakeFile(99, block_size, complete=True)
        for index, start in enumerate(range(0, len(content), block_size)):
            piece = content[start : start + block_size]
            file.blocks.append(ExtendedBlock(POOL, 1000 + index, 1001, len(piece)))
            for node in self.datanodes:
                node.replicas[1000 + index] = bytearray(piece)
        self.namenode.files[path] = file

    def content(self, path: str = "/f", node: int = 0) -> bytes:
        """What a datanode has of a file."""
        replicas = self.datanodes[node].replicas
        return b"".join(
            bytes(replicas[block.block_id]) for block in self.namenode.files[path].blocks
        )

    def close(self) -> None:
        for node in self.datanodes + self.namenode.spares:
            node.let_acks_go.set()
            with contextlib.suppress(OSError):
                node.stop()
        for client in self._clients:
            with contextlib.suppress(errors.HowdahError, OSError):
                client.close()


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    fake = FakeCluster()
    yield fake
    fake.close()
