"""Calls of ClientProtocol as requests of WebHDFS: what `reads` and `writes` do, the other way
round (pure).

A client that has no RPC asks for the same things with the same messages: each method that has
an operation is a row of `REQUESTS`, and `answers` makes the response out of the JSON. A method
without one raises UnsupportedOperation, which names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.proto import types_pb2
from howdah.runtime.users.names import real_user_of
from howdah.web.webhdfs.json_values import acl_entry, signed, xattr_name
from howdah.web.webhdfs.parameters import LONG_MAX, PREFIX

Pairs = tuple[tuple[str, str], ...]

REPEATABLE: Final = frozenset(
    (
        *("MKDIRS", "SETREPLICATION", "SETOWNER", "SETPERMISSION", "SETTIMES", "SETACL"),
        *("MODIFYACLENTRIES", "REMOVEACLENTRIES", "REMOVEDEFAULTACL", "REMOVEACL"),
        *("ALLOWSNAPSHOT", "DISALLOWSNAPSHOT", "SETSTORAGEPOLICY", "UNSETSTORAGEPOLICY"),
        *("SETQUOTA", "SETQUOTABYSTORAGETYPE", "CREATE", "APPEND", "RENEWDELEGATIONTOKEN"),
        *("SETECPOLICY", "ENABLEECPOLICY", "DISABLEECPOLICY"),
    )
)
"""Changes that may be asked for twice: the second time changes nothing, and says the same. Of
CREATE and APPEND that is true of the namenode, which only says where to send the bytes."""


OF_TOKENS: Final = frozenset(
    ("GETDELEGATIONTOKEN", "RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN")
)
"""Operations that a token alone is not enough for."""


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request before it has an address. `query` is without the operation and the user."""

    method: str
    operation: str
    path: str
    query: Pairs = field(default=())

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again when nobody knows whether it was heard."""
        return self.method == "GET" or self.operation in REPEATABLE

    def target(self, user: str | None, proof: Pairs | None = None) -> str:
        """Path and query, as a request line has them. For a `ProxyUser` somebody else acts. With
        the parameters of a `proof` the user is who that says."""
        named: Pairs = proof or ()
        if user is not None and proof is None:
            real_user = real_user_of(user)
            named = (("user.name", real_user or user),)
            if real_user is not None:
                named = (("doas", user), *named)
        query = urlencode((("op", self.operation), *named, *self.query), quote_via=quote)
        return f"{PREFIX}{quote(self.path, safe='/', errors='surrogatepass')}?{query}"


def make_request(method: str, request: Message) -> RestRequest:
    """What to ask for instead of a call. Raises UnsupportedOperation."""
    make = REQUESTS.get(method)
    if make is None:
        raise errors.UnsupportedOperation(f"WebHDFS has no operation for {method}")
    return make(request)


def _pairs(**values: str | int | bool | None) -> Pairs:
    """Return the parameters that have a value; a point in a name is written as two underscores."""
    pairs = []
    for name, value in values.items():
        if value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        pairs.append((name.replace("__", "."), text))
    return tuple(pairs)


def _octal(permission: types_pb2.FsPermissionProto) -> str:
    return f"{permission.perm & 0o1777:o}"


Make = Callable[[Any], RestRequest]


def _get(operation: str, path: str = "src") -> Make:
    return lambda request: RestRequest("GET", operation, getattr(request, path))


def _without_body(operation: str) -> Make:
    return lambda request: RestRequest("GET", operation, "/")


def _on_path(operation: str, path: str = "src", method: str = "PUT") -> Make:
    return lambda request: RestRequest(method, operation, getattr(request, path))


def _listing(request: Any) -> RestRequest:
    if request.needLocation:
        raise errors.UnsupportedOperation("WebHDFS lists no locations")
    start_after = request.startAfter.decode("utf-8", "surrogateescape")
    return RestRequest(
        "GET", "LISTSTATUS_BATCH", request.src, _pairs(startafter=start_after or None)
    )


def _block_locations(request: Any) -> RestRequest:
    query = _pairs(offset=request.offset, length=min(request.length, LONG_MAX))
    return RestRequest("GET", "GET_BLOCK_LOCATIONS", request.src, query)


def _check_access(request: Any) -> RestRequest:
    bits = int(request.mode)
    letters = "".join(
        letter if bits & bit else "-" for letter, bit in zip("rwx", (4, 2, 1), strict=True)
    )
    return RestRequest("GET", "CHECKACCESS", request.path, _pairs(fsaction=letters))


def _mkdirs(request: Any) -> RestRequest:
    if not request.createParent:
        raise errors.UnsupportedOperation("WebHDFS makes the parents of a directory, too")
    query = _pairs(permission=_octal(request.masked))
    if request.HasField("unmasked"):
        query += _pairs(unmaskedpermission=_octal(request.unmasked))
    return RestRequest("PUT", "MKDIRS", request.src, query)


def _rename(request: Any) -> RestRequest:
    return RestRequest("PUT", "RENAME", request.src, _pairs(destination=request.dst))


def _rename2(request: Any) -> RestRequest:
    _check_unconditional(request, "replaces")
    chosen = ["OVERWRITE"] * request.overwriteDest + ["TO_TRASH"] * request.moveToTrash
    options = ",".join(chosen) or "NONE"
    query = _pairs(destination=request.dst, renameoptions=options)
    return RestRequest("PUT", "RENAME", request.src, query)


def _delete(request: Any) -> RestRequest:
    _check_unconditional(request, "known")
    return RestRequest("DELETE", "DELETE", request.src, _pairs(recursive=request.recursive))


def _check_unconditional(request: Any, field: str) -> None:
    if request.HasField(field):
        raise errors.UnsupportedOperation("WebHDFS cannot say for which file a change is")


def _concat(request: Any) -> RestRequest:
    for source in request.srcs:
        if "," in source:
            raise errors.UnsupportedOperation(f"WebHDFS cannot name {source}: it has a comma")
    return RestRequest("POST", "CONCAT", request.trg, _pairs(sources=",".join(request.srcs)))


def _truncate(request: Any) -> RestRequest:
    return RestRequest("POST", "TRUNCATE", request.src, _pairs(newlength=request.newLength))


def _create_symlink(request: Any) -> RestRequest:
    query = _pairs(destination=request.target, createparent=request.createParent)
    return RestRequest("PUT", "CREATESYMLINK", request.link, query)


def _set_replication(request: Any) -> RestRequest:
    query = _pairs(replication=request.replication)
    return RestRequest("PUT", "SETREPLICATION", request.src, query)


def _set_owner(request: Any) -> RestRequest:
    query = _pairs(owner=request.username or None, group=request.groupname or None)
    return RestRequest("PUT", "SETOWNER", request.src, query)


def _set_permission(request: Any) -> RestRequest:
    query = _pairs(permission=_octal(request.permission))
    return RestRequest("PUT", "SETPERMISSION", request.src, query)


def _set_times(request: Any) -> RestRequest:
    query = _pairs(modificationtime=signed(request.mtime), accesstime=signed(request.atime))
    return RestRequest("PUT", "SETTIMES", request.src, query)


# ACLs, attributes and policies.


def _with_acl(operation: str, *, with_permissions: bool = True) -> Make:
    def make(request: Any) -> RestRequest:
        entries = ",".join(
            acl_entry(entry) if with_permissions else acl_entry(entry)[: -len("rwx")]
            for entry in request.aclSpec
        )
        return RestRequest("PUT", operation, request.src, _pairs(aclspec=entries))

    return make


def _xattr_value(value: bytes) -> str:
    return "0x" + value.hex()


def _set_xattr(request: Any) -> RestRequest:
    flags = ",".join(
        ["CREATE"] * bool(request.flag & types_pb2.XATTR_CREATE)
        + ["REPLACE"] * bool(request.flag & types_pb2.XATTR_REPLACE)
    )
    query = _pairs(
        xattr__name=xattr_name(request.xAttr),
        xattr__value=_xattr_value(request.xAttr.value) if request.xAttr.value else None,
        flag=flags,
    )
    return RestRequest("PUT", "SETXATTR", request.src, query)


def _get_xattrs(request: Any) -> RestRequest:
    names: Iterable[str] = map(xattr_name, request.xAttrs)
    query = (*(("xattr.name", name) for name in names), ("encoding", "hex"))
    return RestRequest("GET", "GETXATTRS", request.src, query)


def _remove_xattr(request: Any) -> RestRequest:
    return RestRequest(
        "PUT", "REMOVEXATTR", request.src, _pairs(xattr__name=xattr_name(request.xAttr))
    )


def _set_quota(request: Any) -> RestRequest:
    names, space = signed(request.namespaceQuota), signed(request.storagespaceQuota)
    if request.HasField("storageType"):
        kind = types_pb2.StorageTypeProto.Name(request.storageType)
        query = _pairs(storagetype=kind, storagespacequota=space)
        return RestRequest("PUT", "SETQUOTABYSTORAGETYPE", request.path, query)
    query = _pairs(namespacequota=names, storagespacequota=space)
    return RestRequest("PUT", "SETQUOTA", request.path, query)


def _set_policy(request: Any) -> RestRequest:
    query = _pairs(storagepolicy=request.policyName)
    return RestRequest("PUT", "SETSTORAGEPOLICY", request.src, query)


# Erasure coding.


def _set_coding_policy(request: Any) -> RestRequest:
    query = _pairs(ecpolicy=request.ecPolicyName or None)
    return RestRequest("PUT", "SETECPOLICY", request.src, query)


def _of_coding_policy(operation: str) -> Make:
    return lambda request: RestRequest("PUT", operation, "/", _pairs(ecpolicy=request.ecPolicyName))


# Delegation tokens.


def _get_token(request: Any) -> RestRequest:
    return RestRequest("GET", "GETDELEGATIONTOKEN", "/", _pairs(renewer=request.renewer or None))


def _with_token(operation: str) -> Make:
    def make(request: Any) -> RestRequest:
        text = Token.from_proto(request.token).url_string
        return RestRequest("PUT", operation, "/", _pairs(token=text))

    return make


# Snapshots.


def _create_snapshot(request: Any) -> RestRequest:
    query = _pairs(snapshotname=request.snapshotName or None)
    return RestRequest("PUT", "CREATESNAPSHOT", request.snapshotRoot, query)


def _rename_snapshot(request: Any) -> RestRequest:
    query = _pairs(oldsnapshotname=request.snapshotOldName, snapshotname=request.snapshotNewName)
    return RestRequest("PUT", "RENAMESNAPSHOT", request.snapshotRoot, query)


def _delete_snapshot(request: Any) -> RestRequest:
    query = _pairs(snapshotname=request.snapshotName)
    return RestRequest("DELETE", "DELETESNAPSHOT", request.snapshotRoot, query)


def _snapshot_diff(request: Any) -> RestRequest:
    query = _pairs(oldsnapshotname=request.fromSnapshot, snapshotname=request.toSnapshot)
    return RestRequest("GET", "GETSNAPSHOTDIFF", request.snapshotRoot, query)


def _snapshot_diff_listing(request: Any) -> RestRequest:
    query = _pairs(
        oldsnapshotname=request.fromSnapshot,
        snapshotname=request.toSnapshot,
        snapshotdiffstartpath=request.cursor.startPath.decode("utf-8", "surrogateescape"),
        snapshotdiffindex=request.cursor.index,
    )
    return RestRequest("GET", "GETSNAPSHOTDIFFLISTING", request.snapshotRoot, query)


REQUESTS: Final[Mapping[str, Make]] = {
    "allowSnapshot": _on_path("ALLOWSNAPSHOT", "snapshotRoot"),
    "cancelDelegationToken": _with_token("CANCELDELEGATIONTOKEN"),
    "checkAccess": _check_access,
    "concat": _concat,
    "createSnapshot": _create_snapshot,
    "createSymlink": _create_symlink,
    "delete": _delete,
    "deleteSnapshot": _delete_snapshot,
    "disableErasureCodingPolicy": _of_coding_policy("DISABLEECPOLICY"),
    "disallowSnapshot": _on_path("DISALLOWSNAPSHOT", "snapshotRoot"),
    "enableErasureCodingPolicy": _of_coding_policy("ENABLEECPOLICY"),
    "getAclStatus": _get("GETACLSTATUS"),
    "getBlockLocations": _block_locations,
    "getContentSummary": _get("GETCONTENTSUMMARY", "path"),
    "getDelegationToken": _get_token,
    "getErasureCodingCodecs": _without_body("GETECCODECS"),
    "getErasureCodingPolicies": _without_body("GETECPOLICIES"),
    "getErasureCodingPolicy": _get("GETECPOLICY"),
    "getFileInfo": _get("GETFILESTATUS"),
    "getFileLinkInfo": _get("GETFILELINKSTATUS"),
    "getFsStats": _without_body("GETSTATUS"),
    "getLinkTarget": _get("GETLINKTARGET", "path"),
    "getListing": _listing,
    "getQuotaUsage": _get("GETQUOTAUSAGE", "path"),
    "getServerDefaults": _without_body("GETSERVERDEFAULTS"),
    "getSnapshotDiffReport": _snapshot_diff,
    "getSnapshotDiffReportListing": _snapshot_diff_listing,
    "getSnapshotListing": _get("GETSNAPSHOTLIST", "snapshotRoot"),
    "getSnapshottableDirListing": _without_body("GETSNAPSHOTTABLEDIRECTORYLIST"),
    "getStoragePolicies": _without_body("GETALLSTORAGEPOLICY"),
    "getStoragePolicy": _get("GETSTORAGEPOLICY", "path"),
    "getXAttrs": _get_xattrs,
    "listXAttrs": _get("LISTXATTRS"),
    "mkdirs": _mkdirs,
    "modifyAclEntries": _with_acl("MODIFYACLENTRIES"),
    "removeAcl": _on_path("REMOVEACL"),
    "removeAclEntries": _with_acl("REMOVEACLENTRIES", with_permissions=False),
    "removeDefaultAcl": _on_path("REMOVEDEFAULTACL"),
    "removeXAttr": _remove_xattr,
    "rename": _rename,
    "renewDelegationToken": _with_token("RENEWDELEGATIONTOKEN"),
    "rename2": _rename2,
    "renameSnapshot": _rename_snapshot,
    "satisfyStoragePolicy": _on_path("SATISFYSTORAGEPOLICY"),
    "setAcl": _with_acl("SETACL"),
    "setErasureCodingPolicy": _set_coding_policy,
    "setOwner": _set_owner,
    "setPermission": _set_permission,
    "setQuota": _set_quota,
    "setReplication": _set_replication,
    "setStoragePolicy": _set_policy,
    "setTimes": _set_times,
    "setXAttr": _set_xattr,
    "truncate": _truncate,
    "unsetErasureCodingPolicy": _on_path("UNSETECPOLICY", method="POST"),
    "unsetStoragePolicy": _on_path("UNSETSTORAGEPOLICY", method="POST"),
}
