"""Access control lists (pure): the part of ClientProtocol that Hadoop's FSDirAclOp serves."""

from __future__ import annotations

from collections.abc import Iterable

from howdah.formats.edits.edits import AclEntry, AclKind, AclScope
from howdah.namenode.service.attributes.acls import AclCalls
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes.inodes import STICKY_BIT
from howdah.proto import types_pb2
from howdah.protocol.rpc.call import Caller


class AclMethods:
    """Calls about ACLs. To repeat one is harmless."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._acls = AclCalls(namesystem)

    def modify_acl_entries(
        self, request: types_pb2.ModifyAclEntriesRequestProto, caller: Caller
    ) -> types_pb2.ModifyAclEntriesResponseProto:
        self._acls.modify(caller, request.src, _acl(request.aclSpec))
        return types_pb2.ModifyAclEntriesResponseProto()

    def remove_acl_entries(
        self, request: types_pb2.RemoveAclEntriesRequestProto, caller: Caller
    ) -> types_pb2.RemoveAclEntriesResponseProto:
        self._acls.remove_entries(caller, request.src, _acl(request.aclSpec))
        return types_pb2.RemoveAclEntriesResponseProto()

    def remove_default_acl(
        self, request: types_pb2.RemoveDefaultAclRequestProto, caller: Caller
    ) -> types_pb2.RemoveDefaultAclResponseProto:
        self._acls.remove_default(caller, request.src)
        return types_pb2.RemoveDefaultAclResponseProto()

    def remove_acl(
        self, request: types_pb2.RemoveAclRequestProto, caller: Caller
    ) -> types_pb2.RemoveAclResponseProto:
        self._acls.remove(caller, request.src)
        return types_pb2.RemoveAclResponseProto()

    def set_acl(
        self, request: types_pb2.SetAclRequestProto, caller: Caller
    ) -> types_pb2.SetAclResponseProto:
        self._acls.replace(caller, request.src, _acl(request.aclSpec))
        return types_pb2.SetAclResponseProto()

    def get_acl_status(
        self, request: types_pb2.GetAclStatusRequestProto, caller: Caller
    ) -> types_pb2.GetAclStatusResponseProto:
        """The entries are those that the mode does not stand for; the client adds these."""
        inode = self._acls.status(caller, request.src)
        answer = types_pb2.GetAclStatusResponseProto(
            result=types_pb2.AclStatusProto(
                owner=inode.owner,
                group=inode.group,
                sticky=bool(inode.mode & STICKY_BIT),
                permission=types_pb2.FsPermissionProto(perm=inode.mode),
            )
        )
        for entry in inode.acl:
            answer.result.entries.add(
                type=int(entry.kind),
                scope=int(entry.scope),
                permissions=entry.permission,
                name=entry.name,
            )
        return answer


def _acl(spec: Iterable[types_pb2.AclEntryProto]) -> list[AclEntry]:
    return [
        AclEntry(
            AclScope(entry.scope), AclKind(entry.type), int(entry.permissions), entry.name or None
        )
        for entry in spec
    ]
