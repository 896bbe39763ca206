"""Hadoop's JSON as messages of ClientProtocol: `json_values` the other way round (pure).

What a server says is checked here: what has not the form that it must have raises
ProtocolViolation. Fields that older servers leave out get the protocol's defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.web.webhdfs.json_values import Json, decoded
from howdah.web.webhdfs.names import acl_entries, xattr_named

_MASK: Final = (1 << 64) - 1
_TYPES: Final = {
    "DIRECTORY": types_pb2.HdfsFileStatusProto.IS_DIR,
    "FILE": types_pb2.HdfsFileStatusProto.IS_FILE,
    "SYMLINK": types_pb2.HdfsFileStatusProto.IS_SYMLINK,
}
_FLAGS: Final = {
    "aclBit": types_pb2.HdfsFileStatusProto.HAS_ACL,
    "encBit": types_pb2.HdfsFileStatusProto.HAS_CRYPT,
    "ecBit": types_pb2.HdfsFileStatusProto.HAS_EC,
    "snapshotEnabled": types_pb2.HdfsFileStatusProto.SNAPSHOT_ENABLED,
}
_LABELS: Final = {"CREATE": "+", "MODIFY": "M", "DELETE": "-", "RENAME": "R"}
_POOL_DEFAULT: Final = "/default-rack"


def loaded(body: bytes) -> Any:
    """The JSON of an answer; None where there is none. Raises ProtocolViolation."""
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.ProtocolViolation(f"an answer of WebHDFS is no JSON: {error}") from error


def response(method: str, told: Any) -> Message:
    """What the call `method` returns, out of what the operation for it answers. Raises
    ProtocolViolation."""
    try:
        return ANSWERS[method](told)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise errors.ProtocolViolation(
            f"the answer of WebHDFS to {method} is not as it must be: {error!r}"
        ) from error


def remote_error(status: int, body: bytes, what: str) -> errors.HowdahError:
    """The exception that an answer with an error stands for; `what` was asked."""
    try:
        told = json.loads(body)["RemoteException"]
        name = told.get("javaClassName") or told["exception"]
        message = str(told.get("message") or "").partition("\n\tat ")[0].rstrip()
        return errors.from_java(str(name), message)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        text = body[:200].decode("utf-8", "replace").strip()
        said = "" if not text or text.startswith("<") else f" {text}"
        reason = f"{what}: HTTP status {status}{said}"
        if status == 404:
            return errors.PathNotFound(reason)
        if status in (401, 403):
            return errors.AuthorizationFailed(reason)
        return errors.RetriableError(reason) if status == 503 else errors.RemoteError(reason)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def file_status(told: Json) -> types_pb2.HdfsFileStatusProto:
    link = told.get("symlink")
    return types_pb2.HdfsFileStatusProto(
        fileType=_TYPES[told["type"]],
        path=_bytes(told.get("pathSuffix", "")),
        length=told["length"],
        permission=types_pb2.FsPermissionProto(perm=int(told["permission"], 8)),
        owner=told["owner"],
        group=told["group"],
        # Before 1970 they are negative, and the fields have no sign.
        modification_time=told["modificationTime"] & _MASK,
        access_time=told["accessTime"] & _MASK,
        symlink=None if link is None else _bytes(link),
        block_replication=told["replication"],
        blocksize=told["blockSize"],
        fileId=told.get("fileId", 0),
        childrenNum=told.get("childrenNum", -1),
        storagePolicy=told.get("storagePolicy", 0),
        flags=sum(flag for name, flag in _FLAGS.items() if told.get(name)),
    )


def _listing(told: Any) -> Message:
    found = told["DirectoryListing"]
    entries = found["partialListing"]["FileStatuses"]["FileStatus"]
    return pb.GetListingResponseProto(
        dirList=types_pb2.DirectoryListingProto(
            partialListing=map(file_status, entries), remainingEntries=found["remainingEntries"]
        )
    )


def _type_quotas(told: Json) -> types_pb2.StorageTypeQuotaInfosProto | None:
    return types_pb2.StorageTypeQuotaInfosProto(
        typeQuotaInfo=[
            types_pb2.StorageTypeQuotaInfoProto(
                type=kind, quota=each["quota"] & _MASK, consumed=each["consumed"]
            )
            for kind, each in (told.get("typeQuota") or {}).items()
        ]
    )


def _content_summary(told: Any) -> Message:
    found = told["ContentSummary"]
    return pb.GetContentSummaryResponseProto(
        summary=types_pb2.ContentSummaryProto(
            length=found["length"],
            fileCount=found["fileCount"],
            directoryCount=found["directoryCount"],
            quota=found["quota"] & _MASK,
            spaceConsumed=found["spaceConsumed"],
            spaceQuota=found["spaceQuota"] & _MASK,
            typeQuotaInfos=_type_quotas(found),
            snapshotLength=found.get("snapshotLength", 0),
            snapshotFileCount=found.get("snapshotFileCount", 0),
            snapshotDirectoryCount=found.get("snapshotDirectoryCount", 0),
            snapshotSpaceConsumed=found.get("snapshotSpaceConsumed", 0),
            erasureCodingPolicy=found.get("ecPolicy", ""),
        )
    )


def _quota_usage(told: Any) -> Message:
    found = told["QuotaUsage"]
    return pb.GetQuotaUsageResponseProto(
        usage=types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=found["fileAndDirectoryCount"],
            quota=found["quota"] & _MASK,
            spaceConsumed=found["spaceConsumed"],
            spaceQuota=found["spaceQuota"] & _MASK,
            typeQuotaInfos=_type_quotas(found),
        )
    )


# Blocks.


def _types(names: list[str]) -> types_pb2.StorageTypesProto:
    # Protobuf takes names for numbers.
    return types_pb2.StorageTypesProto(storageTypes=names)


def _datanode(told: Json) -> types_pb2.DatanodeInfoProto:
    return types_pb2.DatanodeInfoProto(
        id=types_pb2.DatanodeIDProto(
            ipAddr=told["ipAddr"],
            hostName=told["hostName"],
            datanodeUuid=told["storageID"],
            xferPort=told["xferPort"],
            infoPort=told["infoPort"],
            ipcPort=told["ipcPort"],
            infoSecurePort=told.get("infoSecurePort", 0),
        ),
        capacity=told.get("capacity", 0),
        remaining=told.get("remaining", 0),
        location=told.get("networkLocation", _POOL_DEFAULT),
        adminState=told.get("adminState", "NORMAL"),
    )


def _block(told: Json) -> types_pb2.LocatedBlockProto:
    block = told["block"]
    nodes = [_datanode(each) for each in told["locations"]]
    cached = {each["storageID"] for each in told.get("cachedLocations", ())}
    return types_pb2.LocatedBlockProto(
        b=types_pb2.ExtendedBlockProto(
            poolId=block["blockPoolId"],
            blockId=block["blockId"] & _MASK,
            generationStamp=block["generationStamp"],
            numBytes=block["numBytes"],
        ),
        offset=told["startOffset"],
        locs=nodes,
        corrupt=told["isCorrupt"],
        blockToken=rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service=""),
        isCached=[node.id.datanodeUuid in cached for node in nodes],
        storageTypes=_types(told.get("storageTypes") or []).storageTypes,
    )


def _located_blocks(told: Any) -> Message:
    found = told["LocatedBlocks"]
    last = found.get("lastLocatedBlock")
    return pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=found["fileLength"],
            blocks=map(_block, found["locatedBlocks"]),
            underConstruction=found["isUnderConstruction"],
            lastBlock=None if last is None else _block(last),
            isLastBlockComplete=found["isLastBlockComplete"],
        )
    )


# ACLs, attributes, policies.


def _acl_status(told: Any) -> Message:
    found = told["AclStatus"]
    entries = acl_entries(",".join(found["entries"]), with_permissions=True)
    return types_pb2.GetAclStatusResponseProto(
        result=types_pb2.AclStatusProto(
            owner=found["owner"],
            group=found["group"],
            sticky=found["stickyBit"],
            entries=entries,
            permission=types_pb2.FsPermissionProto(perm=int(found.get("permission", "0"), 8)),
        )
    )


def _xattrs(told: Any) -> Message:
    return types_pb2.GetXAttrsResponseProto(
        xAttrs=[
            xattr_named(each["name"], decoded(each.get("value") or "")) for each in told["XAttrs"]
        ]
    )


def _xattr_names(told: Any) -> Message:
    names = json.loads(told["XAttrNames"])
    return types_pb2.ListXAttrsResponseProto(xAttrs=[xattr_named(name) for name in names])


def _policy(told: Json) -> types_pb2.BlockStoragePolicyProto:
    def types(name: str) -> types_pb2.StorageTypesProto:
        return _types(told.get(name) or [])

    return types_pb2.BlockStoragePolicyProto(
        policyId=told["id"],
        name=told["name"],
        creationPolicy=types("storageTypes"),
        creationFallbackPolicy=types("creationFallbacks"),
        replicationFallbackPolicy=types("replicationFallbacks"),
    )


def _policies(told: Any) -> Message:
    found = told["BlockStoragePolicies"]["BlockStoragePolicy"]
    return pb.GetStoragePoliciesResponseProto(policies=map(_policy, found))


def _server_defaults(told: Any) -> Message:
    found = told["FsServerDefaults"]
    return pb.GetServerDefaultsResponseProto(
        serverDefaults=types_pb2.FsServerDefaultsProto(
            blockSize=found["blockSize"],
            bytesPerChecksum=found["bytesPerChecksum"],
            writePacketSize=found["writePacketSize"],
            replication=found["replication"],
            fileBufferSize=found["fileBufferSize"],
            encryptDataTransfer=found.get("encryptDataTransfer", False),
            trashInterval=found.get("trashInterval", 0),
            checksumType=found.get("checksumType", 2),
            keyProviderUri=found.get("keyProviderUri") or "",
            policyId=found.get("defaultStoragePolicyId", 0),
        )
    )


def _fs_stats(told: Any) -> Message:
    found = told["FsStatus"]
    return pb.GetFsStatsResponseProto(
        capacity=found["capacity"],
        used=found["used"],
        remaining=found["remaining"],
        under_replicated=0,
        corrupt_blocks=0,
        missing_blocks=0,
    )


# Snapshots.


def _snapshottable(told: Any) -> Message:
    found = told["SnapshottableDirectoryList"]
    if found is None:
        return pb.GetSnapshottableDirListingResponseProto()
    return pb.GetSnapshottableDirListingResponseProto(
        snapshottableDirList=types_pb2.SnapshottableDirectoryListingProto(
            snapshottableDirListing=[
                types_pb2.SnapshottableDirectoryStatusProto(
                    dirStatus=file_status(each["dirStatus"]),
                    snapshot_quota=each["snapshotQuota"],
                    snapshot_number=each["snapshotNumber"],
                    parent_fullpath=_bytes(each["parentFullPath"]),
                )
                for each in found
            ]
        )
    )


def _snapshots(told: Any) -> Message:
    def one(each: Json) -> types_pb2.SnapshotStatusProto:
        return types_pb2.SnapshotStatusProto(
            dirStatus=file_status(each["dirStatus"]),
            snapshotID=each["snapshotID"],
            parent_fullpath=_bytes(each["fullPath"].rpartition("/.snapshot/")[0] or "/"),
            isDeleted=each.get("deletionStatus") == "DELETED",
        )

    listing = types_pb2.SnapshotListingProto(snapshotListing=map(one, told["SnapshotList"] or ()))
    return pb.GetSnapshotListingResponseProto(snapshotList=listing)


def _snapshot_diff(told: Any) -> Message:
    found = told["SnapshotDiffReport"]
    return pb.GetSnapshotDiffReportResponseProto(
        diffReport=types_pb2.SnapshotDiffReportProto(
            snapshotRoot=found["snapshotRoot"],
            fromSnapshot=found["fromSnapshot"] or "",
            toSnapshot=found["toSnapshot"] or "",
            diffReportEntries=[
                types_pb2.SnapshotDiffReportEntryProto(
                    fullpath=_bytes(each["sourcePath"]),
                    modificationLabel=_LABELS[each["type"]],
                    targetPath=_bytes(each["targetPath"]) if each.get("targetPath") else None,
                )
                for each in found["diffList"]
            ],
        )
    )


def _snapshot_diff_listing(told: Any) -> Message:
    found = told["SnapshotDiffReportListing"]

    def entries(name: str) -> list[types_pb2.SnapshotDiffReportListingEntryProto]:
        return [
            types_pb2.SnapshotDiffReportListingEntryProto(
                fullpath=_bytes(each["sourcePath"]),
                dirId=each["dirId"],
                isReference=each["isReference"],
                targetPath=_bytes(each["targetPath"]) if each.get("targetPath") else None,
                fileId=each.get("fileId"),
            )
            for each in found[name]
        ]

    return pb.GetSnapshotDiffReportListingResponseProto(
        diffReport=types_pb2.SnapshotDiffReportListingProto(
            modifiedEntries=entries("modifyList"),
            createdEntries=entries("createList"),
            deletedEntries=entries("deleteList"),
            isFromEarlier=found["isFromEarlier"],
            cursor=types_pb2.SnapshotDiffReportCursorProto(
                startPath=_bytes(found["lastPath"]), index=found["lastIndex"]
            ),
        )
    )


def _result(response_type: Callable[..., Message]) -> Callable[[Any], Message]:
    """Of what answers yes or no."""
    return lambda told: response_type(result=told["boolean"])


def _nothing(response_type: Callable[..., Message]) -> Callable[[Any], Message]:
    return lambda told: response_type()


ANSWERS: Final[Mapping[str, Callable[[Any], Message]]] = {
    "allowSnapshot": _nothing(pb.AllowSnapshotResponseProto),
    "checkAccess": _nothing(pb.CheckAccessResponseProto),
    "concat": _nothing(pb.ConcatResponseProto),
    "createSnapshot": lambda told: pb.CreateSnapshotResponseProto(snapshotPath=told["Path"]),
    "createSymlink": _nothing(pb.CreateSymlinkResponseProto),
    "delete": _result(pb.DeleteResponseProto),
    "deleteSnapshot": _nothing(pb.DeleteSnapshotResponseProto),
    "disallowSnapshot": _nothing(pb.DisallowSnapshotResponseProto),
    "getAclStatus": _acl_status,
    "getBlockLocations": _located_blocks,
    "getContentSummary": _content_summary,
    "getFileInfo": lambda told: pb.GetFileInfoResponseProto(fs=file_status(told["FileStatus"])),
    "getFileLinkInfo": lambda told: pb.GetFileLinkInfoResponseProto(
        fs=file_status(told["FileStatus"])
    ),
    "getFsStats": _fs_stats,
    "getLinkTarget": lambda told: pb.GetLinkTargetResponseProto(targetPath=told["Path"]),
    "getListing": _listing,
    "getQuotaUsage": _quota_usage,
    "getServerDefaults": _server_defaults,
    "getSnapshotDiffReport": _snapshot_diff,
    "getSnapshotDiffReportListing": _snapshot_diff_listing,
    "getSnapshotListing": _snapshots,
    "getSnapshottableDirListing": _snapshottable,
    "getStoragePolicies": _policies,
    "getStoragePolicy": lambda told: pb.GetStoragePolicyResponseProto(
        storagePolicy=_policy(told["BlockStoragePolicy"])
    ),
    "getXAttrs": _xattrs,
    "listXAttrs": _xattr_names,
    "mkdirs": _result(pb.MkdirsResponseProto),
    "modifyAclEntries": _nothing(types_pb2.ModifyAclEntriesResponseProto),
    "removeAcl": _nothing(types_pb2.RemoveAclResponseProto),
    "removeAclEntries": _nothing(types_pb2.RemoveAclEntriesResponseProto),
    "removeDefaultAcl": _nothing(types_pb2.RemoveDefaultAclResponseProto),
    "removeXAttr": _nothing(types_pb2.RemoveXAttrResponseProto),
    "rename": _result(pb.RenameResponseProto),
    "rename2": _nothing(pb.Rename2ResponseProto),
    "renameSnapshot": _nothing(pb.RenameSnapshotResponseProto),
    "satisfyStoragePolicy": _nothing(pb.SatisfyStoragePolicyResponseProto),
    "setAcl": _nothing(types_pb2.SetAclResponseProto),
    "setOwner": _nothing(pb.SetOwnerResponseProto),
    "setPermission": _nothing(pb.SetPermissionResponseProto),
    "setQuota": _nothing(pb.SetQuotaResponseProto),
    "setReplication": _result(pb.SetReplicationResponseProto),
    "setStoragePolicy": _nothing(pb.SetStoragePolicyResponseProto),
    "setTimes": _nothing(pb.SetTimesResponseProto),
    "setXAttr": _nothing(types_pb2.SetXAttrResponseProto),
    "truncate": _result(pb.TruncateResponseProto),
    "unsetStoragePolicy": _nothing(pb.UnsetStoragePolicyResponseProto),
}
ABSENT: Final[Mapping[str, Callable[[], Message]]] = {
    "getFileInfo": pb.GetFileInfoResponseProto,
    "getFileLinkInfo": pb.GetFileLinkInfoResponseProto,
    "getListing": pb.GetListingResponseProto,
}
"""What these calls return where WebHDFS says that there is no such file."""
