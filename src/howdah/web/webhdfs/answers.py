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
from howdah.formats.tokens.token import Token
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.striping.messages import PolicyState, policy_to_proto
from howdah.protocol.striping.policies import Policy, Schema
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
_FROM_LOGIN: Final = "Failed to obtain user group information: "
"""In front of the exception that a token was refused with."""
_STANDBY: Final = "StandbyException"
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


def response(method: str, answer: Any) -> Message:
    """Return what the call `method` returns, from what the operation for it answers. Raises
    ProtocolViolation."""
    try:
        return ANSWERS[method](answer)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise errors.ProtocolViolation(
            f"the answer of WebHDFS to {method} is not as it must be: {error!r}"
        ) from error


def remote_error(status: int, body: bytes, operation: str) -> errors.HowdahError:
    """Return the exception that an answer with an error stands for; `operation` was asked for."""
    try:
        exception = json.loads(body)["RemoteException"]
        name = exception.get("javaClassName") or exception["exception"]
        message = str(exception.get("message") or "").partition("\n\tat ")[0].rstrip()
        if message.startswith(_FROM_LOGIN):
            name, _, message = message.removeprefix(_FROM_LOGIN).partition(": ")
            if message == _STANDBY:
                # Which knows no tokens for sure.
                return errors.StandbyError("the namenode stands by")
        return errors.from_java(str(name), message)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        text = body[:200].decode("utf-8", "replace").strip()
        said = "" if not text or text.startswith("<") else f" {text}"
        reason = f"{operation}: HTTP status {status}{said}"
        if status == 404:
            return errors.PathNotFound(reason)
        if status in (401, 403):
            return errors.AuthorizationFailed(reason)
        return errors.RetriableError(reason) if status == 503 else errors.RemoteError(reason)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def file_status(status: Json) -> types_pb2.HdfsFileStatusProto:
    link = status.get("symlink")
    return types_pb2.HdfsFileStatusProto(
        fileType=_TYPES[status["type"]],
        path=_bytes(status.get("pathSuffix", "")),
        length=status["length"],
        permission=types_pb2.FsPermissionProto(perm=int(status["permission"], 8)),
        owner=status["owner"],
        group=status["group"],
        # Before 1970 they are negative, and the fields have no sign.
        modification_time=status["modificationTime"] & _MASK,
        access_time=status["accessTime"] & _MASK,
        symlink=None if link is None else _bytes(link),
        block_replication=status["replication"],
        blocksize=status["blockSize"],
        fileId=status.get("fileId", 0),
        childrenNum=status.get("childrenNum", -1),
        storagePolicy=status.get("storagePolicy", 0),
        flags=sum(flag for name, flag in _FLAGS.items() if status.get(name)),
        ecPolicy=_policy_of_status(status),
    )


def _policy_of_status(status: Json) -> types_pb2.ErasureCodingPolicyProto | None:
    """The policy of a status; None of servers that show its name alone."""
    whole = status.get("ecPolicyObj")
    return None if whole is None else _coding_policy(whole | {"schema": whole})


def _coding_policy(
    policy: Json, state: PolicyState | None = None
) -> types_pb2.ErasureCodingPolicyProto:
    schema = policy["schema"]
    return policy_to_proto(
        Policy(
            policy["id"],
            Schema(
                schema["codecName"],
                schema["numDataUnits"],
                schema["numParityUnits"],
                schema.get("extraOptions") or {},
            ),
            policy["cellSize"],
        ),
        state,
    )


def _coding_policy_of_path(answer: Any) -> Message:
    return types_pb2.GetErasureCodingPolicyResponseProto(
        ecPolicy=None if answer is None else _coding_policy(answer)
    )


def _coding_policies(answer: Any) -> Message:
    response = types_pb2.GetErasureCodingPoliciesResponseProto()
    for info in answer["ErasureCodingPolicies"]["ErasureCodingPolicyInfo"] or ():
        policy = response.ecPolicies.add()
        policy.CopyFrom(_coding_policy(info["policy"], PolicyState[info["state"]]))
    return response


def _coding_codecs(answer: Any) -> Message:
    response = types_pb2.GetErasureCodingCodecsResponseProto()
    for codec, coders in answer["ErasureCodingCodecs"].items():
        response.codec.add(codec=codec, coders=coders)
    return response


def _listing(answer: Any) -> Message:
    listing = answer["DirectoryListing"]
    entries = listing["partialListing"]["FileStatuses"]["FileStatus"]
    return pb.GetListingResponseProto(
        dirList=types_pb2.DirectoryListingProto(
            partialListing=map(file_status, entries), remainingEntries=listing["remainingEntries"]
        )
    )


def _type_quotas(usage: Json) -> types_pb2.StorageTypeQuotaInfosProto | None:
    return types_pb2.StorageTypeQuotaInfosProto(
        typeQuotaInfo=[
            types_pb2.StorageTypeQuotaInfoProto(
                type=kind, quota=quota["quota"] & _MASK, consumed=quota["consumed"]
            )
            for kind, quota in (usage.get("typeQuota") or {}).items()
        ]
    )


def _content_summary(answer: Any) -> Message:
    summary = answer["ContentSummary"]
    return pb.GetContentSummaryResponseProto(
        summary=types_pb2.ContentSummaryProto(
            length=summary["length"],
            fileCount=summary["fileCount"],
            directoryCount=summary["directoryCount"],
            quota=summary["quota"] & _MASK,
            spaceConsumed=summary["spaceConsumed"],
            spaceQuota=summary["spaceQuota"] & _MASK,
            typeQuotaInfos=_type_quotas(summary),
            snapshotLength=summary.get("snapshotLength", 0),
            snapshotFileCount=summary.get("snapshotFileCount", 0),
            snapshotDirectoryCount=summary.get("snapshotDirectoryCount", 0),
            snapshotSpaceConsumed=summary.get("snapshotSpaceConsumed", 0),
            erasureCodingPolicy=summary.get("ecPolicy", ""),
        )
    )


def _quota_usage(answer: Any) -> Message:
    usage = answer["QuotaUsage"]
    return pb.GetQuotaUsageResponseProto(
        usage=types_pb2.QuotaUsageProto(
            fileAndDirectoryCount=usage["fileAndDirectoryCount"],
            quota=usage["quota"] & _MASK,
            spaceConsumed=usage["spaceConsumed"],
            spaceQuota=usage["spaceQuota"] & _MASK,
            typeQuotaInfos=_type_quotas(usage),
        )
    )


# Blocks.


def _types(names: list[str]) -> types_pb2.StorageTypesProto:
    # Protobuf takes names for numbers.
    return types_pb2.StorageTypesProto(storageTypes=names)


def _datanode(node: Json) -> types_pb2.DatanodeInfoProto:
    return types_pb2.DatanodeInfoProto(
        id=types_pb2.DatanodeIDProto(
            ipAddr=node["ipAddr"],
            hostName=node["hostName"],
            datanodeUuid=node["storageID"],
            xferPort=node["xferPort"],
            infoPort=node["infoPort"],
            ipcPort=node["ipcPort"],
            infoSecurePort=node.get("infoSecurePort", 0),
        ),
        capacity=node.get("capacity", 0),
        remaining=node.get("remaining", 0),
        location=node.get("networkLocation", _POOL_DEFAULT),
        adminState=node.get("adminState", "NORMAL"),
    )


def _block(located: Json) -> types_pb2.LocatedBlockProto:
    block = located["block"]
    nodes = [_datanode(node) for node in located["locations"]]
    cached = {node["storageID"] for node in located.get("cachedLocations", ())}
    return types_pb2.LocatedBlockProto(
        b=types_pb2.ExtendedBlockProto(
            poolId=block["blockPoolId"],
            blockId=block["blockId"] & _MASK,
            generationStamp=block["generationStamp"],
            numBytes=block["numBytes"],
        ),
        offset=located["startOffset"],
        locs=nodes,
        corrupt=located["isCorrupt"],
        blockToken=rpc_pb2.TokenProto(identifier=b"", password=b"", kind="", service=""),
        isCached=[node.id.datanodeUuid in cached for node in nodes],
        storageTypes=_types(located.get("storageTypes") or []).storageTypes,
    )


def _located_blocks(answer: Any) -> Message:
    blocks = answer["LocatedBlocks"]
    last = blocks.get("lastLocatedBlock")
    return pb.GetBlockLocationsResponseProto(
        locations=types_pb2.LocatedBlocksProto(
            fileLength=blocks["fileLength"],
            blocks=map(_block, blocks["locatedBlocks"]),
            underConstruction=blocks["isUnderConstruction"],
            lastBlock=None if last is None else _block(last),
            isLastBlockComplete=blocks["isLastBlockComplete"],
        )
    )


# Delegation tokens.


def _delegation_token(answer: Any) -> Message:
    token = answer["Token"]
    if token is None:
        return rpc_pb2.GetDelegationTokenResponseProto()
    try:
        proto = Token.from_url_string(token["urlString"]).to_proto()
    except errors.IllegalArgument as error:
        raise ValueError(error.message) from None
    return rpc_pb2.GetDelegationTokenResponseProto(token=proto)


# ACLs, attributes, policies.


def _acl_status(answer: Any) -> Message:
    acl = answer["AclStatus"]
    entries = acl_entries(",".join(acl["entries"]), with_permissions=True)
    return types_pb2.GetAclStatusResponseProto(
        result=types_pb2.AclStatusProto(
            owner=acl["owner"],
            group=acl["group"],
            sticky=acl["stickyBit"],
            entries=entries,
            permission=types_pb2.FsPermissionProto(perm=int(acl.get("permission", "0"), 8)),
        )
    )


def _xattrs(answer: Any) -> Message:
    return types_pb2.GetXAttrsResponseProto(
        xAttrs=[
            xattr_named(xattr["name"], decoded(xattr.get("value") or ""))
            for xattr in answer["XAttrs"]
        ]
    )


def _xattr_names(answer: Any) -> Message:
    names = json.loads(answer["XAttrNames"])
    return types_pb2.ListXAttrsResponseProto(xAttrs=[xattr_named(name) for name in names])


def _policy(policy: Json) -> types_pb2.BlockStoragePolicyProto:
    def types(name: str) -> types_pb2.StorageTypesProto:
        return _types(policy.get(name) or [])

    return types_pb2.BlockStoragePolicyProto(
        policyId=policy["id"],
        name=policy["name"],
        creationPolicy=types("storageTypes"),
        creationFallbackPolicy=types("creationFallbacks"),
        replicationFallbackPolicy=types("replicationFallbacks"),
    )


def _policies(answer: Any) -> Message:
    policies = answer["BlockStoragePolicies"]["BlockStoragePolicy"]
    return pb.GetStoragePoliciesResponseProto(policies=map(_policy, policies))


def _server_defaults(answer: Any) -> Message:
    defaults = answer["FsServerDefaults"]
    return pb.GetServerDefaultsResponseProto(
        serverDefaults=types_pb2.FsServerDefaultsProto(
            blockSize=defaults["blockSize"],
            bytesPerChecksum=defaults["bytesPerChecksum"],
            writePacketSize=defaults["writePacketSize"],
            replication=defaults["replication"],
            fileBufferSize=defaults["fileBufferSize"],
            encryptDataTransfer=defaults.get("encryptDataTransfer", False),
            trashInterval=defaults.get("trashInterval", 0),
            checksumType=defaults.get("checksumType", 2),
            keyProviderUri=defaults.get("keyProviderUri") or "",
            policyId=defaults.get("defaultStoragePolicyId", 0),
        )
    )


def _fs_stats(answer: Any) -> Message:
    status = answer["FsStatus"]
    return pb.GetFsStatsResponseProto(
        capacity=status["capacity"],
        used=status["used"],
        remaining=status["remaining"],
        under_replicated=0,
        corrupt_blocks=0,
        missing_blocks=0,
    )


# Snapshots.


def _snapshottable(answer: Any) -> Message:
    directories = answer["SnapshottableDirectoryList"]
    if directories is None:
        return pb.GetSnapshottableDirListingResponseProto()
    return pb.GetSnapshottableDirListingResponseProto(
        snapshottableDirList=types_pb2.SnapshottableDirectoryListingProto(
            snapshottableDirListing=[
                types_pb2.SnapshottableDirectoryStatusProto(
                    dirStatus=file_status(directory["dirStatus"]),
                    snapshot_quota=directory["snapshotQuota"],
                    snapshot_number=directory["snapshotNumber"],
                    parent_fullpath=_bytes(directory["parentFullPath"]),
                )
                for directory in directories
            ]
        )
    )


def _snapshots(answer: Any) -> Message:
    def one(snapshot: Json) -> types_pb2.SnapshotStatusProto:
        return types_pb2.SnapshotStatusProto(
            dirStatus=file_status(snapshot["dirStatus"]),
            snapshotID=snapshot["snapshotID"],
            parent_fullpath=_bytes(snapshot["fullPath"].rpartition("/.snapshot/")[0] or "/"),
            isDeleted=snapshot.get("deletionStatus") == "DELETED",
        )

    listing = types_pb2.SnapshotListingProto(snapshotListing=map(one, answer["SnapshotList"] or ()))
    return pb.GetSnapshotListingResponseProto(snapshotList=listing)


def _snapshot_diff(answer: Any) -> Message:
    report = answer["SnapshotDiffReport"]
    return pb.GetSnapshotDiffReportResponseProto(
        diffReport=types_pb2.SnapshotDiffReportProto(
            snapshotRoot=report["snapshotRoot"],
            fromSnapshot=report["fromSnapshot"] or "",
            toSnapshot=report["toSnapshot"] or "",
            diffReportEntries=[
                types_pb2.SnapshotDiffReportEntryProto(
                    fullpath=_bytes(entry["sourcePath"]),
                    modificationLabel=_LABELS[entry["type"]],
                    targetPath=_bytes(entry["targetPath"]) if entry.get("targetPath") else None,
                )
                for entry in report["diffList"]
            ],
        )
    )


def _snapshot_diff_listing(answer: Any) -> Message:
    report = answer["SnapshotDiffReportListing"]

    def entries(name: str) -> list[types_pb2.SnapshotDiffReportListingEntryProto]:
        return [
            types_pb2.SnapshotDiffReportListingEntryProto(
                fullpath=_bytes(entry["sourcePath"]),
                dirId=entry["dirId"],
                isReference=entry["isReference"],
                targetPath=_bytes(entry["targetPath"]) if entry.get("targetPath") else None,
                fileId=entry.get("fileId"),
            )
            for entry in report[name]
        ]

    return pb.GetSnapshotDiffReportListingResponseProto(
        diffReport=types_pb2.SnapshotDiffReportListingProto(
            modifiedEntries=entries("modifyList"),
            createdEntries=entries("createList"),
            deletedEntries=entries("deleteList"),
            isFromEarlier=report["isFromEarlier"],
            cursor=types_pb2.SnapshotDiffReportCursorProto(
                startPath=_bytes(report["lastPath"]), index=report["lastIndex"]
            ),
        )
    )


def _result(response_type: Callable[..., Message]) -> Callable[[Any], Message]:
    """Return a function that reads an answer of yes or no."""
    return lambda answer: response_type(result=answer["boolean"])


def _nothing(response_type: Callable[..., Message]) -> Callable[[Any], Message]:
    return lambda answer: response_type()


ANSWERS: Final[Mapping[str, Callable[[Any], Message]]] = {
    "allowSnapshot": _nothing(pb.AllowSnapshotResponseProto),
    "cancelDelegationToken": _nothing(rpc_pb2.CancelDelegationTokenResponseProto),
    "checkAccess": _nothing(pb.CheckAccessResponseProto),
    "concat": _nothing(pb.ConcatResponseProto),
    "createSnapshot": lambda answer: pb.CreateSnapshotResponseProto(snapshotPath=answer["Path"]),
    "createSymlink": _nothing(pb.CreateSymlinkResponseProto),
    "delete": _result(pb.DeleteResponseProto),
    "deleteSnapshot": _nothing(pb.DeleteSnapshotResponseProto),
    "disableErasureCodingPolicy": _nothing(types_pb2.DisableErasureCodingPolicyResponseProto),
    "disallowSnapshot": _nothing(pb.DisallowSnapshotResponseProto),
    "enableErasureCodingPolicy": _nothing(types_pb2.EnableErasureCodingPolicyResponseProto),
    "getAclStatus": _acl_status,
    "getBlockLocations": _located_blocks,
    "getContentSummary": _content_summary,
    "getDelegationToken": _delegation_token,
    "getErasureCodingCodecs": _coding_codecs,
    "getErasureCodingPolicies": _coding_policies,
    "getErasureCodingPolicy": _coding_policy_of_path,
    "getFileInfo": lambda answer: pb.GetFileInfoResponseProto(fs=file_status(answer["FileStatus"])),
    "getFileLinkInfo": lambda answer: pb.GetFileLinkInfoResponseProto(
        fs=file_status(answer["FileStatus"])
    ),
    "getFsStats": _fs_stats,
    "getLinkTarget": lambda answer: pb.GetLinkTargetResponseProto(targetPath=answer["Path"]),
    "getListing": _listing,
    "getQuotaUsage": _quota_usage,
    "getServerDefaults": _server_defaults,
    "getSnapshotDiffReport": _snapshot_diff,
    "getSnapshotDiffReportListing": _snapshot_diff_listing,
    "getSnapshotListing": _snapshots,
    "getSnapshottableDirListing": _snapshottable,
    "getStoragePolicies": _policies,
    "getStoragePolicy": lambda answer: pb.GetStoragePolicyResponseProto(
        storagePolicy=_policy(answer["BlockStoragePolicy"])
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
    "renewDelegationToken": lambda answer: rpc_pb2.RenewDelegationTokenResponseProto(
        newExpiryTime=answer["long"]
    ),
    "renameSnapshot": _nothing(pb.RenameSnapshotResponseProto),
    "satisfyStoragePolicy": _nothing(pb.SatisfyStoragePolicyResponseProto),
    "setAcl": _nothing(types_pb2.SetAclResponseProto),
    "setErasureCodingPolicy": _nothing(types_pb2.SetErasureCodingPolicyResponseProto),
    "setOwner": _nothing(pb.SetOwnerResponseProto),
    "setPermission": _nothing(pb.SetPermissionResponseProto),
    "setQuota": _nothing(pb.SetQuotaResponseProto),
    "setReplication": _result(pb.SetReplicationResponseProto),
    "setStoragePolicy": _nothing(pb.SetStoragePolicyResponseProto),
    "setTimes": _nothing(pb.SetTimesResponseProto),
    "setXAttr": _nothing(types_pb2.SetXAttrResponseProto),
    "truncate": _result(pb.TruncateResponseProto),
    "unsetErasureCodingPolicy": _nothing(types_pb2.UnsetErasureCodingPolicyResponseProto),
    "unsetStoragePolicy": _nothing(pb.UnsetStoragePolicyResponseProto),
}
ABSENT: Final[Mapping[str, Callable[[], Message]]] = {
    "getFileInfo": pb.GetFileInfoResponseProto,
    "getFileLinkInfo": pb.GetFileLinkInfoResponseProto,
    "getListing": pb.GetListingResponseProto,
}
"""What these calls return where WebHDFS says that there is no such file."""
