"""Messages of ClientProtocol as Hadoop's JSON: JsonUtil (pure). Field names and types are
Hadoop's; what is a Java long there is a signed number here."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, Final

from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.protocol.striping.messages import policy_from_proto
from howdah.protocol.striping.policies import SYSTEM_POLICIES

Json = dict[str, Any]

_TYPES: Final = {1: "DIRECTORY", 2: "FILE", 3: "SYMLINK"}
_DIFF_TYPES: Final = {"+": "CREATE", "M": "MODIFY", "-": "DELETE", "R": "RENAME"}
_RAM_DISK: Final = "RAM_DISK"
_TEXT, _HEX = "TEXT", "HEX"


def dumped(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def signed(value: int) -> int:
    """Java's long in an unsigned field."""
    return value - (1 << 64) if value >> 63 else value


def _name(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def file_status(status: types_pb2.HdfsFileStatusProto) -> Json:
    flags = status.flags
    shown: Json = {
        "accessTime": signed(status.access_time),
        "blockSize": status.blocksize,
        "childrenNum": max(status.childrenNum, 0),
        "fileId": status.fileId,
        "group": status.group,
        "length": status.length,
        "modificationTime": signed(status.modification_time),
        "owner": status.owner,
        "pathSuffix": _name(status.path),
        "permission": f"{status.permission.perm & 0o1777:o}",
        "replication": status.block_replication,
        "storagePolicy": status.storagePolicy,
        "type": _TYPES[status.fileType],
    }
    if flags & types_pb2.HdfsFileStatusProto.HAS_ACL:
        shown["aclBit"] = True
    if flags & types_pb2.HdfsFileStatusProto.HAS_CRYPT:
        shown["encBit"] = True
    if flags & types_pb2.HdfsFileStatusProto.HAS_EC and status.HasField("ecPolicy"):
        policy = policy_from_proto(status.ecPolicy)
        shown["ecBit"] = True
        shown["ecPolicy"] = policy.name
        shown["ecPolicyObj"] = {
            "name": policy.name,
            "cellSize": policy.cell_bytes,
            "numDataUnits": policy.schema.data_units,
            "numParityUnits": policy.schema.parity_units,
            "codecName": policy.schema.codec,
            "id": policy.policy_id,
            "extraOptions": dict(policy.schema.options),
        }
    if flags & types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED:
        shown["snapshotEnabled"] = True
    if status.HasField("symlink") and status.symlink:
        shown["symlink"] = _name(status.symlink)
    return shown


def coding_policy(proto: types_pb2.ErasureCodingPolicyProto) -> Json:
    """An erasure coding policy as Java's class is written out."""
    policy = policy_from_proto(proto)
    schema = policy.schema
    return {
        "name": policy.name,
        "schema": {
            "codecName": schema.codec,
            "numDataUnits": schema.data_units,
            "numParityUnits": schema.parity_units,
            "extraOptions": dict(schema.options),
        },
        "cellSize": policy.cell_bytes,
        "id": policy.policy_id,
        "codecName": schema.codec,
        "numDataUnits": schema.data_units,
        "numParityUnits": schema.parity_units,
        "replicationPolicy": False,
        "systemPolicy": policy.policy_id in SYSTEM_POLICIES,
    }


def coding_policy_info(proto: types_pb2.ErasureCodingPolicyProto) -> Json:
    """The same with its state."""
    state = types_pb2.ErasureCodingPolicyState.Name(proto.state)
    return {"policy": coding_policy(proto), "state": state}


def listing(page: types_pb2.DirectoryListingProto) -> Json:
    return {
        "DirectoryListing": {
            "partialListing": {
                "FileStatuses": {"FileStatus": [file_status(s) for s in page.partialListing]}
            },
            "remainingEntries": page.remainingEntries,
        }
    }


def content_summary(summary: types_pb2.ContentSummaryProto) -> Json:
    return {
        "ContentSummary": {
            "length": summary.length,
            "fileCount": summary.fileCount,
            "directoryCount": summary.directoryCount,
            "ecPolicy": summary.erasureCodingPolicy,
            "quota": signed(summary.quota),
            "spaceConsumed": summary.spaceConsumed,
            "spaceQuota": signed(summary.spaceQuota),
            "typeQuota": _type_quota(summary.typeQuotaInfos),
            "snapshotLength": summary.snapshotLength,
            "snapshotFileCount": summary.snapshotFileCount,
            "snapshotDirectoryCount": summary.snapshotDirectoryCount,
            "snapshotSpaceConsumed": summary.snapshotSpaceConsumed,
        }
    }


def quota_usage(usage: types_pb2.QuotaUsageProto) -> Json:
    return {
        "QuotaUsage": {
            "fileAndDirectoryCount": usage.fileAndDirectoryCount,
            "quota": signed(usage.quota),
            "spaceConsumed": usage.spaceConsumed,
            "spaceQuota": signed(usage.spaceQuota),
            "typeQuota": _type_quota(usage.typeQuotaInfos),
        }
    }


def _type_quota(infos: types_pb2.StorageTypeQuotaInfosProto) -> Json:
    return {
        types_pb2.StorageTypeProto.Name(info.type): {
            "consumed": info.consumed,
            "quota": signed(info.quota),
        }
        for info in infos.typeQuotaInfo
        if signed(info.quota) != -1
    }


def _datanode(node: types_pb2.DatanodeInfoProto) -> Json:
    shown: Json = {
        "ipAddr": node.id.ipAddr,
        "name": f"{node.id.ipAddr}:{node.id.xferPort}",
        "hostName": node.id.hostName,
        "storageID": node.id.datanodeUuid,
        "xferPort": node.id.xferPort,
        "infoPort": node.id.infoPort,
        "infoSecurePort": node.id.infoSecurePort,
        "ipcPort": node.id.ipcPort,
        "capacity": node.capacity,
        "dfsUsed": node.dfsUsed,
        "remaining": node.remaining,
        "blockPoolUsed": node.blockPoolUsed,
        "cacheCapacity": node.cacheCapacity,
        "cacheUsed": node.cacheUsed,
        "lastUpdate": node.lastUpdate,
        "lastUpdateMonotonic": node.lastUpdateMonotonic,
        "xceiverCount": node.xceiverCount,
        "networkLocation": node.location or "/default-rack",
        "adminState": types_pb2.DatanodeInfoProto.AdminState.Name(node.adminState),
        "lastBlockReportTime": node.lastBlockReportTime,
        "lastBlockReportMonotonic": node.lastBlockReportMonotonic,
    }
    if node.upgradeDomain:
        shown["upgradeDomain"] = node.upgradeDomain
    return shown


def _kinds(kinds: Iterable[types_pb2.StorageTypeProto]) -> list[str]:
    return [types_pb2.StorageTypeProto.Name(kind) for kind in kinds]


def _cached(block: types_pb2.LocatedBlockProto) -> list[types_pb2.DatanodeInfoProto]:
    return [n for n, cached in zip(block.locs, block.isCached, strict=False) if cached]


def _token(token: Any) -> Json:
    """As Hadoop writes tokens into addresses: lengths and fields, in base64 without padding."""
    parts = b"".join(
        _vint(len(part)) + part
        for part in (
            token.identifier,
            token.password,
            token.kind.encode(),
            token.service.encode(),
        )
    )
    return {"urlString": base64.urlsafe_b64encode(parts).rstrip(b"=").decode()}


def _vint(value: int) -> bytes:
    """Hadoop's WritableUtils, for lengths."""
    if value <= 127:
        return bytes([value])
    data = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([256 - 112 - len(data)]) + data


def _block(block: types_pb2.LocatedBlockProto) -> Json:
    return {
        "blockToken": _token(block.blockToken),
        "isCorrupt": block.corrupt,
        "startOffset": block.offset,
        "block": {
            "blockPoolId": block.b.poolId,
            "blockId": signed(block.b.blockId),
            "numBytes": block.b.numBytes,
            "generationStamp": block.b.generationStamp,
        },
        "storageTypes": _kinds(block.storageTypes),
        "locations": [_datanode(node) for node in block.locs],
        "cachedLocations": [_datanode(node) for node in _cached(block)],
    }


def located_blocks(located: types_pb2.LocatedBlocksProto) -> Json:
    last = located.lastBlock if located.HasField("lastBlock") else None
    return {
        "LocatedBlocks": {
            "fileLength": located.fileLength,
            "isUnderConstruction": located.underConstruction,
            "locatedBlocks": [_block(block) for block in located.blocks],
            "lastLocatedBlock": None if last is None else _block(last),
            "isLastBlockComplete": located.isLastBlockComplete,
        }
    }


def block_locations(located: types_pb2.LocatedBlocksProto) -> Json:
    def block_json(block: types_pb2.LocatedBlockProto) -> Json:
        names = [f"{node.id.ipAddr}:{node.id.xferPort}" for node in block.locs]
        racks = [(node.location or "/default-rack").rstrip("/") for node in block.locs]
        return {
            "length": block.b.numBytes,
            "offset": block.offset,
            "corrupt": block.corrupt,
            "storageTypes": _kinds(block.storageTypes),
            "cachedHosts": [node.id.hostName for node in _cached(block)],
            "hosts": [node.id.hostName for node in block.locs],
            "names": names,
            "topologyPaths": [f"{r}/{n}" for r, n in zip(racks, names, strict=True)],
        }

    return {"BlockLocations": {"BlockLocation": [block_json(block) for block in located.blocks]}}


def acl_status(status: types_pb2.AclStatusProto) -> Json:
    return {
        "AclStatus": {
            "owner": status.owner,
            "group": status.group,
            "stickyBit": status.sticky,
            "entries": [acl_entry(entry) for entry in status.entries],
            "permission": f"{status.permission.perm & 0o1777:o}",
        }
    }


def acl_entry(entry: types_pb2.AclEntryProto) -> str:
    letters = "".join(
        letter if entry.permissions & bit else "-"
        for letter, bit in zip("rwx", (4, 2, 1), strict=True)
    )
    scope = "default:" if entry.scope == types_pb2.AclEntryProto.DEFAULT else ""
    kind = types_pb2.AclEntryProto.AclEntryTypeProto.Name(entry.type).lower()
    return f"{scope}{kind}:{entry.name}:{letters}"


def xattr_name(xattr: types_pb2.XAttrProto) -> str:
    space = types_pb2.XAttrProto.XAttrNamespaceProto.Name(xattr.namespace).lower()
    return f"{space}.{xattr.name}"


def xattrs(attributes: Iterable[types_pb2.XAttrProto], encoding: str) -> Json:
    return {
        "XAttrs": [
            {"name": xattr_name(one), "value": _encoded(one.value, encoding) if one.value else None}
            for one in attributes
        ]
    }


def _encoded(value: bytes, encoding: str) -> str:
    """As Hadoop's XAttrCodec."""
    if encoding == _TEXT:
        return '"' + value.decode("utf-8", "replace") + '"'
    if encoding == _HEX:
        return "0x" + value.hex()
    return "0s" + base64.b64encode(value).decode()


def decoded(value: str) -> bytes:
    """The reverse: quoted text, `0x` and hexadecimal digits, `0s` and base64, or plain text.
    Raises ValueError."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].encode()
    if value[:2].lower() == "0x":
        return bytes.fromhex(value[2:])
    if value[:2].lower() == "0s":
        return base64.b64decode(value[2:], validate=True)
    return value.encode()


def storage_policy(policy: types_pb2.BlockStoragePolicyProto) -> Json:
    return {
        "id": policy.policyId,
        "name": policy.name,
        "storageTypes": _kinds(policy.creationPolicy.storageTypes),
        "creationFallbacks": _kinds(policy.creationFallbackPolicy.storageTypes),
        "replicationFallbacks": _kinds(policy.replicationFallbackPolicy.storageTypes),
        # Hadoop's policy for memory is the one that is not inherited by copies.
        "copyOnCreateFile": _kinds(policy.creationPolicy.storageTypes)[:1] == [_RAM_DISK],
    }


def server_defaults(defaults: types_pb2.FsServerDefaultsProto) -> Json:
    return {
        "FsServerDefaults": {
            "blockSize": defaults.blockSize,
            "bytesPerChecksum": defaults.bytesPerChecksum,
            "writePacketSize": defaults.writePacketSize,
            "replication": defaults.replication,
            "fileBufferSize": defaults.fileBufferSize,
            "encryptDataTransfer": defaults.encryptDataTransfer,
            "trashInterval": defaults.trashInterval,
            "checksumType": int(defaults.checksumType),
            "keyProviderUri": defaults.keyProviderUri,
            "defaultStoragePolicyId": defaults.policyId,
        }
    }


def snapshot_diff(report: types_pb2.SnapshotDiffReportProto) -> Json:
    def entry(one: types_pb2.SnapshotDiffReportEntryProto) -> Json:
        shown = {
            "type": _DIFF_TYPES[one.modificationLabel],
            "sourcePath": _name(one.fullpath),
        }
        if one.targetPath:
            shown["targetPath"] = _name(one.targetPath)
        return shown

    unnamed = "" if report.fromSnapshot or report.toSnapshot else None
    return {
        "SnapshotDiffReport": {
            "snapshotRoot": report.snapshotRoot,
            "fromSnapshot": report.fromSnapshot or unnamed,
            "toSnapshot": report.toSnapshot or unnamed,
            "diffList": [entry(one) for one in report.diffReportEntries],
        }
    }


def snapshot_diff_listing(report: types_pb2.SnapshotDiffReportListingProto) -> Json:
    def entry(one: types_pb2.SnapshotDiffReportListingEntryProto) -> Json:
        shown: Json = {
            "dirId": one.dirId,
            "fileId": one.fileId,
            "sourcePath": _name(one.fullpath),
            "isReference": one.isReference,
        }
        if one.targetPath:
            shown["targetPath"] = _name(one.targetPath)
        return shown

    more = report.HasField("cursor")
    return {
        "SnapshotDiffReportListing": {
            "lastPath": _name(report.cursor.startPath) if more else "",
            "lastIndex": report.cursor.index if more else -1,
            "isFromEarlier": report.isFromEarlier,
            "modifyList": [entry(one) for one in report.modifiedEntries],
            "createList": [entry(one) for one in report.createdEntries],
            "deleteList": [entry(one) for one in report.deletedEntries],
        }
    }


def snapshottable(answer: pb.GetSnapshottableDirListingResponseProto) -> Json:
    # Where there is none, Hadoop says null.
    if not answer.HasField("snapshottableDirList"):
        return {"SnapshottableDirectoryList": None}
    return {
        "SnapshottableDirectoryList": [
            {
                "snapshotNumber": one.snapshot_number,
                "snapshotQuota": one.snapshot_quota,
                "parentFullPath": _name(one.parent_fullpath),
                "dirStatus": file_status(one.dirStatus),
            }
            for one in answer.snapshottableDirList.snapshottableDirListing
        ]
    }


def snapshots(page: types_pb2.SnapshotListingProto) -> Json:
    def snapshot_json(one: types_pb2.SnapshotStatusProto) -> Json:
        above = _name(one.parent_fullpath)
        parent = above.rstrip("/")
        return {
            "snapshotID": one.snapshotID,
            "deletionStatus": "DELETED" if one.isDeleted else "ACTIVE",
            "fullPath": f"{parent}/.snapshot/{_name(one.dirStatus.path)}",
            "dirStatus": file_status(one.dirStatus),
        }

    return {"SnapshotList": [snapshot_json(one) for one in page.snapshotListing]}


def trash_root(path: str, status: types_pb2.HdfsFileStatusProto) -> Json:
    """Of GETTRASHROOTS, which has names of its own."""
    return {
        "path": path,
        "length": status.length,
        "isdir": status.fileType == types_pb2.HdfsFileStatusProto.IS_DIR,
        "block_replication": status.block_replication,
        "blocksize": status.blocksize,
        "modification_time": signed(status.modification_time),
        "access_time": signed(status.access_time),
        "permission": f"{status.permission.perm & 0o1777:o}",
        "owner": status.owner,
        "group": status.group,
    }
