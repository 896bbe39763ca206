"""The requests that both servers are sent, in order.

One namenode with one datanode, new and empty, its smallest block 512 bytes. Most of
ClientProtocol is asked once where it succeeds and, where the refusal has a form of its
own, once where it fails; then the datanode's two ports; then the other protocols of
the namenode.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from howdah.proto import data_transfer_pb2, rpc_pb2, types_pb2
from howdah.rpc import wire
from howdah.testing.internal.answers.asking import (
    AT_DATANODE,
    BETWEEN_DATANODES,
    CLIENT,
    DATANODE,
    HA,
    MAPPINGS,
    NAMENODE,
    Asking,
    read_frame,
)
from howdah.testing.internal.answers.facts import Facts
from howdah.testing.internal.answers.unprivileged import ask_unprivileged
from howdah.transfer.blocks import DatanodeAddress, ExtendedBlock, StorageType
from howdah.transfer.checksum import ChecksumSpec, ChecksumType, checksum_chunks
from howdah.transfer.ops import (
    BlockChecksum,
    BlockChecksumType,
    ReadBlock,
    Stage,
    TransferBlock,
    WriteBlock,
)
from howdah.transfer.packet_stream import PacketStream
from howdah.transfer.packets import HEARTBEAT, PacketHeader, encode_packet
from howdah.transfer.responses import encode_read_status
from howdah.transfer.sockets import Connection
from howdah.transfer.status import Status

CONF: Final = {
    "dfs.namenode.fs-limits.min-block-size": "512",
    "dfs.blocksize": "1024",
    "dfs.bytes-per-checksum": "512",
    "dfs.replication": "1",
    "dfs.namenode.safemode.threshold-pct": "0",
    "dfs.namenode.safemode.extension": "0",
    "dfs.namenode.accesstime.precision": "0",
    "dfs.heartbeat.interval": "1",
    "dfs.storage.policy.satisfier.mode": "external",
}
"""What the servers have to be configured with."""

WRITER: Final = "DFSClient_answers"
_SPEC: Final = ChecksumSpec(ChecksumType.CRC32C, 512)
_DATA: Final = bytes(range(250)) * 3
_MODE: Final = {"perm": 0o755}
_ALL: Final = (1 << 64) - 1


def converse(namenode: tuple[str, int]) -> dict[str, Facts]:
    """Ask everything; the facts by exchange."""
    asking = Asking(namenode)
    try:
        _Conversation(asking).run()
    finally:
        asking.close()
    return asking.kept


class _Conversation:
    def __init__(self, asking: Asking) -> None:
        self._ask = asking
        self._dn = DatanodeAddress("", "", "", 0)
        self._block = types_pb2.ExtendedBlockProto()

    def run(self) -> None:
        self._handshakes()
        self._empty_tree()
        self._one_file()
        self._attributes()
        self._moving()
        self._snapshots()
        self._appending()
        self._features()
        self._cluster()
        self._data_port()
        self._datanode_calls()
        ask_unprivileged(self._ask, (self._dn.ip, self._dn.ipc_port))
        self._other_protocols()

    def _do(self, method: str, what: str = "", **fields: Any) -> Any:
        return self._ask.call(f"{method} {what}".strip(), CLIENT, method, fields)

    # --- the connection ---

    def _handshakes(self) -> None:
        ask = self._ask
        with socket.create_connection(ask.namenode, timeout=30.0) as sock:
            sock.sendall(wire.preamble(wire.AUTH_SASL) + _negotiate(ask.client_id))
            header, body = wire.decode_answer(read_frame(sock))
            ask.keep("sasl negotiate, header", header)
            ask.keep("sasl negotiate", rpc_pb2.RpcSaslProto.FromString(body))
        empty = rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.SUCCESS)
        for exchange, protocol, method, version in (
            ("a method that is none", CLIENT.name, "getNothing", 1),
            ("a protocol that is none", "org.example.Nothing", "getNothing", 1),
            ("a version that is none", CLIENT.name, "getServerDefaults", 9),
        ):
            header, _ = ask.exchange(protocol, method, empty, at=ask.namenode, version=version)
            ask.keep(exchange, header)

    # --- ClientProtocol ---

    def _empty_tree(self) -> None:
        do = self._do
        do("getServerDefaults")
        do("getFileInfo", "of nothing", src="/a")
        do("getFileInfo", "of the root", src="/")
        do("mkdirs", src="/a/b", masked=_MODE, createParent=True)
        do("mkdirs", "again", src="/a/b", masked=_MODE, createParent=True)
        do("mkdirs", "without parents", src="/n/o", masked=_MODE, createParent=False)
        do("getFileInfo", "of a directory", src="/a")
        do("getListing", "of nothing", src="/n", startAfter=b"", needLocation=False)
        do("getListing", "of an empty one", src="/a/b", startAfter=b"", needLocation=False)
        report = do("getDatanodeReport", type="LIVE")
        self._dn = DatanodeAddress.from_proto(report.di[0])
        do("getDatanodeStorageReport", type="LIVE")

    def _one_file(self) -> None:
        do = self._do
        file = self._create("/a/f")
        self._create("/a/f", "of an open file")
        block = do("addBlock", src="/a/f", clientName=WRITER, fileId=file.fileId).block
        do("getFileInfo", "of an open file", src="/a/f")
        do("getBlockLocations", "before a byte", src="/a/f", offset=0, length=1 << 30)
        connection = self._write(block, "WRITE_BLOCK")
        self._send(connection, "a packet", 0, 0, _DATA[:512])
        connection.send_all(encode_packet(HEARTBEAT))
        self._ack(connection, "a heartbeat")
        do("fsync", src="/a/f", client=WRITER, lastBlockLength=512, fileId=file.fileId)
        do("getBlockLocations", "of an open file", src="/a/f", offset=0, length=1 << 30)
        self._at_dn("getReplicaVisibleLength", block=block.b)
        self._send(connection, "a second packet", 1, 512, _DATA[512:])
        self._send(connection, "the last packet", 2, len(_DATA), b"", last=True)
        connection.close()
        block.b.numBytes = len(_DATA)
        do("renewLease", clientName=WRITER)
        while not self._ask_quietly("complete", _completed("/a/f", block.b, file.fileId)).result:
            continue
        do("complete", **_completed("/a/f", block.b, file.fileId))
        do("complete", "of nothing", **_completed("/a/none", block.b, 0))
        do("getFileInfo", "of a file", src="/a/f")
        do("getFileInfo", "below a file", src="/a/f/g")
        do("getFileLinkInfo", "of a file", src="/a/f")
        do("getLocatedFileInfo", src="/a/f", needBlockToken=False)
        do("getBlockLocations", src="/a/f", offset=0, length=1 << 30)
        do("getBlockLocations", "of nothing", src="/a/none", offset=0, length=1)
        do("getBlockLocations", "of a directory", src="/a", offset=0, length=1)
        do("getListing", src="/a", startAfter=b"", needLocation=False)
        do("getListing", "with locations", src="/a", startAfter=b"", needLocation=True)
        do("getBatchedListing", paths=["/a", "/n"], startAfter=b"", needLocation=False)
        do("isFileClosed", src="/a/f")
        do("recoverLease", "of a closed file", src="/a/f", clientName=WRITER)
        do("getPreferredBlockSize", filename="/a/f")
        do("getContentSummary", path="/a")
        do("getQuotaUsage", path="/a")
        do("checkAccess", path="/a/f", mode="READ")

    def _attributes(self) -> None:
        do = self._do
        do("setPermission", src="/a/f", permission={"perm": 0o640})
        do("setOwner", src="/a/f", username="alice", groupname="staff")
        do("setTimes", src="/a/f", mtime=1_700_000_000_000, atime=1_700_000_000_001)
        do("setReplication", src="/a/f", replication=1)
        do("setReplication", "of a directory", src="/a", replication=1)
        do("setQuota", path="/a", namespaceQuota=100, storagespaceQuota=1 << 40)
        do(
            "setQuota",
            "by type",
            path="/a",
            namespaceQuota=(1 << 63) - 1,
            storagespaceQuota=1 << 30,
            storageType="SSD",
        )
        do("getContentSummary", "with quotas", path="/a")
        do("getQuotaUsage", "with quotas", path="/a")
        entry = {"type": "USER", "scope": "ACCESS", "permissions": "READ", "name": "bob"}
        do("modifyAclEntries", src="/a/f", aclSpec=[entry])
        do("getAclStatus", src="/a/f")
        do("getFileInfo", "with an ACL", src="/a/f")
        do("removeAcl", src="/a/f")
        do("getAclStatus", "without", src="/a/b")
        mark = {"namespace": "USER", "name": "mark", "value": b"\0\xff"}
        do("setXAttr", src="/a/f", xAttr=mark, flag=1)
        do("setXAttr", "again", src="/a/f", xAttr=mark, flag=1)
        do("getXAttrs", "of all", src="/a/f")
        do("getXAttrs", "by name", src="/a/f", xAttrs=[mark])
        do("getXAttrs", "of none", src="/a/b")
        do("listXAttrs", src="/a/f")
        do("removeXAttr", src="/a/f", xAttr=mark)
        do("getStoragePolicies")
        do("setStoragePolicy", src="/a/b", policyName="COLD")
        do("getStoragePolicy", path="/a/b")
        do("getFileInfo", "with a policy", src="/a/b")
        do("unsetStoragePolicy", src="/a/b")
        self._marks()

    def _marks(self) -> None:
        """For a satisfier, which this client is for once."""
        do, name = self._do, "getNextSPSPath"
        do("satisfyStoragePolicy", src="/a/b")
        do("satisfyStoragePolicy", "again", src="/a/b")
        do("satisfyStoragePolicy", "of nothing", src="/none")
        do("listXAttrs", "of what is marked", src="/a/b")
        self._ask.call(f"NamenodeProtocol {name}", NAMENODE, name, {})
        self._ask.call(f"NamenodeProtocol {name} of none", NAMENODE, name, {})
        do("removeXAttr", "a mark", src="/a/b", xAttr={"namespace": "USER", "name": "hdfs.sps"})

    def _moving(self) -> None:
        do = self._do
        do("rename", src="/a/f", dst="/a/g")
        do("rename", "of nothing", src="/a/f", dst="/a/g")
        do("rename2", src="/a/g", dst="/a/f", overwriteDest=False)
        do("rename2", "of nothing", src="/a/g", dst="/a/h", overwriteDest=False)
        do("rename2", "onto a file", src="/a/b", dst="/a/f", overwriteDest=False)
        do("createSymlink", target="f", link="/a/link", dirPerm=_MODE, createParent=False)
        do("getFileLinkInfo", "of a link", src="/a/link")
        do("getFileInfo", "through a link", src="/a/link")
        do("getLinkTarget", path="/a/link")
        do("delete", "of a link", src="/a/link", recursive=False)
        do("delete", "of nothing", src="/a/none", recursive=False)
        do("delete", "of a full directory", src="/a", recursive=False)

    def _snapshots(self) -> None:
        do = self._do
        do("getSnapshottableDirListing", "of none")
        do("createSnapshot", "where it may not be", snapshotRoot="/a", snapshotName="s")
        do("allowSnapshot", snapshotRoot="/a")
        do("createSnapshot", snapshotRoot="/a", snapshotName="s1")
        do("mkdirs", "between snapshots", src="/a/new", masked=_MODE, createParent=True)
        do("createSnapshot", "once more", snapshotRoot="/a", snapshotName="s2")
        do("getSnapshottableDirListing")
        do("getFileInfo", "of a snapshottable directory", src="/a")
        do("getSnapshotListing", snapshotRoot="/a")
        between = {"snapshotRoot": "/a", "fromSnapshot": "s1", "toSnapshot": "s2"}
        do("getSnapshotDiffReport", **between)
        cursor = {"startPath": b"", "index": -1}
        do("getSnapshotDiffReportListing", **between, cursor=cursor)
        do("getFileInfo", "in a snapshot", src="/a/.snapshot/s1/f")
        do("getListing", "of the snapshots", src="/a/.snapshot", startAfter=b"", needLocation=False)
        do("getBlockLocations", "in a snapshot", src="/a/.snapshot/s1/f", offset=0, length=9)
        do("mkdirs", "in a snapshot", src="/a/.snapshot/s1/x", masked=_MODE, createParent=True)
        do(
            "renameSnapshot",
            snapshotRoot="/a",
            snapshotOldName="s2",
            snapshotNewName="s3",
        )
        do("getContentSummary", "with snapshots", path="/a")
        do("disallowSnapshot", "with snapshots", snapshotRoot="/a")
        do("deleteSnapshot", snapshotRoot="/a", snapshotName="s1")
        do("deleteSnapshot", "of nothing", snapshotRoot="/a", snapshotName="s1")
        do("deleteSnapshot", "of the last", snapshotRoot="/a", snapshotName="s3")
        do("disallowSnapshot", snapshotRoot="/a")

    def _appending(self) -> None:
        do = self._do
        answer = do("append", src="/a/f", clientName=WRITER, flag=4)
        do("append", "of an open file", src="/a/f", clientName="DFSClient_other", flag=4)
        do("append", "of nothing", src="/a/none", clientName=WRITER, flag=4)
        old = types_pb2.ExtendedBlockProto()
        old.CopyFrom(answer.block.b)
        renamed = do("updateBlockForPipeline", block=old, clientName=WRITER)
        new = renamed.block.b
        do(
            "updatePipeline",
            clientName=WRITER,
            oldBlock=old,
            newBlock={
                "poolId": old.poolId,
                "blockId": old.blockId,
                "generationStamp": new.generationStamp,
                "numBytes": old.numBytes,
            },
            newNodes=[node.id for node in answer.block.locs],
            storageIDs=list(answer.block.storageIDs),
        )
        do("listOpenFiles", id=0, types=["ALL_OPEN_FILES"], path="/")
        do(
            "getAdditionalDatanode",
            src="/a/f",
            blk=old,
            existings=list(answer.block.locs),
            numAdditionalNodes=1,
            clientName=WRITER,
            existingStorageUuids=list(answer.block.storageIDs),
        )
        file = self._create("/a/abandoned", "to be abandoned")
        block = do(
            "addBlock",
            "to be abandoned",
            src="/a/abandoned",
            clientName=WRITER,
            fileId=file.fileId,
        ).block
        do("abandonBlock", b=block.b, src="/a/abandoned", holder=WRITER, fileId=file.fileId)
        do("recoverLease", "of an empty file", src="/a/abandoned", clientName=WRITER)
        file = self._create("/a/nowhere", "for which there is no node")
        do(
            "addBlock",
            "with all nodes excluded",
            src="/a/nowhere",
            clientName=WRITER,
            fileId=file.fileId,
            excludeNodes=list(block.locs),
        )
        do("truncate", "of an open file", src="/a/nowhere", newLength=0, clientName=WRITER)
        do("truncate", "of nothing", src="/a/none", newLength=0, clientName=WRITER)
        do("create", "of blocks of an odd size", **_created("/a/odd", 1000))
        do("create", "of blocks below the minimum", **_created("/a/small", 511))
        do("concat", "without sources", trg="/a/f", srcs=[])
        do("delete", src="/a/nowhere", recursive=False)

    def _features(self) -> None:
        """What a client asks of features that a filesystem may not have."""
        do = self._do
        do("getEZForPath", src="/a")
        do("listEncryptionZones", id=0)
        do("getErasureCodingPolicies")
        do("getErasureCodingPolicy", src="/a")
        do("getErasureCodingCodecs")
        do("listCachePools", prevPoolName="")
        do("listCacheDirectives", prevId=0, filter={})
        do("getDelegationToken", renewer="root")
        do("getDataEncryptionKey")
        do("getEnclosingRoot", filename="/a")
        do("msync")
        do("getHAServiceState")

    def _cluster(self) -> None:
        do = self._do
        do("getFsStats")
        do("getFsReplicatedBlockStats")
        do("getFsECBlockGroupStats")
        do("getDatanodeReport", "of the dead", type="DEAD")
        do("getSlowDatanodeReport")
        do("listCorruptFileBlocks", path="/")
        do("setSafeMode", "asked", action="SAFEMODE_GET", checked=False)
        do("setSafeMode", "on", action="SAFEMODE_ENTER", checked=False)
        do("mkdirs", "in safe mode", src="/safe", masked=_MODE, createParent=True)
        do("setSafeMode", "off", action="SAFEMODE_LEAVE", checked=False)
        do("rollEdits")
        do("restoreFailedStorage", arg="check")
        do("upgradeStatus")
        do("rollingUpgrade", action="QUERY")
        do("setBalancerBandwidth", bandwidth=1 << 20)
        do("refreshNodes")
        do("getCurrentEditLogTxid")

    # --- the data port ---

    def _data_port(self) -> None:
        ask, address = self._ask, (self._dn.ip, self._dn.transfer_port)
        self._create("/d", "for the data port")
        located = self._do("addBlock", "for the data port", src="/d", clientName=WRITER).block
        block = ExtendedBlock.from_proto(located.b)
        away = DatanodeAddress("127.0.0.1", "localhost", "away", _port_of_nobody())
        connection, _ = ask.at_data_port(
            "WRITE_BLOCK to a mirror that is away",
            address,
            WriteBlock(
                block,
                WRITER,
                Stage.PIPELINE_SETUP_CREATE,
                _SPEC,
                targets=(away,),
                pipeline_size=2,
                target_storage_types=(StorageType.DISK,),
                target_storage_ids=("DS-away",),
            ),
        )
        connection.close()
        self._do("abandonBlock", "of the data port", b=located.b, src="/d", holder=WRITER)
        located = self._do("addBlock", "once more", src="/d", clientName=WRITER).block
        block = ExtendedBlock.from_proto(located.b)
        connection = self._write(located, "WRITE_BLOCK of a block to be read")
        self._send(connection, "all in one packet", 0, 0, _DATA)
        self._send(connection, "its end", 1, len(_DATA), b"", last=True)
        connection.close()
        connection, _ = ask.at_data_port("READ_BLOCK", address, ReadBlock(block, WRITER, 100, 200))
        self._packets("READ_BLOCK", connection)
        connection.send_all(encode_read_status(Status.CHECKSUM_OK))
        connection.close()
        connection, _ = ask.at_data_port(
            "READ_BLOCK without checksums",
            address,
            ReadBlock(block, WRITER, 0, len(_DATA), send_checksums=False),
        )
        self._packets("READ_BLOCK without checksums", connection)
        connection.close()
        whole = ExtendedBlock(block.pool_id, block.block_id, block.generation_stamp, len(_DATA))
        self._block = located.b
        unknown = ExtendedBlock(block.pool_id, block.block_id + 1000, 1, 0)
        for exchange, request in (
            ("BLOCK_CHECKSUM", BlockChecksum(whole)),
            ("BLOCK_CHECKSUM of a part", BlockChecksum(replace(whole, length_bytes=600))),
            (
                "BLOCK_CHECKSUM as a CRC",
                BlockChecksum(whole, checksum_type=BlockChecksumType.COMPOSITE_CRC),
            ),
            ("READ_BLOCK beyond the end", ReadBlock(block, WRITER, 10_000, 1)),
            ("READ_BLOCK of nothing", ReadBlock(unknown, WRITER, 0, 1)),
            ("BLOCK_CHECKSUM of nothing", BlockChecksum(unknown)),
            ("TRANSFER_BLOCK of nothing", TransferBlock(unknown, WRITER, (away,))),
        ):
            connection, _ = ask.at_data_port(exchange, address, request)
            connection.close()

    def _packets(self, exchange: str, connection: Connection) -> None:
        """The headers of all packets, up to the one that ends the read."""
        stream = PacketStream()
        number = 0
        while True:
            packet = stream.next_packet()
            if packet is None:
                stream.filled(connection.recv_some_into(stream.writable()))
                continue
            header = packet.header
            self._ask.keep(
                f"{exchange}, packet {number}",
                data_transfer_pb2.PacketHeaderProto(
                    offsetInBlock=header.offset_in_block,
                    seqno=header.seqno,
                    lastPacketInBlock=header.last_in_block,
                    dataLen=header.data_length_bytes,
                ),
            )
            number += 1
            if header.last_in_block:
                return

    def _write(self, located: types_pb2.LocatedBlockProto, exchange: str) -> Connection:
        connection, response = self._ask.at_data_port(
            exchange,
            (self._dn.ip, self._dn.transfer_port),
            WriteBlock(
                ExtendedBlock.from_proto(located.b),
                WRITER,
                Stage.PIPELINE_SETUP_CREATE,
                _SPEC,
                storage_id=located.storageIDs[0],
            ),
        )
        assert response.status == data_transfer_pb2.SUCCESS, response
        return connection

    def _send(
        self,
        connection: Connection,
        exchange: str,
        seqno: int,
        offset: int,
        data: bytes,
        *,
        last: bool = False,
    ) -> None:
        sums = bytearray(_SPEC.sums_length(len(data)))
        checksum_chunks(_SPEC, data, sums)
        connection.send_all(encode_packet(PacketHeader(offset, seqno, last, len(data)), sums, data))
        self._ack(connection, exchange)

    def _ack(self, connection: Connection, exchange: str) -> None:
        self._ask.read(f"ack of {exchange}", connection, data_transfer_pb2.PipelineAckProto())

    # --- the datanode's calls, and those of others at the namenode ---

    def _at_dn(self, method: str, what: str = "", **fields: Any) -> Any:
        exchange = f"{method} {what}".strip()
        return self._ask.call(
            exchange, AT_DATANODE, method, fields, at=(self._dn.ip, self._dn.ipc_port)
        )

    def _datanode_calls(self) -> None:
        nothing = {"poolId": self._block.poolId, "blockId": 1, "generationStamp": 1}
        self._at_dn("getReplicaVisibleLength", "of nothing", block=nothing)
        self._at_dn("getDatanodeInfo")
        self._at_dn("getVolumeReport")
        self._at_dn("getBalancerBandwidth")
        self._at_dn("triggerBlockReport", incremental=True)
        self._at_dn("getReconfigurationStatus")
        self._at_dn("listReconfigurableProperties")
        located = {"b": nothing, "offset": 0, "locs": [], "corrupt": False}
        located["blockToken"] = {"identifier": b"", "password": b"", "kind": "", "service": ""}
        self._ask.call(
            "initReplicaRecovery of nothing",
            BETWEEN_DATANODES,
            "initReplicaRecovery",
            {"block": {"newGenStamp": 2, "block": located}},
            at=(self._dn.ip, self._dn.ipc_port),
        )

    def _other_protocols(self) -> None:
        ask = self._ask
        ask.call("HA getServiceStatus", HA, "getServiceStatus", {})
        ask.call("HA monitorHealth", HA, "monitorHealth", {})
        mappings = "refreshUserToGroupsMappings"
        ask.call(mappings, MAPPINGS, mappings, {})
        proxies = "refreshSuperUserGroupsConfiguration"
        ask.call(proxies, MAPPINGS, proxies, {})
        for method in (
            "versionRequest",
            "getTransactionId",
            "getMostRecentCheckpointTxId",
            "rollEditLog",
            "getBlockKeys",
            "isUpgradeFinalized",
            "isRollingUpgrade",
        ):
            ask.call(f"NamenodeProtocol {method}", NAMENODE, method, {})
        manifest = "getEditLogManifest"
        ask.call(f"NamenodeProtocol {manifest}", NAMENODE, manifest, {"sinceTxId": 1})
        self._as_a_datanode()

    def _as_a_datanode(self) -> None:
        """A node of our own making comes, says that it lives, and that it has nothing."""
        ask = self._ask
        version = ask.call("versionRequest", DATANODE, "versionRequest", {})
        info = version.info.storageInfo
        registration: dict[str, Any] = {
            "datanodeID": {
                "ipAddr": "127.0.0.1",
                "hostName": "localhost",
                "datanodeUuid": "11111111-2222-3333-4444-555555555555",
                "xferPort": 19866,
                "infoPort": 19864,
                "ipcPort": 19867,
            },
            "storageInfo": {
                "layoutVersion": 0xFFFFFFFF - 56,
                "namespceID": info.namespceID,
                "clusterID": info.clusterID,
                "cTime": info.cTime,
            },
            "keys": {
                "isBlockTokenEnabled": False,
                "keyUpdateInterval": 0,
                "tokenLifeTime": 0,
                "currentKey": {"keyId": 0, "expiryDate": 0},
            },
            "softwareVersion": version.info.softwareVersion,
        }
        registered = ask.call(
            "registerDatanode", DATANODE, "registerDatanode", {"registration": registration}
        ).registration
        storage = {"storageUuid": "DS-answers", "state": "NORMAL", "storageType": "DISK"}
        beat: Mapping[str, Any] = {
            "registration": registered,
            "reports": [{"storageUuid": "DS-answers", "capacity": 1, "storage": storage}],
        }
        ask.call("sendHeartbeat", DATANODE, "sendHeartbeat", beat)
        ask.call(
            "sendHeartbeat that wants to report",
            DATANODE,
            "sendHeartbeat",
            {**beat, "requestFullBlockReportLease": True},
        )
        pool = version.info.blockPoolID
        ask.call(
            "blockReport",
            DATANODE,
            "blockReport",
            {
                "registration": registered,
                "blockPoolId": pool,
                "reports": [{"storage": storage, "numberOfBlocks": 0, "blocksBuffers": [b""]}],
                "context": {"totalRpcs": 1, "curRpc": 0, "id": 1, "leaseId": 0},
            },
        )
        received = {"registration": registered, "blockPoolId": pool}
        ask.call("blockReceivedAndDeleted", DATANODE, "blockReceivedAndDeleted", received)
        ask.call(
            "errorReport",
            DATANODE,
            "errorReport",
            {"registartion": registered, "errorCode": 0, "msg": "nothing"},
        )
        stranger = {**registration, "datanodeID": {**registration["datanodeID"]}}
        stranger["datanodeID"]["datanodeUuid"] = "99999999-2222-3333-4444-555555555555"
        ask.call(
            "sendHeartbeat of a stranger", DATANODE, "sendHeartbeat", {"registration": stranger}
        )

    # --- small parts ---

    def _create(self, path: str, what: str = "") -> types_pb2.HdfsFileStatusProto:
        answer = self._do("create", what, **_created(path, 1024))
        status: types_pb2.HdfsFileStatusProto = answer.fs
        return status

    def _ask_quietly(self, method: str, fields: Mapping[str, Any]) -> Any:
        """A call that is repeated until it succeeds: how often is no fact."""
        request_type, answer_type = CLIENT.messages(method)
        header, body = self._ask.exchange(
            CLIENT.name, method, request_type(**fields), at=self._ask.namenode
        )
        assert header.status == rpc_pb2.RpcResponseHeaderProto.SUCCESS, header
        return answer_type.FromString(body)


def _created(path: str, block_size_bytes: int) -> dict[str, Any]:
    return {
        "src": path,
        "masked": {"perm": 0o644},
        "clientName": WRITER,
        "createFlag": 1,
        "createParent": True,
        "replication": 1,
        "blockSize": block_size_bytes,
    }


def _completed(path: str, last: types_pb2.ExtendedBlockProto, file_id: int) -> dict[str, Any]:
    return {"src": path, "clientName": WRITER, "last": last, "fileId": file_id}


def _negotiate(client_id: bytes) -> bytes:
    header = rpc_pb2.RpcRequestHeaderProto(
        rpcKind=rpc_pb2.RPC_PROTOCOL_BUFFER,
        rpcOp=rpc_pb2.RpcRequestHeaderProto.RPC_FINAL_PACKET,
        callId=wire.CALL_ID_SASL,
        clientId=client_id,
        retryCount=-1,
    )
    message = rpc_pb2.RpcSaslProto(state=rpc_pb2.RpcSaslProto.NEGOTIATE)
    return wire.frame(wire.delimited(header), wire.delimited(message))


def _port_of_nobody() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
