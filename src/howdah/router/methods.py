"""What is done with each method of ClientProtocol (pure).

A call with one path goes either to the first destination that knows the path (`ONE`), or to
all destinations that have it (`EVERY`), where a path may be in several: a directory of an
entry that spreads its files. What is more than that is a method of one of the `calls_*`
modules. What a router cannot do for several namespaces is refused by name (`REFUSED`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from howdah.proto import client_namenode_pb2 as pb
from howdah.read_only_calls import COORDINATED

DESCRIPTOR: Final = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
ANSWERS: Final[Mapping[str, type[Message]]] = {
    method.name: GetMessageClass(method.output_type) for method in DESCRIPTOR.methods
}

ONE: Final[Mapping[str, str]] = {
    "getBlockLocations": "src",
    "isFileClosed": "src",
    "getLocatedFileInfo": "src",
    "getPreferredBlockSize": "filename",
    "getStoragePolicy": "path",
    "getAclStatus": "src",
    "getXAttrs": "src",
    "listXAttrs": "src",
    "checkAccess": "path",
    "getErasureCodingPolicy": "src",
    "getEZForPath": "src",
    "recoverLease": "src",
    "truncate": "src",
    "listCorruptFileBlocks": "path",
    "getFileLinkInfo": "src",
    "getLinkTarget": "path",
    "getEnclosingRoot": "filename",
}
"""Methods, and the field of their request with the path."""

EVERY: Final[Mapping[str, str]] = {
    "setReplication": "src",
    "setPermission": "src",
    "setOwner": "src",
    "setTimes": "src",
    "setStoragePolicy": "src",
    "unsetStoragePolicy": "src",
    "satisfyStoragePolicy": "src",
    "modifyAclEntries": "src",
    "removeAclEntries": "src",
    "removeDefaultAcl": "src",
    "removeAcl": "src",
    "setAcl": "src",
    "setXAttr": "src",
    "removeXAttr": "src",
    "setErasureCodingPolicy": "src",
    "unsetErasureCodingPolicy": "src",
    "createEncryptionZone": "src",
    "reencryptEncryptionZone": "zone",
}

QUOTA_COUNTS: Final = frozenset(
    {"create", "append", "addBlock", "mkdirs", "createSymlink", "setReplication", "truncate"}
)
"""Methods that may make a directory larger, and are refused where a quota is reached."""

UNCHECKED: Final = frozenset(
    {
        "getDatanodeReport",
        "getDatanodeStorageReport",
        "getSlowDatanodeReport",
        "saveNamespace",
        "restoreFailedStorage",
        "refreshNodes",
        "finalizeUpgrade",
        "upgradeStatus",
        "rollingUpgrade",
        "setSafeMode",
        "getHAServiceState",
        "getDataEncryptionKey",
        "getECTopologyResultForPolicies",
        "getFsStats",
        "getFsReplicatedBlockStats",
        "getFsECBlockGroupStats",
        "msync",
    }
)
"""Methods that any namenode answers, or that ask about the cluster."""

READ: Final = COORDINATED | {"getQuotaUsage"}


def is_write(method: str) -> bool:
    """Whether a router in safe mode refuses it, and a mount point that is read-only."""
    return method not in READ and method not in UNCHECKED


REFUSED: Final = frozenset(
    {
        "renewDelegationToken",
        "cancelDelegationToken",
        "getEditsFromTxid",
        "listEncryptionZones",
        "listReencryptionStatus",
        "getECTopologyResultForPolicies",
        "addErasureCodingPolicies",
        "removeErasureCodingPolicy",
        "enableErasureCodingPolicy",
        "disableErasureCodingPolicy",
    }
)
"""Their ids and cookies belong to one namenode: behind a router nobody could say to which."""
