"""The fingerprints of methods, against those of Hadoop's own interfaces."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from google.protobuf.descriptor import ServiceDescriptor

from howdah.proto import (
    client_datanode_pb2,
    client_namenode_pb2,
    datanode_namenode_pb2,
    failover_pb2,
    ha_pb2,
    inter_datanode_pb2,
    namenode_pb2,
    qjournal_pb2,
    refresh_pb2,
    rpc_pb2,
)
from howdah.protocol.rpc import protocol_info
from tests.support.hadoop.class_files import Method, read_class

FILES = (
    *(client_datanode_pb2, client_namenode_pb2, datanode_namenode_pb2, failover_pb2, ha_pb2),
    *(inter_datanode_pb2, namenode_pb2, qjournal_pb2, refresh_pb2, rpc_pb2),
)


class Whole:
    """A protocol of which no method is refused."""

    version = 1

    def __init__(self, descriptor: ServiceDescriptor) -> None:
        self.served = list(descriptor.methods)


def java_hash(text: str) -> int:
    code = 0
    for character in text:
        code = 31 * code + ord(character)
    return code


def fingerprint(method: Method) -> int:
    """ProtocolSignature.getFingerprint, of a method as its class file has it."""
    parameters, answer = method.descriptor.removeprefix("(").split(")")
    code = java_hash(method.name) + 31 * java_hash(class_in(answer))
    for parameter in re.findall(r"L[^;]+;", parameters):
        code = 31 * code ^ java_hash(class_in(parameter))
    return code % 2**32


def class_in(descriptor: str) -> str:
    return descriptor.strip("L;").replace("/", ".")


def test_fingerprints_are_those_of_hadoops_interfaces(hadoop_classpath: str) -> None:
    directory = Path(hadoop_classpath.split(":")[0]).parent
    found: dict[str, dict[str, int]] = {}
    for jar in sorted(directory.glob("hadoop-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith("$BlockingInterface.class"):
                    one = read_class(archive.read(name))
                    service = one.name.split("$")[-2]
                    found[service] = {each.name: fingerprint(each) for each in one.methods}
    compared = set()
    for file in FILES:
        for service, descriptor in file.DESCRIPTOR.services_by_name.items():
            interface = service.removesuffix("Service") + "PB"
            if service == "ProtocolInfoService":
                interface = "ProtocolMetaInfoPB"
            (java,) = [
                each
                for name, each in protocol_info.INTERFACES.items()
                if name.endswith(f".{interface}")
            ]
            info = protocol_info.ProtocolInfo({java.protocol: Whole(descriptor)})
            (name,) = [n for n in protocol_info.INTERFACES if n.endswith(f".{interface}")]
            answer = info.get_protocol_signature(
                rpc_pb2.GetProtocolSignatureRequestProto(
                    protocol=name, rpcKind=protocol_info.RPC_KIND
                ),
                None,
            )
            methods = answer.protocolSignature[0].methods
            ours = {
                method.name: code
                for method, code in zip(descriptor.methods, methods, strict=True)
                if method.name in found[service]
            }
            assert ours == found[service], service
            compared.add(name)
    assert len(compared) == 17
