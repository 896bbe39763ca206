"""Features that this namenode does not have: tokens, encryption, erasure coding (pure).

Clients ask about some of them in the course of ordinary calls, and get the answer of a
Hadoop namenode on which the feature is not in use. `REFUSED` are the calls that would use
one: they are refused by name as not supported.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from howdah.namenode.service.calls.permissions import Access
from howdah.namenode.service.namesystem import Namesystem
from howdah.namenode.state.inodes import paths
from howdah.namenode.state.tree.reserved import is_reserved
from howdah.namenode.state.tree.snapshot_views import DotSnapshot
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.protocol.rpc.call import Caller

REFUSED: Final = frozenset(
    {
        "renewDelegationToken",
        "cancelDelegationToken",
        "createEncryptionZone",
        "listEncryptionZones",
        "reencryptEncryptionZone",
        "listReencryptionStatus",
        "setErasureCodingPolicy",
        "unsetErasureCodingPolicy",
        "getECTopologyResultForPolicies",
        "addErasureCodingPolicies",
        "removeErasureCodingPolicy",
        "enableErasureCodingPolicy",
        "disableErasureCodingPolicy",
    }
)


class AbsentFeatureMethods:
    """Questions whose answer is that there is none."""

    def __init__(self, namesystem: Namesystem) -> None:
        self._namesystem = namesystem

    def get_delegation_token(self, request: Message, caller: Caller) -> Message:
        return rpc_pb2.GetDelegationTokenResponseProto()

    def get_data_encryption_key(
        self, request: pb.GetDataEncryptionKeyRequestProto, caller: Caller
    ) -> pb.GetDataEncryptionKeyResponseProto:
        return pb.GetDataEncryptionKeyResponseProto()

    def get_erasure_coding_policy(self, request: Message, caller: Caller) -> Message:
        assert isinstance(request, types_pb2.GetErasureCodingPolicyRequestProto)
        _, found = self._namesystem.resolver.resolve_checked(caller, request.src)
        is_virtual = isinstance(found.inode, DotSnapshot) or is_reserved(found.components)
        if not is_virtual and found.components[-1:] != [paths.DOT_SNAPSHOT]:
            found.require("Path not found: {}")
        return types_pb2.GetErasureCodingPolicyResponseProto()

    def get_erasure_coding_policies(self, request: Message, caller: Caller) -> Message:
        return types_pb2.GetErasureCodingPoliciesResponseProto()

    def get_erasure_coding_codecs(self, request: Message, caller: Caller) -> Message:
        return types_pb2.GetErasureCodingCodecsResponseProto()

    def get_ezfor_path(self, request: pb.GetEZForPathRequestProto, caller: Caller) -> Message:
        who, found = self._namesystem.resolver.resolve_checked(caller, request.src)
        if found.inode is not None:
            self._namesystem.permissions.check(who, found.inode, Access.READ)
        return pb.GetEZForPathResponseProto()
