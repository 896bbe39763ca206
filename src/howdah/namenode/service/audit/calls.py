"""Which calls of clients are in the audit log, and under which names (pure).

As Hadoop 3.5.0 has it (`logAuditEvent` in FSNamesystem, call by call):

1. A call that was done has a line with `allowed=true`. Calls of an open file (`addBlock`,
   `complete`, `renewLease` …) have none, and no call of another server.
2. A call that was refused for want of a permission has a line with `allowed=false`, and no
   `perm`. A call that failed otherwise has none. A `delete` of what is not there says
   `allowed=false`; an old `rename` and a `setReplication` that did nothing have no line.
3. `src` and `dst` are as the caller wrote them. A call that is about no path has `null`.
4. Calls that change one inode show its owner, group and mode afterwards.

What differs: a call that is answered from the retry cache has a line here, and the owner of a token
is shown by the first part of his principal, whatever `hadoop.security.auth_to_local` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from howdah.formats.malformed import MalformedRecord
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION
from howdah.namenode.service.protocols.refresh import AUTHORIZATION, USER_MAPPINGS
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import METHODS, Method, Trait
from howdah.protocol.striping.policies import SYSTEM_POLICIES
from howdah.runtime.units import date_text, duration_text

_RESET: Final = (1 << 64) - 1
_DONT_SET: Final = (1 << 63) - 1
"""Quotas as they are on the wire: -1 as an unsigned number, and Java's largest long."""


class Subject(NamedTuple):
    """What a line says of a call: the command, and the paths; None for `null`."""

    cmd: str
    src: str | None = None
    dst: str | None = None


# Requests are protobuf's, whose fields the type checker cannot see by the name of a method.
Describe = Callable[[Any, Any], Subject]
"""The subject of a request; with its answer, or None."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is logged of a method. `shown` is the path whose owner, group and mode are shown,
    `is_allowed` whether an answer means that the call was done; None: it has no line. Only where
    `keeps_answer` is set does `describe` get the answer. `cmd` is the command where it is the
    same for every request, else empty."""

    describe: Describe
    shown: Callable[[Any], str] | None = None
    is_allowed: Callable[[Any], bool | None] | None = None
    keeps_answer: bool = False
    cmd: str = ""


def _of_command(cmd: str) -> Rule:
    subject = Subject(cmd)
    return Rule(lambda request, answer: subject, cmd=cmd)


def _from_table(row: Method) -> Rule:
    if not row.path:
        return _of_command(row.audit)

    def path(request: Any) -> str:
        requested_path: str = getattr(request, row.path)
        return requested_path

    shown = path if Trait.SHOWS_OWNER in row.traits else None
    return Rule(lambda request, answer: Subject(row.audit, path(request)), shown, cmd=row.audit)


def _list(texts: Any) -> str:
    """As Java shows an array."""
    return f"[{', '.join(texts)}]"


def _snapshot(root: str, name: str) -> str:
    return f"{root.rstrip('/')}/.snapshot/{name}"


def _create_snapshot(request: Any, answer: Any) -> Subject:
    if answer is None:
        return Subject("createSnapshot", request.snapshotRoot)
    return Subject("createSnapshot", request.snapshotRoot, answer.snapshotPath)


def _rename_snapshot(request: Any, answer: Any) -> Subject:
    return Subject(
        "renameSnapshot",
        _snapshot(request.snapshotRoot, request.snapshotOldName),
        _snapshot(request.snapshotRoot, request.snapshotNewName),
    )


def _delete_snapshot(request: Any, answer: Any) -> Subject:
    return Subject("deleteSnapshot", _snapshot(request.snapshotRoot, request.snapshotName))


def _snapshot_diff(request: Any, answer: Any) -> Subject:
    root = request.snapshotRoot
    ends = (request.fromSnapshot, request.toSnapshot)
    return Subject("computeSnapshotDiff", *(_snapshot(root, end) if end else root for end in ends))


def _rename2(request: Any, answer: Any) -> Subject:
    overwrites = request.overwriteDest or bool(request.replaces.fileId)
    given = (("OVERWRITE", overwrites), ("TO_TRASH", request.moveToTrash))
    options = [name for name, is_given in given if is_given] or ["NONE"]
    return Subject(f"rename (options={_list(options)})", request.src, request.dst)


def following(request: Message, answer: Message | None) -> list[Subject]:
    """What else a call has done, which has lines of its own: renames that followed a rename."""
    if not isinstance(request, pb.Rename2RequestProto) or not request.next:
        return []
    done = answer.nextDone if isinstance(answer, pb.Rename2ResponseProto) else 0
    return [Subject("rename (options=[NONE])", step.src, step.dst) for step in request.next[:done]]


def _quota(request: Any, answer: Any) -> Subject:
    names, space = request.namespaceQuota, request.storagespaceQuota
    if (names, space) == (_RESET, _DONT_SET):
        cmd = "clearQuota"
    elif (names, space) == (_DONT_SET, _RESET):
        cmd = "clearSpaceQuota"
    else:
        cmd = "setQuota" if space == _DONT_SET else "setSpaceQuota"
    return Subject(cmd, request.path)


_RESTORE: Final = {"check": "checkRestoreFailedStorage", "true": "enableRestoreFailedStorage"}


def _restore(request: Any, answer: Any) -> Subject:
    return Subject(_RESTORE.get(request.arg, "disableRestoreFailedStorage"))


def _safe_mode(request: Any, answer: Any) -> Subject:
    return Subject(pb.SafeModeActionProto.Name(request.action).lower())


def _reencrypt(request: Any, answer: Any) -> Subject:
    """Who may not has a line of its name alone."""
    if answer is None:
        return Subject("reencryptEncryptionZone", request.zone)
    is_start = request.action == pb.START_REENCRYPT
    return Subject(f"{'START' if is_start else 'CANCEL'}reencryption", request.zone)


def _rolling_upgrade(request: Any, answer: Any) -> Subject:
    action = pb.RollingUpgradeActionProto.Name(request.action).lower()
    return Subject(f"{action}RollingUpgrade")


# Cache pools and directives, as Java prints them.


def _pool(request: Any) -> str:
    info = request.info

    def value(field: str) -> object:
        return getattr(info, field) if info.HasField(field) else "null"

    mode = f"{info.mode:04o}" if info.HasField("mode") else "null"
    return (
        f"{{poolName:{info.poolName}, ownerName:{value('ownerName')}, "
        f"groupName:{value('groupName')}, mode:{mode}, limit:{value('limit')}, "
        f"defaultReplication:{value('defaultReplication')}, "
        f"maxRelativeExpiryMs:{value('maxRelativeExpiry')}}}"
    )


def _directive(info: Any, directive_id: int | None = None) -> str:
    if directive_id is None and info.HasField("id"):
        directive_id = info.id
    parts = [] if directive_id is None else [f"id: {directive_id}"]
    parts += [
        f"{field}: {getattr(info, field)}"
        for field in ("path", "replication", "pool")
        if info.HasField(field)
    ]
    if info.HasField("expiration"):
        millis = info.expiration.millis
        shown = duration_text(millis) if info.expiration.isRelative else date_text(millis)
        parts.append(f"expiration: {shown}")
    return "{" + ", ".join(parts) + "}"


def _add_directive(request: Any, answer: Any) -> Subject:
    directive_id = None if answer is None else answer.id
    return Subject("addCacheDirective", _directive(request.info, directive_id))


def _added_policies(request: Any, answer: Any) -> list[str]:
    """The names of the policies that were added; a system one has none on the wire."""
    if answer is None:
        return []
    return [
        SYSTEM_POLICIES[added.policy.id].name
        if added.policy.id in SYSTEM_POLICIES
        else str(added.policy.name)
        for added in answer.responses
        if added.succeed
    ]


def _token(proto: Any) -> str | None:
    """A delegation token, and no more of it than may be seen; None for what is none."""
    try:
        token = DelegationTokenIdentifier.decode(proto.identifier)
    except MalformedRecord:
        return None
    owner = token.owner.partition("@")[0].partition("/")[0]
    return (
        f"{HDFS_DELEGATION} token {token.sequence_number} for {owner} with renewer {token.renewer}"
    )


_BY_REQUEST: Final[Mapping[str, Rule]] = {
    # Names and attributes.
    "getBatchedListing": Rule(lambda r, _: Subject("listStatus", _list(r.paths))),
    "rename": Rule(
        lambda r, _: Subject("rename", r.src, r.dst),
        lambda r: str(r.dst),
        lambda a: True if a.result else None,
    ),
    "rename2": Rule(_rename2, lambda r: str(r.dst), keeps_answer=True),
    "delete": Rule(lambda r, _: Subject("delete", r.src), None, lambda a: a.result),
    "createSymlink": Rule(
        lambda r, _: Subject("createSymlink", r.link, r.target), lambda r: str(r.link)
    ),
    "setReplication": Rule(
        lambda r, _: Subject("setReplication", r.src), None, lambda a: True if a.result else None
    ),
    "setQuota": Rule(_quota),
    # Files.
    "listOpenFiles": Rule(lambda r, _: Subject("listOpenFiles"), cmd="listOpenFiles"),
    "concat": Rule(lambda r, _: Subject("concat", _list(r.srcs), r.trg), lambda r: str(r.trg)),
    # Snapshots.
    "getSnapshotDiffReport": Rule(_snapshot_diff),
    "getSnapshotDiffReportListing": Rule(_snapshot_diff),
    "createSnapshot": Rule(_create_snapshot, keeps_answer=True),
    "renameSnapshot": Rule(_rename_snapshot),
    "deleteSnapshot": Rule(_delete_snapshot),
    # Centralised caching.
    "addCachePool": Rule(lambda r, _: Subject("addCachePool", _pool(r))),
    "modifyCachePool": Rule(
        lambda r, _: Subject("modifyCachePool", f"{{poolName: {r.info.poolName}}}", _pool(r))
    ),
    "removeCachePool": Rule(lambda r, _: Subject("removeCachePool", f"{{poolName: {r.poolName}}}")),
    "addCacheDirective": Rule(_add_directive, keeps_answer=True),
    "modifyCacheDirective": Rule(
        lambda r, _: Subject("modifyCacheDirective", f"{{id: {r.info.id}}}", _directive(r.info))
    ),
    "removeCacheDirective": Rule(lambda r, _: Subject("removeCacheDirective", f"{{id: {r.id}}}")),
    "listCacheDirectives": Rule(lambda r, _: Subject("listCacheDirectives", _directive(r.filter))),
    # Delegation tokens.
    "getDelegationToken": Rule(
        lambda r, a: Subject("getDelegationToken", a and _token(a.token)),
        is_allowed=lambda a: True if a.HasField("token") else None,
        keeps_answer=True,
    ),
    "renewDelegationToken": Rule(
        lambda r, _: Subject("renewDelegationToken", _token(r.token)), cmd="renewDelegationToken"
    ),
    "cancelDelegationToken": Rule(
        lambda r, _: Subject("cancelDelegationToken", _token(r.token)), cmd="cancelDelegationToken"
    ),
    # Erasure coding policies.
    "addErasureCodingPolicies": Rule(
        lambda r, a: Subject("addErasureCodingPolicies", _list(_added_policies(r, a))),
        keeps_answer=True,
    ),
    "removeErasureCodingPolicy": Rule(
        lambda r, _: Subject("removeErasureCodingPolicy", r.ecPolicyName)
    ),
    "enableErasureCodingPolicy": Rule(
        lambda r, _: Subject("enableErasureCodingPolicy", r.ecPolicyName)
    ),
    "disableErasureCodingPolicy": Rule(
        lambda r, _: Subject("disableErasureCodingPolicy", r.ecPolicyName)
    ),
    # Encryption zones.
    "reencryptEncryptionZone": Rule(_reencrypt, keeps_answer=True),
    # The cluster and this namenode.
    "restoreFailedStorage": Rule(_restore),
    "setSafeMode": Rule(_safe_mode),
    "rollingUpgrade": Rule(_rolling_upgrade),
}
"""Of methods whose line is more, or less, than a command and a path."""

_REFRESHES: Final = (
    (AUTHORIZATION, "refreshServiceAcl"),
    (USER_MAPPINGS, "refreshUserToGroupsMappings"),
    (USER_MAPPINGS, "refreshSuperUserGroupsConfiguration"),
)
OF_OTHER_PROTOCOLS: Final = frozenset(_REFRESHES)
"""Methods with a line that are not of ClientProtocol, behind their protocols. Who may not has none,
as he does not get as far as that at Hadoop's."""

RULES: Final[Mapping[str, Rule]] = {
    **{m: _from_table(row) for m, row in METHODS.items() if row.audit},
    **_BY_REQUEST,
    **{method: _of_command(method) for _, method in _REFRESHES},
}
"""By the method, which is of ClientProtocol or in `OF_OTHER_PROTOCOLS`."""


def subject_of(method: str, request: Message, answer: Message | None) -> Subject:
    """What the line of a call says."""
    return RULES[method].describe(request, answer)
