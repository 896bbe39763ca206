"""The requests that both servers are sent, in order.

One namenode with one datanode, new and empty, its smallest block 512 bytes. Most of
ClientProtocol is asked once where it succeeds and, where the refusal has a form of its
own, once where it fails; then the datanode's two ports; then the other protocols of
the namenode.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, Final

from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.protocol.data_transfer.packets import HEARTBEAT, encode_packet
from howdah.protocol.rpc import wire
from howdah.protocol.varint import delimited
from tests.support.answers.asking import CLIENT, HA, MAPPINGS, NAMENODE, Asking, read_frame
from tests.support.answers.at_datanodes import DATA, WRITER, AtDatanodes, created
from tests.support.answers.facts import Facts
from tests.support.answers.unprivileged import ask_unprivileged

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


class _Conversation(AtDatanodes):
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
        self._send(connection, "a packet", 0, 0, DATA[:512])
        connection.send_all(encode_packet(HEARTBEAT))
        self._ack(connection, "a heartbeat")
        do("fsync", src="/a/f", client=WRITER, lastBlockLength=512, fileId=file.fileId)
        do("getBlockLocations", "of an open file", src="/a/f", offset=0, length=1 << 30)
        self._at_dn("getReplicaVisibleLength", block=block.b)
        self._send(connection, "a second packet", 1, 512, DATA[512:])
        self._send(connection, "the last packet", 2, len(DATA), b"", last=True)
        connection.close()
        block.b.numBytes = len(DATA)
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
        do("create", "of blocks of an odd size", **created("/a/odd", 1000))
        do("create", "of blocks below the minimum", **created("/a/small", 511))
        do("concat", "without sources", trg="/a/f", srcs=[])
        do("delete", src="/a/nowhere", recursive=False)

    def _features(self) -> None:
        """What a client asks of features that a filesystem may not have."""
        do = self._do
        do("getEZForPath", src="/a")
        do("listEncryptionZones", id=0)
        do("listReencryptionStatus", id=0)
        start = "START_REENCRYPT"
        do("reencryptEncryptionZone", "without key servers", action=start, zone="/a")
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

    # --- what others ask the namenode ---

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

    # --- small parts ---

    def _ask_quietly(self, method: str, fields: Mapping[str, Any]) -> Any:
        """A call that is repeated until it succeeds: how often is no fact."""
        request_type, answer_type = CLIENT.messages(method)
        header, body = self._ask.exchange(
            CLIENT.name, method, request_type(**fields), at=self._ask.namenode
        )
        assert header.status == rpc_pb2.RpcResponseHeaderProto.SUCCESS, header
        return answer_type.FromString(body)


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
    return wire.frame(delimited(header), delimited(message))
