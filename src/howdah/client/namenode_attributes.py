"""ClientProtocol's calls about ACLs, extended attributes, storage policies and quotas, typed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from google.protobuf.message import Message

from howdah.proto import client_namenode_pb2 as calls
from howdah.proto import types_pb2 as pb
from howdah.rpc.client import AnswerType

M = TypeVar("M")


class AttributeMethods(ABC):
    """The part of `NamenodeProxy` that is about what inodes have."""

    @abstractmethod
    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Any method of the protocol."""

    def get_acl_status(self, path: str) -> pb.AclStatusProto:
        request = pb.GetAclStatusRequestProto(src=path)
        return self.call("getAclStatus", request, pb.GetAclStatusResponseProto).result

    def modify_acl_entries(self, path: str, spec: Iterable[pb.AclEntryProto]) -> None:
        request = pb.ModifyAclEntriesRequestProto(src=path, aclSpec=spec)
        self.call("modifyAclEntries", request, pb.ModifyAclEntriesResponseProto)

    def remove_acl_entries(self, path: str, spec: Iterable[pb.AclEntryProto]) -> None:
        request = pb.RemoveAclEntriesRequestProto(src=path, aclSpec=spec)
        self.call("removeAclEntries", request, pb.RemoveAclEntriesResponseProto)

    def remove_default_acl(self, path: str) -> None:
        request = pb.RemoveDefaultAclRequestProto(src=path)
        self.call("removeDefaultAcl", request, pb.RemoveDefaultAclResponseProto)

    def remove_acl(self, path: str) -> None:
        self.call("removeAcl", pb.RemoveAclRequestProto(src=path), pb.RemoveAclResponseProto)

    def set_acl(self, path: str, spec: Iterable[pb.AclEntryProto]) -> None:
        request = pb.SetAclRequestProto(src=path, aclSpec=spec)
        self.call("setAcl", request, pb.SetAclResponseProto)

    def set_xattr(self, path: str, xattr: pb.XAttrProto, flags: int) -> None:
        """`flags` are bits of XAttrSetFlagProto."""
        request = pb.SetXAttrRequestProto(src=path, xAttr=xattr, flag=flags)
        self.call("setXAttr", request, pb.SetXAttrResponseProto)

    def get_xattrs(self, path: str, wanted: Iterable[pb.XAttrProto]) -> list[pb.XAttrProto]:
        """Those that are named, or all that the caller may see."""
        request = pb.GetXAttrsRequestProto(src=path, xAttrs=wanted)
        return list(self.call("getXAttrs", request, pb.GetXAttrsResponseProto).xAttrs)

    def list_xattrs(self, path: str) -> list[pb.XAttrProto]:
        """Names without values."""
        request = pb.ListXAttrsRequestProto(src=path)
        return list(self.call("listXAttrs", request, pb.ListXAttrsResponseProto).xAttrs)

    def remove_xattr(self, path: str, xattr: pb.XAttrProto) -> None:
        request = pb.RemoveXAttrRequestProto(src=path, xAttr=xattr)
        self.call("removeXAttr", request, pb.RemoveXAttrResponseProto)

    def set_quota(
        self, path: str, names: int, space_bytes: int, storage_type: str | None = None
    ) -> None:
        """-1 takes a bound away, the largest long leaves it alone."""
        mask = (1 << 64) - 1
        request = calls.SetQuotaRequestProto(
            path=path,
            namespaceQuota=names & mask,
            storagespaceQuota=space_bytes & mask,
            storageType=storage_type,
        )
        self.call("setQuota", request, calls.SetQuotaResponseProto)

    def set_storage_policy(self, path: str, policy: str) -> None:
        request = calls.SetStoragePolicyRequestProto(src=path, policyName=policy)
        self.call("setStoragePolicy", request, calls.SetStoragePolicyResponseProto)

    def satisfy_storage_policy(self, path: str) -> None:
        request = calls.SatisfyStoragePolicyRequestProto(src=path)
        self.call("satisfyStoragePolicy", request, calls.SatisfyStoragePolicyResponseProto)

    def unset_storage_policy(self, path: str) -> None:
        request = calls.UnsetStoragePolicyRequestProto(src=path)
        self.call("unsetStoragePolicy", request, calls.UnsetStoragePolicyResponseProto)

    def get_storage_policy(self, path: str) -> pb.BlockStoragePolicyProto:
        request = calls.GetStoragePolicyRequestProto(path=path)
        answer = self.call("getStoragePolicy", request, calls.GetStoragePolicyResponseProto)
        return answer.storagePolicy

    def get_storage_policies(self) -> list[pb.BlockStoragePolicyProto]:
        request = calls.GetStoragePoliciesRequestProto()
        answer = self.call("getStoragePolicies", request, calls.GetStoragePoliciesResponseProto)
        return list(answer.policies)
