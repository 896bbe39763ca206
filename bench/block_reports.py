"""Full block reports a second, over the wire, as Hadoop's NNThroughputBenchmark makes them.

Ten datanodes that exist in name alone, each with 500 replicas of small files at
replication 3, or with 500 replicas of blocks that nobody knows. A figure is what one
caller and three callers reach, and the CPU time of the namenode for each report.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import ExitStack

import load
from harness import Options, Results, figure, group_cpu, main, progress, scratch
from load import Request, run_load
from namenode import Subject, _howdah

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import datanode_namenode_pb2 as dn
from howdah.proto import types_pb2
from howdah.rpc.client import RpcClient
from howdah.transfer import block_lists
from howdah.transfer.block_lists import ListedReplica

NODES = 10
REPLICAS = 500
BLOCKS_A_FILE = 10
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
            located = self._clients.call(
                "addBlock",
                pb.AddBlockRequestProto(
                    src=path, clientName="bench", previous=previous, fileId=made.fs.fileId
                ),
                pb.AddBlockResponseProto,
            ).block
            previous = located.b
            previous.numBytes = 16
            for place in located.locs:
                self._received(place.id.datanodeUuid, previous)
        request = pb.CompleteRequestProto(src=path, clientName="bench", last=previous)
        self._clients.call("complete", request, pb.CompleteResponseProto)

    def _received(self, uuid_: str, block: types_pb2.ExtendedBlockProto) -> None:
        number = next(
            n
            for n, known in enumerate(self.registrations)
            if known.datanodeID.datanodeUuid == uuid_
        )
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
                        ],
                    )
                ],
            ),
            dn.BlockReceivedAndDeletedResponseProto,
        )
        self.replicas[uuid_].append(
            ListedReplica(block.blockId, block.numBytes, block.generationStamp, 0)
        )

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

    def close(self) -> None:
        self._rpc.close()
        self._clients.close()


def measure(options: Options) -> Results:
    unknown = [ListedReplica(number + 1, 0, 0, 0) for number in range(REPLICAS)]
    with ExitStack() as stack:
        base = stack.enter_context(scratch(options, "block-reports"))
        subject = stack.enter_context(_howdah(base))
        nodes = Nodes(subject)
        stack.callback(nodes.close)
        progress("files")
        nodes.fill()
        count = 200 if options.quick else 1000
        for name, replicas in (("known", None), ("unknown", unknown)):
            reports: list[Request] = [
                ("blockReport", nodes.report(number, replicas)) for number in range(NODES)
            ]
            for callers in (1, 3):
                rates, cpu_us = [], []
                for _ in range(options.repeats(5, 3)):
                    load.PROTOCOL = DATANODES
                    before = group_cpu(subject.pid)
                    took = run_load(
                        subject.address,
                        [
                            [reports[number % NODES] for number in range(count // callers)]
                            for _ in range(callers)
                        ],
                    )
                    after = group_cpu(subject.pid)
                    load.PROTOCOL = CLIENTS
                    rates.append(took.calls / took.wall_s)
                    if before is not None and after is not None:
                        cpu_us.append((after - before).total_s * 1e6 / took.calls)
                what = f"reports of {REPLICAS} {name} blocks, {callers} callers"
                yield figure(what, "/s", rates, {})
                if cpu_us:
                    yield figure(f"{what}: CPU each", "µs", cpu_us, {})


if __name__ == "__main__":
    main(measure)
