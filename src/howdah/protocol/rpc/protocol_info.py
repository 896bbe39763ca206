"""Says which methods a server's protocols have, in terms of Java (pure).

ProtocolMetaInfoPB in Hadoop, which all of its RPC servers serve: `RpcClientUtil.isMethodSupported`
asks here before it calls what an older server may lack. A method is known by its fingerprint, a
hash over its name and the Java classes of its answer and of its parameters
(ProtocolSignature.getFingerprint). A method that a server refuses by name is none that it has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from google.protobuf.descriptor import MethodDescriptor

from howdah import errors
from howdah.proto import rpc_pb2 as pb

PROTOCOL: Final = "org.apache.hadoop.ipc.ProtocolMetaInfoPB"
RPC_KIND: Final = "RPC_PROTOCOL_BUFFER"
_OTHER_KINDS: Final = ("RPC_BUILTIN", "RPC_WRITABLE")
_CONTROLLER: Final = "org.apache.hadoop.thirdparty.protobuf.RpcController"
_HADOOP: Final = "org.apache.hadoop."
_HDFS_MESSAGES: Final = f"{_HADOOP}hdfs.protocol.proto."


@dataclass(frozen=True, slots=True)
class _Java:
    """What Java calls a protocol."""

    protocol: str
    """As calls name it."""
    messages: str = ""
    """The class that most messages of its methods are in."""
    others: tuple[tuple[str, str], ...] = ()
    """The classes of others: patterns of their names, and the class."""

    def class_of(self, message: str) -> str:
        for pattern, outer in self.others:
            if re.search(pattern, message):
                return f"{outer}${message}"
        return f"{self.messages}${message}"


_SERVER_MESSAGES: Final = (r"^Version", f"{_HDFS_MESSAGES}HdfsServerProtos")
INTERFACES: Final[Mapping[str, _Java]] = {
    f"{_HADOOP}hdfs.protocolPB.ClientNamenodeProtocolPB": _Java(
        f"{_HADOOP}hdfs.protocol.ClientProtocol",
        f"{_HDFS_MESSAGES}ClientNamenodeProtocolProtos",
        (
            (r"DelegationToken", f"{_HADOOP}security.proto.SecurityProtos"),
            (r"Acl", f"{_HDFS_MESSAGES}AclProtos"),
            (r"XAttr", f"{_HDFS_MESSAGES}XAttrProtos"),
            (
                r"EncryptionZone|Reencryption|GetEZForPath",
                f"{_HDFS_MESSAGES}EncryptionZonesProtos",
            ),
            (r"ErasureCoding|ECTopology", f"{_HDFS_MESSAGES}ErasureCodingProtos"),
        ),
    ),
    f"{_HADOOP}hdfs.protocolPB.ClientDatanodeProtocolPB": _Java(
        f"{_HADOOP}hdfs.protocol.ClientDatanodeProtocol",
        f"{_HDFS_MESSAGES}ClientDatanodeProtocolProtos",
        ((r"Reconfigur", f"{_HDFS_MESSAGES}ReconfigurationProtocolProtos"),),
    ),
    f"{_HADOOP}hdfs.protocolPB.ReconfigurationProtocolPB": _Java(
        f"{_HADOOP}hdfs.protocol.ReconfigurationProtocol",
        f"{_HDFS_MESSAGES}ReconfigurationProtocolProtos",
    ),
    f"{_HADOOP}hdfs.protocolPB.DatanodeProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.protocol.DatanodeProtocol",
        f"{_HDFS_MESSAGES}DatanodeProtocolProtos",
        (_SERVER_MESSAGES,),
    ),
    f"{_HADOOP}hdfs.protocolPB.DatanodeLifelineProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.protocol.DatanodeLifelineProtocol",
        f"{_HDFS_MESSAGES}DatanodeProtocolProtos",
        ((r"^Lifeline", f"{_HDFS_MESSAGES}DatanodeLifelineProtocolProtos"),),
    ),
    f"{_HADOOP}hdfs.protocolPB.InterDatanodeProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.protocol.InterDatanodeProtocol",
        f"{_HDFS_MESSAGES}InterDatanodeProtocolProtos",
    ),
    f"{_HADOOP}hdfs.protocolPB.NamenodeProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.protocol.NamenodeProtocol",
        f"{_HDFS_MESSAGES}NamenodeProtocolProtos",
        (_SERVER_MESSAGES,),
    ),
    f"{_HADOOP}hdfs.qjournal.protocolPB.QJournalProtocolPB": _Java(
        f"{_HADOOP}hdfs.qjournal.protocol.QJournalProtocol",
        f"{_HADOOP}hdfs.qjournal.protocol.QJournalProtocolProtos",
    ),
    f"{_HADOOP}hdfs.qjournal.protocolPB.InterQJournalProtocolPB": _Java(
        f"{_HADOOP}hdfs.qjournal.protocol.InterQJournalProtocol",
        f"{_HADOOP}hdfs.qjournal.protocol.QJournalProtocolProtos",
        (
            (
                r"^GetStorageInfoRequest",
                f"{_HADOOP}hdfs.qjournal.protocol.InterQJournalProtocolProtos",
            ),
            (r"^StorageInfo", f"{_HDFS_MESSAGES}HdfsServerProtos"),
        ),
    ),
    f"{_HADOOP}ha.protocolPB.HAServiceProtocolPB": _Java(
        f"{_HADOOP}ha.HAServiceProtocol", f"{_HADOOP}ha.proto.HAServiceProtocolProtos"
    ),
    f"{_HADOOP}ha.protocolPB.ZKFCProtocolPB": _Java(
        f"{_HADOOP}ha.ZKFCProtocol", f"{_HADOOP}ha.proto.ZKFCProtocolProtos"
    ),
    f"{_HADOOP}security.protocolPB.RefreshAuthorizationPolicyProtocolPB": _Java(
        f"{_HADOOP}security.authorize.RefreshAuthorizationPolicyProtocol",
        f"{_HADOOP}security.proto.RefreshAuthorizationPolicyProtocolProtos",
    ),
    f"{_HADOOP}security.protocolPB.RefreshUserMappingsProtocolPB": _Java(
        f"{_HADOOP}security.RefreshUserMappingsProtocol",
        f"{_HADOOP}security.proto.RefreshUserMappingsProtocolProtos",
    ),
    f"{_HADOOP}ipc.protocolPB.RefreshCallQueueProtocolPB": _Java(
        f"{_HADOOP}ipc.RefreshCallQueueProtocol",
        f"{_HADOOP}ipc.proto.RefreshCallQueueProtocolProtos",
    ),
    f"{_HADOOP}ipc.protocolPB.GenericRefreshProtocolPB": _Java(
        f"{_HADOOP}ipc.GenericRefreshProtocol",
        f"{_HADOOP}ipc.proto.GenericRefreshProtocolProtos",
    ),
    f"{_HADOOP}tools.protocolPB.GetUserMappingsProtocolPB": _Java(
        f"{_HADOOP}tools.GetUserMappingsProtocol",
        f"{_HADOOP}tools.proto.GetUserMappingsProtocolProtos",
    ),
    f"{_HADOOP}hdfs.protocolPB.RouterAdminProtocolPB": _Java(
        f"{_HADOOP}hdfs.protocolPB.RouterAdminProtocol",
        f"{_HADOOP}hdfs.federation.protocol.proto.HdfsServerFederationProtos",
    ),
    PROTOCOL: _Java(PROTOCOL, f"{_HADOOP}ipc.protobuf.ProtocolInfoProtos"),
    # That no server here has.
    f"{_HADOOP}hdfs.protocolPB.JournalProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.protocol.JournalProtocol"
    ),
    f"{_HADOOP}hdfs.protocolPB.AliasMapProtocolPB": _Java(
        f"{_HADOOP}hdfs.server.aliasmap.AliasMapProtocol"
    ),
}
"""By the Java interface that clients ask for."""


class Served(Protocol):
    """A protocol that a server has."""

    @property
    def version(self) -> int: ...

    @property
    def served(self) -> Sequence[MethodDescriptor]:
        """Its methods but for those that are refused by name."""


class ProtocolInfo:
    """The calls, for the protocols of one server."""

    def __init__(self, services: Mapping[str, Served]) -> None:
        self._services = services
        self._fingerprints: dict[str, list[int]] = {}
        """By the Java interface: they never change, and cost as much as a hundred calls."""

    def get_protocol_versions(
        self, request: pb.GetProtocolVersionsRequestProto, caller: object
    ) -> pb.GetProtocolVersionsResponseProto:
        """Raises RemoteError, Java's ClassNotFoundException, for no protocol of Hadoop's."""
        service = self._services.get(_known(request.protocol).protocol)
        versions = [] if service is None else [service.version]
        return pb.GetProtocolVersionsResponseProto(
            protocolVersions=[pb.ProtocolVersionProto(rpcKind=RPC_KIND, versions=versions)]
        )

    def get_protocol_signature(
        self, request: pb.GetProtocolSignatureRequestProto, caller: object
    ) -> pb.GetProtocolSignatureResponseProto:
        """Nothing for a protocol that this server does not have.

        Raises RemoteError, Java's ClassNotFoundException, for no protocol of Hadoop's, and its
        IllegalArgumentException for a kind of RPC that is none.
        """
        java = _known(request.protocol)
        service = self._services.get(java.protocol)
        if request.rpcKind not in (RPC_KIND, *_OTHER_KINDS):
            raise errors.IllegalArgument(f"{request.rpcKind} is no kind of RPC")
        if service is None or request.rpcKind != RPC_KIND:
            return pb.GetProtocolSignatureResponseProto()
        methods = self._fingerprints.get(request.protocol)
        if methods is None:
            methods = [_fingerprint(method, java) for method in service.served]
            self._fingerprints[request.protocol] = methods
        return pb.GetProtocolSignatureResponseProto(
            protocolSignature=[pb.ProtocolSignatureProto(version=service.version, methods=methods)]
        )


def _known(interface: str) -> _Java:
    try:
        return INTERFACES[interface]
    except KeyError:
        raise errors.RemoteError(
            f"{interface} is no protocol of Hadoop's",
            java_class="java.lang.ClassNotFoundException",
        ) from None


def _fingerprint(method: MethodDescriptor, java: _Java) -> int:
    answer = java.class_of(method.output_type.name)
    code = _hash_code(method.name) + 31 * _hash_code(answer)
    for parameter in (_CONTROLLER, java.class_of(method.input_type.name)):
        code = 31 * code ^ _hash_code(parameter)
    return code & 0xFFFFFFFF


def _hash_code(text: str) -> int:
    """Of a Java string, for one without characters beyond the basic plane."""
    code = 0
    for character in text:
        code = (31 * code + ord(character)) & 0xFFFFFFFF
    return code
