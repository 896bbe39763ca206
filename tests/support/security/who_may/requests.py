"""A harmless request for each call (pure): all that its message requires, made of names and numbers
of which there is nothing.

Whoever gets in hears that there is no such file, block or journal, or changes nothing; whoever does
not may not even hear that. Where what is required does not do, a request has fields of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

DIRECTORY: Final = "/user/alice/private"
"""The owner's, which nobody else may enter."""
ABSENT: Final = f"{DIRECTORY}/absent"
POOL: Final = "alices"
"""A cache pool of the owner's."""
_PATHS: Final = frozenset(
    ("src", "dst", "path", "filename", "trg", "link", "zone", "snapshotRoot", "target")
)
MOUNT: Final = "/kept"
"""A mount point of the owner's at routers, which nobody else may write."""
_ENTRY: Final = {"destinations": [{"nameserviceId": "ns", "path": "/user"}]}
_BY_ZKFC: Final = {"reqInfo": {"reqSource": "REQUEST_BY_ZKFC"}}
_CLIENTS: Final = "org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB"

FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "addMountTableEntry": {"entry": {"srcPath": f"{MOUNT}/one", **_ENTRY}},
    "addMountTableEntries": {"entry": [{"srcPath": f"{MOUNT}/two", **_ENTRY}]},
    "updateMountTableEntry": {
        "entry": {"srcPath": MOUNT, "mode": 0o700, "ownerName": "alice", **_ENTRY}
    },
    "removeMountTableEntry": {"srcPath": MOUNT},
    "getDestination": {"srcPath": MOUNT},
    "disableNameservice": {"nameServiceId": "none"},
    "enableNameservice": {"nameServiceId": "none"},
    "addCacheDirective": {"info": {"path": ABSENT, "pool": POOL}},
    "concat": {"srcs": [f"{DIRECTORY}/other"]},
    "create": {"src": f"{ABSENT}/file", "createFlag": 1, "replication": 1, "blockSize": 1 << 20},
    "createSymlink": {"link": f"{ABSENT}/link"},
    "deleteSnapshot": {"snapshotName": "s"},
    "getBatchedListing": {"paths": [ABSENT]},
    "getBlocks": {"size": 1},
    "getEnclosingRoot": {"filename": ABSENT},
    "getEditsFromTxid": {"txid": 1},
    "getGroupsForUser": {"user": "alice"},
    "getLocatedFileInfo": {"src": ABSENT},
    "getMostRecentNameNodeFileTxId": {"nameNodeFile": "IMAGE"},
    "getProtocolSignature": {"protocol": _CLIENTS, "rpcKind": "RPC_PROTOCOL_BUFFER"},
    "getProtocolVersions": {"protocol": _CLIENTS},
    "listCacheDirectives": {"filter": {"path": ABSENT}},
    "listOpenFiles": {"id": 0, "types": ["ALL_OPEN_FILES"], "path": "/"},
    "modifyCacheDirective": {"info": {"id": 1}},
    "removeCacheDirective": {"id": 1},
    "mkdirs": {"src": f"{ABSENT}/directory"},
    "reportBadBlocks": {},
    "restoreFailedStorage": {"arg": "check"},
    "rollingUpgrade": {"action": "FINALIZE"},
    "setBalancerBandwidth": {"bandwidth": 10 << 20},
    "setQuota": {"namespaceQuota": 1 << 30, "storagespaceQuota": 1 << 60},
    "setReplication": {"replication": 1},
    "setSafeMode": {"action": "SAFEMODE_LEAVE"},
    "setStoragePolicy": {"policyName": "HOT"},
    "setXAttr": {"xAttr": {"namespace": "USER", "name": "a"}, "flag": 1},
    "transitionToActive": _BY_ZKFC,
    "transitionToObserver": _BY_ZKFC,
    "transitionToStandby": _BY_ZKFC,
}


def request_of(method: str, message: type[Message], pool_id: str) -> Message:
    """The request of a call. Blocks are said to be of a pool."""
    made = message()
    _fill(made, pool_id)
    ParseDict(dict(FIELDS.get(method, {})), made)
    return made


def _fill(message: Message, pool_id: str) -> None:
    for field in message.DESCRIPTOR.fields:
        if not field.is_required:
            continue
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            getattr(message, field.name).SetInParent()
            _fill(getattr(message, field.name), pool_id)
        elif field.name == "poolId":
            setattr(message, field.name, pool_id)
        else:
            setattr(message, field.name, _value(field))


def _value(field: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_STRING:
        return ABSENT if field.name in _PATHS else "none"
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b""
    if field.type == FieldDescriptor.TYPE_ENUM:
        return field.enum_type.values[0].number
    if field.type == FieldDescriptor.TYPE_BOOL:
        return False
    return 1
