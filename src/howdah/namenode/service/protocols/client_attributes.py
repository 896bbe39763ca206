"""Attributes: permission, owner, times, replication, storage policy (pure).

The part of ClientProtocol that Hadoop's FSDirAttrOp serves.
"""

from __future__ import annotations

from howdah.namenode.service.attributes.owner_mode_times import AttributeCalls
from howdah.namenode.service.attributes.policies import PolicyCalls
from howdah.namenode.service.attributes.satisfaction import SatisfactionCalls
from howdah.namenode.service.calls.at_most_once import AtMostOnce
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.service.protocols import encoders
from howdah.namenode.state.inodes.storage_policies import POLICIES
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.rpc.call import Caller


class AttributeMethods:
    """Calls that change an inode which exists. To repeat one is harmless, but
    for a mark: the satisfier may have taken it off meanwhile."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._attributes = AttributeCalls(namesystem)
        self._policies = PolicyCalls(namesystem)
        self._satisfaction = SatisfactionCalls(namesystem)
        self._once = AtMostOnce(namesystem)

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
            caller, request.src, encoders.signed(request.mtime), encoders.signed(request.atime)
        )
        return pb.SetTimesResponseProto()

    def set_replication(
        self, request: pb.SetReplicationRequestProto, caller: Caller
    ) -> pb.SetReplicationResponseProto:
        return pb.SetReplicationResponseProto(
            result=self._attributes.set_replication(caller, request.src, request.replication)
        )

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
        return pb.GetStoragePolicyResponseProto(storagePolicy=encoders.storage_policy(policy))

    def get_storage_policies(
        self, request: pb.GetStoragePoliciesRequestProto, caller: Caller
    ) -> pb.GetStoragePoliciesResponseProto:
        return pb.GetStoragePoliciesResponseProto(
            policies=map(encoders.storage_policy, POLICIES.values())
        )

    def satisfy_storage_policy(
        self, request: pb.SatisfyStoragePolicyRequestProto, caller: Caller
    ) -> pb.SatisfyStoragePolicyResponseProto:
        def run() -> pb.SatisfyStoragePolicyResponseProto:
            self._satisfaction.satisfy(caller, request.src)
            return pb.SatisfyStoragePolicyResponseProto()

        return self._once(caller, run, pb.SatisfyStoragePolicyResponseProto)
