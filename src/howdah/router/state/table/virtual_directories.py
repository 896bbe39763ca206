"""Directories that are there because mount points are below them (pure).

No namenode has them, so the router answers itself what programs ask of each directory that they
come by. They are the superuser's, everybody may read and search them, and nothing can be made in
them. Hadoop's router answers getFileInfo and getListing only, and NoLocationException to the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from google.protobuf.message import Message

from howdah import errors
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.router.state.table.mount_table import MountTable

Status = types_pb2.HdfsFileStatusProto

_MODE: Final = 0o755


class Owner(NamedTuple):
    """Whose these directories are."""

    user: str
    group: str


def virtual_status(
    table: MountTable, owner: Owner, path: str, children: int, name: bytes
) -> Status:
    """Return the status of a directory that exists as a mount point only, or whose destination
    cannot be asked."""
    entry = table.entries.get(path)
    date_ms = max((mount.modified_ms for mount in table.at_or_below(path)), default=0)
    return Status(
        fileType=Status.IS_DIR,
        path=name,
        length=0,
        permission=types_pb2.FsPermissionProto(perm=entry.mode if entry else _MODE),
        owner=(entry.owner if entry else "") or owner.user,
        group=(entry.group if entry else "") or owner.group,
        modification_time=date_ms,
        access_time=date_ms,
        block_replication=0,
        blocksize=0,
        fileId=0,
        childrenNum=children,
        storagePolicy=0,
    )


def is_virtual(table: MountTable, path: str) -> bool:
    """Whether mount points are below a path (normalised), which is none itself."""
    return bool(table.mounts(path)) and path not in table.entries


def _access(owner: Owner, path: str, request: Any) -> Message:
    if request.mode & types_pb2.AclEntryProto.FsActionProto.WRITE:
        raise errors.AccessDenied(
            f"{path} is in no nameservice: there are mount points below it, and nothing else can "
            f"be made in it"
        )
    return pb.CheckAccessResponseProto()


def _acl(owner: Owner, path: str, request: Any) -> Message:
    status = types_pb2.AclStatusProto(
        owner=owner.user,
        group=owner.group,
        sticky=False,
        permission=types_pb2.FsPermissionProto(perm=_MODE),
    )
    return types_pb2.GetAclStatusResponseProto(result=status)


def _attributes(owner: Owner, path: str, request: Any) -> Message:
    if request.xAttrs:
        raise errors.AttributeNotFound(errors.AttributeNotFound.WORDS)
    return types_pb2.GetXAttrsResponseProto()


def _attribute_names(owner: Owner, path: str, request: Any) -> Message:
    return types_pb2.ListXAttrsResponseProto()


ANSWERED: Final[Mapping[str, Callable[[Owner, str, Any], Message]]] = {
    "checkAccess": _access,
    "getAclStatus": _acl,
    "getXAttrs": _attributes,
    "listXAttrs": _attribute_names,
}
"""What is answered for these directories, beside what `listing` answers; of a normalised path."""
