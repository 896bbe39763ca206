"""The part of ClientProtocol that is about what inodes have (pure).

Modes, owners, times, replication, ACLs and extended attributes: protobuf in, operations
on the core, protobuf out. `client_protocol.ClientProtocol` inherits these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from google.protobuf.message import Message

from howdah.namenode.calls.acl_calls import AclCalls
from howdah.namenode.calls.attributes import AttributeCalls
from howdah.namenode.calls.core import Core
from howdah.namenode.calls.policies import PolicyCalls
from howdah.namenode.calls.quota_calls import QuotaCalls
from howdah.namenode.calls.retry_cache import REBUILT, RetryCache
from howdah.namenode.calls.xattr_calls import XAttrCalls
from howdah.namenode.inodes.inodes import STICKY_BIT
from howdah.namenode.inodes.storage_policies import POLICIES
from howdah.namenode.protocols import messages
from howdah.namenode.protocols.client_queries import ClientQueries
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import types_pb2
from howdah.rpc.service import Caller
from howdah.storage.edits.edits import (
    AclEntry,
    AclKind,
    AclScope,
    StorageKind,
    XAttr,
    XAttrNamespace,
)

M = TypeVar("M", bound=Message)


class ClientAttributes(ClientQueries):
    """`ClientQueries`, and what changes an inode that is there."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._attributes = AttributeCalls(core)
        self._acls = AclCalls(core)
        self._xattrs = XAttrCalls(core)
        self._policies = PolicyCalls(core)
        self._quotas = QuotaCalls(core)

    def _once(self, caller: Caller, run: Callable[[], M], rebuild: Callable[[], M]) -> M:
        """Run a call that may not run twice; for a repeated one, the first answer.

        `rebuild` makes the answer anew where it was not kept.
        """
        if not RetryCache.applies(caller):
            return run()
        cache = self._core.retry_cache
        known = cache.find(caller)
        if known is REBUILT:
            return rebuild()
        if known is not None:
            return cast(M, known)
        answer = run()
        cache.remember(caller.client_id, caller.call_id, answer, self._core.clock.monotonic_ms())
        return answer

    # Attributes.

    def set_permission(
        self, request: pb.SetPermissionRequestProto, caller: Caller
    ) -> pb.SetPermissionResponseProto:
        self._attributes.set_permission(caller, request.src, request.permission.perm)
        return pb.SetPermissionResponseProto()

    def set_owner(
        self, request: pb.SetOwnerRequestProto, caller: Caller
    ) -> pb.SetOwnerResponseProto:
        self._attributes.set_owner(
            caller, request.src, request.username or None, request.groupname or None
        )
        return pb.SetOwnerResponseProto()

    def set_times(
        self, request: pb.SetTimesRequestProto, caller: Caller
    ) -> pb.SetTimesResponseProto:
        self._attributes.set_times(
            caller, request.src, messages.signed(request.mtime), messages.signed(request.atime)
        )
        return pb.SetTimesResponseProto()

    def set_replication(
        self, request: pb.SetReplicationRequestProto, caller: Caller
    ) -> pb.SetReplicationResponseProto:
        return pb.SetReplicationResponseProto(
            result=self._attributes.set_replication(caller, request.src, request.replication)
        )

    # ACLs. To set one twice is to set it once.

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

    # Storage policies.

    def set_storage_policy(
        self, request: pb.SetStoragePolicyRequestProto, caller: Caller
    ) -> pb.SetStoragePolicyResponseProto:
        self._policies.set(caller, request.src, request.policyName)
        return pb.SetStoragePolicyResponseProto()

    def unset_storage_policy(
        self, request: pb.UnsetStoragePolicyRequestProto, caller: Caller
    ) -> pb.UnsetStoragePolicyResponseProto:
        self._policies.unset(caller, request.src)
        return pb.UnsetStoragePolicyResponseProto()

    def get_storage_policy(
        self, request: pb.GetStoragePolicyRequestProto, caller: Caller
    ) -> pb.GetStoragePolicyResponseProto:
        policy = self._policies.get(caller, request.path)
        return pb.GetStoragePolicyResponseProto(storagePolicy=messages.storage_policy(policy))

    def get_storage_policies(
        self, request: pb.GetStoragePoliciesRequestProto, caller: Caller
    ) -> pb.GetStoragePoliciesResponseProto:
        return pb.GetStoragePoliciesResponseProto(
            policies=map(messages.storage_policy, POLICIES.values())
        )

    # Quotas.

    def set_quota(
        self, request: pb.SetQuotaRequestProto, caller: Caller
    ) -> pb.SetQuotaResponseProto:
        kind = None
        if request.HasField("storageType"):
            kind = StorageKind[types_pb2.StorageTypeProto.Name(request.storageType)]
        self._quotas.set(
            caller,
            request.path,
            messages.signed(request.namespaceQuota),
            messages.signed(request.storagespaceQuota),
            kind,
        )
        return pb.SetQuotaResponseProto()

    # Extended attributes.

    def set_xattr(
        self, request: types_pb2.SetXAttrRequestProto, caller: Caller
    ) -> types_pb2.SetXAttrResponseProto:
        def run() -> types_pb2.SetXAttrResponseProto:
            self._xattrs.set(
                caller,
                request.src,
                _xattr(request.xAttr),
                create=bool(request.flag & types_pb2.XATTR_CREATE),
                replace=bool(request.flag & types_pb2.XATTR_REPLACE),
            )
            return types_pb2.SetXAttrResponseProto()

        return self._once(caller, run, types_pb2.SetXAttrResponseProto)

    def remove_xattr(
        self, request: types_pb2.RemoveXAttrRequestProto, caller: Caller
    ) -> types_pb2.RemoveXAttrResponseProto:
        def run() -> types_pb2.RemoveXAttrResponseProto:
            self._xattrs.remove(caller, request.src, _xattr(request.xAttr))
            return types_pb2.RemoveXAttrResponseProto()

        return self._once(caller, run, types_pb2.RemoveXAttrResponseProto)

    def get_xattrs(
        self, request: types_pb2.GetXAttrsRequestProto, caller: Caller
    ) -> types_pb2.GetXAttrsResponseProto:
        wanted = [_xattr(named) for named in request.xAttrs]
        found = self._xattrs.get(caller, request.src, wanted)
        return types_pb2.GetXAttrsResponseProto(xAttrs=map(_xattr_message, found))

    def list_xattrs(
        self, request: types_pb2.ListXAttrsRequestProto, caller: Caller
    ) -> types_pb2.ListXAttrsResponseProto:
        found = self._xattrs.list(caller, request.src)
        return types_pb2.ListXAttrsResponseProto(xAttrs=map(_xattr_message, found))


def _acl(spec: Iterable[types_pb2.AclEntryProto]) -> list[AclEntry]:
    return [
        AclEntry(
            AclScope(entry.scope), AclKind(entry.type), int(entry.permissions), entry.name or None
        )
        for entry in spec
    ]


def _xattr(named: types_pb2.XAttrProto) -> XAttr:
    value = named.value if named.HasField("value") else None
    return XAttr(XAttrNamespace(named.namespace), named.name, value)


def _xattr_message(xattr: XAttr) -> types_pb2.XAttrProto:
    return types_pb2.XAttrProto(
        namespace=int(xattr.namespace),  # type: ignore[arg-type]
        name=xattr.name,
        value=xattr.value,
    )
