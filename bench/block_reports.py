"""Full block reports a second, over the wire, as Hadoop's NNThroughputBenchmark makes them.

Ten datanodes that exist in name alone, each with 500 replicas of small files at
replication 3, or with 500 replicas of blocks that nobody knows. A figure is what one
caller and three callers reach, and the CPU time of the namenode for each report. Before
them, heartbeats of the same datanodes. The peer is Hadoop's namenode with the same datanodes
and files, in turn with ours.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack

import load
from apache import ApacheCluster, NoPeer
from harness import Options, Results, Skipped, figure, main, progress, scratch
from load import Request
from subjects import APACHE, OURS, Subject, howdah

from howdah.errors import NotReplicatedYet
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.protocol.data_transfer import block_lists
from howdah.protocol.data_transfer.block_lists import ListedReplica
from howdah.rpc.client import RpcClient

NODES = 10
REPLICAS = 500
BLOCKS_A_FILE = 10
_PAUSE_S = 0.005
_DEADLINE_S = 30.0
CLIENTS = load.PROTOCOL
DATANODES = "org.apache.hadoop.hdfs.server.protocol.DatanodeProtocol"


class Nodes:
    """The datanodes, as the namenode knows them, and what each of them has."""

    def __init__(self, subject: Subject) -> None:
        self._rpc = RpcClient(subject.address, DATANODES)
        self._clients = RpcClient(subject.address, CLIENTS)
        told = self._rpc.call(
            "versionRequest", dn.VersionRequestProto(), dn.VersionResponseProto
        ).info
        self.pool_id = told.blockPoolID
        self.registrations: list[dn.DatanodeRegistrationProto] = []
        self._numbers: dict[str, int] = {}
        self.replicas: dict[str, list[ListedReplica]] = {}
        for number in range(NODES):
            registration = dn.DatanodeRegistrationProto(
                datanodeID=types_pb2.DatanodeIDProto(
                    ipAddr="127.0.0.1",
                    hostName="127.0.0.1",
                    datanodeUuid=str(uuid.uuid4()),
                    xferPort=40000 + number,
                    infoPort=1,
                    ipcPort=50000 + number,
                ),
                storageInfo=told.storageInfo,
                keys=dn.ExportedBlockKeysProto(
                    isBlockTokenEnabled=False,
                    keyUpdateInterval=0,
                    tokenLifeTime=0,
                    currentKey=dn.BlockKeyProto(keyId=0, expiryDate=0),
                ),
                softwareVersion=told.softwareVersion,
            )
            request = dn.RegisterDatanodeRequestProto(registration=registration)
            self._rpc.call("registerDatanode", request, dn.RegisterDatanodeResponseProto)
            self._numbers[registration.datanodeID.datanodeUuid] = number
            self.registrations.append(registration)
            self.replicas[registration.datanodeID.datanodeUuid] = []
            self._rpc.call("sendHeartbeat", self._heartbeat(number), dn.HeartbeatResponseProto)
        for number in range(NODES):
            self._rpc.call("blockReport", self.report(number), dn.BlockReportResponseProto)

    def _storage(self, number: int) -> types_pb2.DatanodeStorageProto:
        return types_pb2.DatanodeStorageProto(
            storageUuid=f"DS-{self.registrations[number].datanodeID.datanodeUuid}",
            state=types_pb2.DatanodeStorageProto.NORMAL,
            storageType=types_pb2.DISK,
        )

    def _heartbeat(self, number: int) -> dn.HeartbeatRequestProto:
        return dn.HeartbeatRequestProto(
            registration=self.registrations[number],
            reports=[
                types_pb2.StorageReportProto(
                    storageUuid=self._storage(number).storageUuid,
                    storage=self._storage(number),
                    capacity=1 << 40,
                    remaining=1 << 40,
                )
            ],
        )

    def fill(self) -> None:
        """Files, until each node has as many replicas as it is to report, about."""
        for number in range(NODES * REPLICAS // 3 // BLOCKS_A_FILE):
            self._write(f"/reports/{number:04}")

    def _write(self, path: str) -> None:
        made = self._clients.call(
            "create",
            pb.CreateRequestProto(
                src=path,
                masked=types_pb2.FsPermissionProto(perm=0o644),
                clientName="bench",
                createFlag=pb.CREATE,
                createParent=True,
                replication=3,
                blockSize=1 << 20,
            ),
            pb.CreateResponseProto,
        )
        previous = None
        for _ in range(BLOCKS_A_FILE):
            located = self._added(path, made.fs.fileId, previous)
            previous = located.b
            previous.numBytes = 16
            for place in located.locs:
                self._received(place.id.datanodeUuid, previous)
        request = pb.CompleteRequestProto(src=path, clientName="bench", last=previous)
        while not self._clients.call("complete", request, pb.CompleteResponseProto).result:
            time.sleep(_PAUSE_S)

    def _added(
        self, path: str, file_id: int, previous: types_pb2.ExtendedBlockProto | None
    ) -> types_pb2.LocatedBlockProto:
        """A new block, as soon as the namenode knows the replicas of the one before: Hadoop's
        takes the datanodes' word for them later than it answers them."""
        request = pb.AddBlockRequestProto(
            src=path, clientName="bench", previous=previous, fileId=file_id
        )
        deadline_s = time.monotonic() + _DEADLINE_S
        while True:
            try:
                return self._clients.call("addBlock", request, pb.AddBlockResponseProto).block
            except NotReplicatedYet:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(_PAUSE_S)

    def heartbeats(self) -> None:
        """All of them live."""
        for number in range(NODES):
            self._rpc.call("sendHeartbeat", self._heartbeat(number), dn.HeartbeatResponseProto)

    def write_last(self, paths: Sequence[str]) -> list[types_pb2.ExtendedBlockProto]:
        """The last block of each file, which its datanodes have from now on."""
        found = []
        by_node: dict[str, list[types_pb2.ExtendedBlockProto]] = {}
        for path in paths:
            request = pb.GetBlockLocationsRequestProto(src=path, offset=0, length=1 << 40)
            answer = self._clients.call(
                "getBlockLocations", request, pb.GetBlockLocationsResponseProto
            )
            block = answer.locations.lastBlock
            block.b.numBytes = 16
            found.append(block.b)
            for place in block.locs:
                by_node.setdefault(place.id.datanodeUuid, []).append(block.b)
        for uuid_, blocks in by_node.items():
            self._received(uuid_, *blocks)
        return found

    def is_closed(self, path: str) -> bool:
        request = pb.IsFileClosedRequestProto(src=path)
        return self._clients.call("isFileClosed", request, pb.IsFileClosedResponseProto).result

    def _received(self, uuid_: str, *received: types_pb2.ExtendedBlockProto) -> None:
        number = self._numbers[uuid_]
        self._rpc.call(
            "blockReceivedAndDeleted",
            dn.BlockReceivedAndDeletedRequestProto(
                registration=self.registrations[number],
                blockPoolId=self.pool_id,
                blocks=[
                    dn.StorageReceivedDeletedBlocksProto(
                        storageUuid=self._storage(number).storageUuid,
                        storage=self._storage(number),
                        blocks=[
                            dn.ReceivedDeletedBlockInfoProto(
                                block=types_pb2.BlockProto(
                                    blockId=block.blockId,
                                    genStamp=block.generationStamp,
                                    numBytes=block.numBytes,
                                ),
                                status=dn.ReceivedDeletedBlockInfoProto.RECEIVED,
                            )
                            for block in received
                        ],
                    )
                ],
            ),
            dn.BlockReceivedAndDeletedResponseProto,
        )
        self.replicas[uuid_] += [
            ListedReplica(block.blockId, block.numBytes, block.generationStamp, 0)
            for block in received
        ]

    def report(
        self, number: int, replicas: Sequence[ListedReplica] | None = None
    ) -> dn.BlockReportRequestProto:
        registration = self.registrations[number]
        if replicas is None:
            replicas = self.replicas[registration.datanodeID.datanodeUuid]
        count, buffers = block_lists.encode(replicas)
        return dn.BlockReportRequestProto(
            registration=registration,
            blockPoolId=self.pool_id,
            reports=[
                dn.StorageBlockReportProto(
                    storage=self._storage(number), numberOfBlocks=count, blocksBuffers=buffers
                )
            ],
            context=dn.BlockReportContextProto(totalRpcs=1, curRpc=0, id=1),
        )

    def reports(self, replicas: Sequence[ListedReplica] | None) -> list[Request]:
        """A report of each datanode."""
        return [("blockReport", self.report(number, replicas)) for number in range(NODES)]

    def beats(self) -> list[Request]:
        """One of each datanode, which has one volume."""
        return [("sendHeartbeat", self._heartbeat(number)) for number in range(NODES)]

    def close(self) -> None:
        self._rpc.close()
        self._clients.close()


def measure(options: Options) -> Results:
    unknown = [ListedReplica(number + 1, 0, 0, 0) for number in range(REPLICAS)]
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "block-reports"))
        subjects = {OURS: stack.enter_context(howdah(base / "howdah"))}
        try:
            peer = stack.enter_context(ApacheCluster(base / "apache", 0))
        except NoPeer as error:
            yield Skipped(APACHE, str(error))
        else:
            subjects[APACHE] = Subject(peer.address, peer.pid("namenode"))
        nodes: dict[str, Nodes] = {}
        for name, subject in subjects.items():
            progress(f"{name}: files")
            nodes[name] = Nodes(subject)
            stack.callback(nodes[name].close)
            nodes[name].fill()
        count = 200 if options.quick else 1000
        for round_ in range(1 + options.repeats(5, 3)):
            for callers in (1, 3):
                what = f"heartbeats, {callers} callers"
                for name, subject in subjects.items():
                    beats = nodes[name].beats()
                    _run(subject, beats, callers, 5 * count, what if round_ else None)
        for kind, replicas in (("known", None), ("unknown", unknown)):
            for round_ in range(1 + options.repeats(5, 3)):
                for callers in (1, 3):
                    what = f"reports of {REPLICAS} {kind} blocks, {callers} callers"
                    for name, subject in subjects.items():
                        reports = nodes[name].reports(replicas)
                        # The first round is for Java's compiler.
                        _run(subject, reports, callers, count, what if round_ else None)
    ours, theirs = subjects[OURS], subjects.get(APACHE, Subject(("", 0), 0))
    for what, rates in ours.rates.items():
        yield figure(what, "/s", rates, {APACHE: theirs.rates.get(what, [])})
        if what in ours.cpu_us:
            peers = {APACHE: theirs.cpu_us.get(what, [])}
            yield figure(f"{what}: CPU each", "µs", ours.cpu_us[what], peers)


def _run(
    subject: Subject, reports: list[Request], callers: int, count: int, name: str | None
) -> None:
    each = count // callers
    load.PROTOCOL = DATANODES
    try:
        subject.run([[reports[n % NODES] for n in range(each)] for _ in range(callers)], 1, name)
    finally:
        load.PROTOCOL = CLIENTS


if __name__ == "__main__":
    main(measure)
