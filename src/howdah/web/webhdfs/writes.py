"""Operations that change names and their attributes, as calls of ClientProtocol: the PUTs,
POSTs and DELETEs of NamenodeWebHdfsMethods (pure)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Final

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.web.http import Response
from howdah.web.webhdfs import json_values as to_json
from howdah.web.webhdfs.call_chain import EMPTY, Rpc, Steps, boolean, json_response
from howdah.web.webhdfs.names import acl_entries, xattr_named
from howdah.web.webhdfs.parameters import LONG_MAX, ParsedRequest

DIRECTORY_MODE: Final = 0o755
LINK_MODE: Final = 0o777
STORAGE_TYPES: Final = ("DISK", "SSD", "ARCHIVE", "RAM_DISK", "PROVIDED", "NVDIMM")
_LONG_MASK: Final = (1 << 64) - 1
_numbers: Final = itertools.count(1)


class NoStorageType(errors.IllegalArgument):
    """There is no storage type of that name."""

    java_class = "java.lang.IllegalArgumentException"


class NothingToSet(errors.IllegalArgument):
    """The operation has nothing to do."""

    java_class = "java.lang.IllegalArgumentException"


def mkdirs(asked: ParsedRequest, user: str) -> Steps:
    """As in Hadoop no umask is applied here; with `unmaskedpermission` the mode is masked
    already, and a default ACL goes by the other one."""
    if "//" in asked.path:
        raise errors.InvalidPath(f"Invalid path name Invalid file name: {asked.path}")
    mode = asked.number("permission")
    unmasked = asked.number("unmaskedpermission")
    answer = yield Rpc(
        "mkdirs",
        pb.MkdirsRequestProto(
            src=asked.path,
            masked=_mode(DIRECTORY_MODE if mode is None else mode),
            createParent=True,
            unmasked=None if unmasked is None else _mode(unmasked),
        ),
    )
    return boolean(answer.result)


def _mode(bits: int) -> types_pb2.FsPermissionProto:
    return types_pb2.FsPermissionProto(perm=bits)


def create_symlink(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "createSymlink",
        pb.CreateSymlinkRequestProto(
            target=asked.text("destination") or "",
            link=asked.path,
            dirPerm=_mode(LINK_MODE),
            createParent=asked.flag("createparent"),
        ),
    )
    return EMPTY


def rename(asked: ParsedRequest, user: str) -> Steps:
    target = asked.text("destination") or ""
    options = asked.chosen("renameoptions")
    if not options:
        answer = yield Rpc("rename", pb.RenameRequestProto(src=asked.path, dst=target))
        return boolean(answer.result)
    yield Rpc(
        "rename2",
        pb.Rename2RequestProto(
            src=asked.path,
            dst=target,
            overwriteDest="OVERWRITE" in options,
            moveToTrash="TO_TRASH" in options,
        ),
    )
    return EMPTY


def delete(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "delete", pb.DeleteRequestProto(src=asked.path, recursive=asked.flag("recursive"))
    )
    return boolean(answer.result)


def concat(asked: ParsedRequest, user: str) -> Steps:
    sources = (asked.text("sources") or "").split(",")
    yield Rpc("concat", pb.ConcatRequestProto(trg=asked.path, srcs=sources))
    return Response(200)


def truncate(asked: ParsedRequest, user: str) -> Steps:
    """Each request is a client of its own: what one has begun, another one does not go on
    with."""
    answer = yield Rpc(
        "truncate",
        pb.TruncateRequestProto(
            src=asked.path,
            newLength=asked.number("newlength"),
            clientName=f"DFSClient_WebHDFS_{next(_numbers)}",
        ),
    )
    return boolean(answer.result)


def set_replication(asked: ParsedRequest, user: str) -> Steps:
    """Without a number the cluster's default."""
    wanted = asked.number("replication")
    if wanted is None:
        defaults = yield Rpc("getServerDefaults", pb.GetServerDefaultsRequestProto())
        wanted = defaults.serverDefaults.replication
    answer = yield Rpc(
        "setReplication", pb.SetReplicationRequestProto(src=asked.path, replication=wanted)
    )
    return boolean(answer.result)


def set_owner(asked: ParsedRequest, user: str) -> Steps:
    owner, group = asked.text("owner"), asked.text("group")
    if owner is None and group is None:
        raise NothingToSet("Both owner and group are empty.")
    yield Rpc("setOwner", pb.SetOwnerRequestProto(src=asked.path, username=owner, groupname=group))
    return EMPTY


def set_permission(asked: ParsedRequest, user: str) -> Steps:
    mode = asked.number("permission")
    yield Rpc(
        "setPermission",
        pb.SetPermissionRequestProto(
            src=asked.path, permission=_mode(DIRECTORY_MODE if mode is None else mode)
        ),
    )
    return EMPTY


def set_times(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "setTimes",
        pb.SetTimesRequestProto(
            src=asked.path,
            mtime=_unsigned(asked.number("modificationtime")),
            atime=_unsigned(asked.number("accesstime")),
        ),
    )
    return EMPTY


def _unsigned(value: int | None) -> int:
    return (-1 if value is None else value) & _LONG_MASK


# ACLs and extended attributes.


def _with_acl(
    method: str, request: Callable[..., Message], *, with_permissions: bool = True
) -> Callable[[ParsedRequest, str], Steps]:
    def change(asked: ParsedRequest, user: str) -> Steps:
        entries = acl_entries(asked.text("aclspec") or "", with_permissions=with_permissions)
        yield Rpc(method, request(src=asked.path, aclSpec=entries))
        return EMPTY

    return change


def set_xattr(asked: ParsedRequest, user: str) -> Steps:
    given = asked.text("xattr.value")
    try:
        # None is another value than an empty one.
        value = to_json.decoded(given) if given else None
    except ValueError as error:
        # Hadoop finds out behind its checks of parameters.
        raise errors.RemoteError(f"the value of {asked.text('xattr.name')}: {error}") from error
    flags = asked.chosen("flag")
    yield Rpc(
        "setXAttr",
        types_pb2.SetXAttrRequestProto(
            src=asked.path,
            xAttr=xattr_named(asked.text("xattr.name") or "", value),
            flag=types_pb2.XATTR_CREATE * ("CREATE" in flags)
            | types_pb2.XATTR_REPLACE * ("REPLACE" in flags),
        ),
    )
    return EMPTY


def remove_xattr(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "removeXAttr",
        types_pb2.RemoveXAttrRequestProto(
            src=asked.path, xAttr=xattr_named(asked.text("xattr.name") or "")
        ),
    )
    return EMPTY


# Snapshots.


def create_snapshot(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "createSnapshot",
        pb.CreateSnapshotRequestProto(
            snapshotRoot=asked.path, snapshotName=asked.text("snapshotname")
        ),
    )
    return json_response({"Path": answer.snapshotPath})


def rename_snapshot(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "renameSnapshot",
        pb.RenameSnapshotRequestProto(
            snapshotRoot=asked.path,
            snapshotOldName=asked.text("oldsnapshotname") or "",
            snapshotNewName=asked.text("snapshotname") or "",
        ),
    )
    return EMPTY


def delete_snapshot(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "deleteSnapshot",
        pb.DeleteSnapshotRequestProto(
            snapshotRoot=asked.path, snapshotName=asked.text("snapshotname") or ""
        ),
    )
    return EMPTY


# Storage policies and quotas.


def set_storage_policy(asked: ParsedRequest, user: str) -> Steps:
    name = asked.text("storagepolicy")
    if name is None:
        raise NothingToSet("Storage policy name is empty.")
    yield Rpc("setStoragePolicy", pb.SetStoragePolicyRequestProto(src=asked.path, policyName=name))
    return EMPTY


def unset_storage_policy(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc("unsetStoragePolicy", pb.UnsetStoragePolicyRequestProto(src=asked.path))
    return Response(200)


def set_quota(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "setQuota",
        pb.SetQuotaRequestProto(
            path=asked.path,
            namespaceQuota=_unsigned(asked.number("namespacequota")),
            storagespaceQuota=_unsigned(asked.number("storagespacequota")),
        ),
    )
    return EMPTY


def set_quota_by_storage_type(asked: ParsedRequest, user: str) -> Steps:
    kind = (asked.text("storagetype") or "").upper()
    if kind not in STORAGE_TYPES:
        raise NoStorageType(f"No enum constant org.apache.hadoop.fs.StorageType.{kind}")
    yield Rpc(
        "setQuota",
        pb.SetQuotaRequestProto(
            path=asked.path,
            namespaceQuota=LONG_MAX,
            storagespaceQuota=_unsigned(asked.number("storagespacequota")),
            storageType=kind,
        ),
    )
    return EMPTY


# What has a path and nothing else.


def _on_path(
    method: str, request: Callable[..., Message], field: str = "src"
) -> Callable[[ParsedRequest, str], Steps]:
    def change(asked: ParsedRequest, user: str) -> Steps:
        yield Rpc(method, request(**{field: asked.path}))
        return EMPTY

    return change


def _of_policy(
    method: str, request: Callable[..., Message]
) -> Callable[[ParsedRequest, str], Steps]:
    def change(asked: ParsedRequest, user: str) -> Steps:
        yield Rpc(method, request(ecPolicyName=asked.text("ecpolicy") or ""))
        return EMPTY

    return change


def set_coding_policy(asked: ParsedRequest, user: str) -> Steps:
    """Without a name the directory gets the policy that the namenode has by default."""
    yield Rpc(
        "setErasureCodingPolicy",
        types_pb2.SetErasureCodingPolicyRequestProto(
            src=asked.path, ecPolicyName=asked.text("ecpolicy") or None
        ),
    )
    return EMPTY


def unset_coding_policy(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "unsetErasureCodingPolicy",
        types_pb2.UnsetErasureCodingPolicyRequestProto(src=asked.path),
    )
    return Response(200)


def delegation_token(asked: ParsedRequest, user: str) -> Steps:
    """There is none, as over RPC, and as of Hadoop's namenode without Kerberos: Java's client
    asks before it goes on without one."""
    yield from ()
    return json_response({"Token": None})


def _refused(reason: str) -> Callable[[ParsedRequest, str], Steps]:
    def refuse(asked: ParsedRequest, user: str) -> Steps:
        yield from ()
        raise errors.UnsupportedOperation(f"{asked.operation} is not supported: {reason}")

    return refuse


_NO_TOKENS: Final = _refused("there are no delegation tokens here")

CHANGES: Final[Mapping[str, Callable[[ParsedRequest, str], Steps]]] = {
    "ALLOWSNAPSHOT": _on_path("allowSnapshot", pb.AllowSnapshotRequestProto, "snapshotRoot"),
    "CANCELDELEGATIONTOKEN": _NO_TOKENS,
    "CONCAT": concat,
    "CREATESNAPSHOT": create_snapshot,
    "CREATESYMLINK": create_symlink,
    "DELETE": delete,
    "DELETESNAPSHOT": delete_snapshot,
    "DISABLEECPOLICY": _of_policy(
        "disableErasureCodingPolicy", types_pb2.DisableErasureCodingPolicyRequestProto
    ),
    "DISALLOWSNAPSHOT": _on_path(
        "disallowSnapshot", pb.DisallowSnapshotRequestProto, "snapshotRoot"
    ),
    "ENABLEECPOLICY": _of_policy(
        "enableErasureCodingPolicy", types_pb2.EnableErasureCodingPolicyRequestProto
    ),
    "GETDELEGATIONTOKEN": delegation_token,
    "MKDIRS": mkdirs,
    "MODIFYACLENTRIES": _with_acl("modifyAclEntries", types_pb2.ModifyAclEntriesRequestProto),
    "REMOVEACL": _on_path("removeAcl", types_pb2.RemoveAclRequestProto),
    "REMOVEACLENTRIES": _with_acl(
        "removeAclEntries", types_pb2.RemoveAclEntriesRequestProto, with_permissions=False
    ),
    "REMOVEDEFAULTACL": _on_path("removeDefaultAcl", types_pb2.RemoveDefaultAclRequestProto),
    "REMOVEXATTR": remove_xattr,
    "RENAME": rename,
    "RENAMESNAPSHOT": rename_snapshot,
    "RENEWDELEGATIONTOKEN": _NO_TOKENS,
    "SATISFYSTORAGEPOLICY": _on_path("satisfyStoragePolicy", pb.SatisfyStoragePolicyRequestProto),
    "SETACL": _with_acl("setAcl", types_pb2.SetAclRequestProto),
    "SETECPOLICY": set_coding_policy,
    "SETOWNER": set_owner,
    "SETPERMISSION": set_permission,
    "SETQUOTA": set_quota,
    "SETQUOTABYSTORAGETYPE": set_quota_by_storage_type,
    "SETREPLICATION": set_replication,
    "SETSTORAGEPOLICY": set_storage_policy,
    "SETTIMES": set_times,
    "SETXATTR": set_xattr,
    "TRUNCATE": truncate,
    "UNSETECPOLICY": unset_coding_policy,
    "UNSETSTORAGEPOLICY": unset_storage_policy,
}
