"""What a user without privileges is answered (part of the conversation).

First every administrative call of the namenode and of the datanode: does it refuse the
user? Then calls that could be refused for several reasons: which one is reported, the
missing permission or the missing parent?
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.support.answers.asking import (
    AT_DATANODE,
    AUTHORIZATION,
    CALL_QUEUE,
    CLIENT,
    DATANODE,
    MAPPINGS,
    NAMENODE,
    Asking,
    Protocol,
)

UNPRIVILEGED: Final = "mallory"
WRITER: Final = "DFSClient_mallory"

_MODE: Final = {"perm": 0o755}
_NO_LIMIT: Final = (1 << 63) - 1

Call = tuple[Protocol, str, dict[str, Any]]


def ask_unprivileged(asking: Asking, datanode: tuple[str, int]) -> None:
    """Ask all of it; `datanode` is its address for calls."""
    for protocol, method, fields in _administrative():
        asking.call(_name(protocol, method, fields), protocol, method, fields, user=UNPRIVILEGED)
    for method, fields in _of_a_datanode().items():
        name = f"{method} by a stranger"
        asking.call(name, AT_DATANODE, method, fields, at=datanode, user=UNPRIVILEGED)
    _prepare(asking)
    for what, method, fields in _refused_for_two_reasons():
        asking.call(f"{method} by a stranger: {what}", CLIENT, method, fields, user=UNPRIVILEGED)


def _name(protocol: Protocol, method: str, fields: dict[str, Any]) -> str:
    place = {NAMENODE: "NamenodeProtocol ", DATANODE: "DatanodeProtocol "}.get(protocol, "")
    action = f" {fields['action']}" if "action" in fields else ""
    return f"{place}{method}{action} by a stranger"


def _administrative() -> Iterator[Call]:
    client: dict[str, dict[str, Any]] = {
        "getServerDefaults": {},
        "getDatanodeReport": {"type": "LIVE"},
        "getDatanodeStorageReport": {"type": "LIVE"},
        "getSlowDatanodeReport": {},
        "getFsStats": {},
        "getFsReplicatedBlockStats": {},
        "listCorruptFileBlocks": {"path": "/"},
        "listOpenFiles": {"id": 0, "types": ["ALL_OPEN_FILES"], "path": "/"},
        "metaSave": {"filename": "stranger"},
        "saveNamespace": {},
        "rollEdits": {},
        "restoreFailedStorage": {"arg": "check"},
        "refreshNodes": {},
        "finalizeUpgrade": {},
        "upgradeStatus": {},
        "setBalancerBandwidth": {"bandwidth": 1 << 20},
        "getCurrentEditLogTxid": {},
        "getEditsFromTxid": {"txid": 1},
        "allowSnapshot": {"snapshotRoot": "/"},
        "disallowSnapshot": {"snapshotRoot": "/"},
        "setQuota": {"path": "/", "namespaceQuota": 9, "storagespaceQuota": _NO_LIMIT},
        "getQuotaUsage": {"path": "/"},
        "getStoragePolicies": {},
        "setStoragePolicy": {"src": "/", "policyName": "HOT"},
        "satisfyStoragePolicy": {"src": "/"},
        "setOwner": {"src": "/", "username": UNPRIVILEGED, "groupname": ""},
        "setPermission": {"src": "/", "permission": {"perm": 0o777}},
        "getSnapshottableDirListing": {},
        "msync": {},
    }
    for method, fields in client.items():
        yield CLIENT, method, fields
    for action in ("SAFEMODE_GET", "SAFEMODE_ENTER"):
        yield CLIENT, "setSafeMode", {"action": action, "checked": False}
    yield CLIENT, "rollingUpgrade", {"action": "QUERY"}
    for method in (
        "versionRequest",
        "getTransactionId",
        "getMostRecentCheckpointTxId",
        "rollEditLog",
        "getBlockKeys",
        "isUpgradeFinalized",
        "isRollingUpgrade",
        "getNextSPSPath",
    ):
        yield NAMENODE, method, {}
    yield NAMENODE, "getEditLogManifest", {"sinceTxId": 1}
    yield DATANODE, "versionRequest", {}
    yield MAPPINGS, "refreshUserToGroupsMappings", {}
    yield MAPPINGS, "refreshSuperUserGroupsConfiguration", {}
    yield AUTHORIZATION, "refreshServiceAcl", {}
    yield CALL_QUEUE, "refreshCallQueue", {}


def _of_a_datanode() -> dict[str, dict[str, Any]]:
    return {
        "getDatanodeInfo": {},
        "getVolumeReport": {},
        "getBalancerBandwidth": {},
        "triggerBlockReport": {"incremental": True},
        "evictWriters": {},
        "refreshNamenodes": {},
        "deleteBlockPool": {"blockPool": "BP-none", "force": False},
        "shutdownDatanode": {"forUpgrade": False},
    }


def _prepare(asking: Asking) -> None:
    """The superuser makes what the calls are about."""
    for path, mode in (("/closed", 0o700), ("/theirs", 0o755), ("/theirs/d", 0o755)):
        fields = {"src": path, "masked": {"perm": mode}, "createParent": True}
        asking.call(f"mkdirs {path}", CLIENT, "mkdirs", fields)
    create = _create("/theirs/f", "DFSClient_theirs")
    asking.call("create /theirs/f", CLIENT, "create", create)
    done = {"src": "/theirs/f", "clientName": "DFSClient_theirs"}
    asking.call("complete /theirs/f", CLIENT, "complete", done)


def _create(path: str, client: str, *, parents: bool = True, flag: int = 1) -> dict[str, Any]:
    return {
        "src": path,
        "masked": {"perm": 0o644},
        "clientName": client,
        "createFlag": flag,
        "createParent": parents,
        "replication": 1,
        "blockSize": 1024,
    }


def _refused_for_two_reasons() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for place, where in (
        ("/theirs", "where it may not write"),
        ("/closed", "where it may not look"),
    ):
        for depth in ("no", "no/parent"):
            path = f"{place}/{depth}"
            without = f"{where}, {'the parent is missing' if '/' in depth else 'nothing is there'}"
            for parents in (False, True):
                made = {"src": path, "masked": _MODE, "createParent": parents}
                how = f"{without}, {'with' if parents else 'without'} parents"
                yield how, "mkdirs", made
                yield how, "create", _create(path, WRITER, parents=parents)
                link = {
                    "target": "x",
                    "link": path,
                    "dirPerm": _MODE,
                    "createParent": parents,
                }
                yield how, "createSymlink", link
            yield without, "create", _create(path, WRITER, flag=2)
            break_in: dict[str, dict[str, Any]] = {
                "append": {"src": path, "clientName": WRITER, "flag": 4},
                "truncate": {"src": path, "newLength": 0, "clientName": WRITER},
                "delete": {"src": path, "recursive": True},
                "rename": {"src": path, "dst": "/theirs/moved"},
                "rename2": {"src": path, "dst": "/theirs/moved", "overwriteDest": False},
                "setPermission": {"src": path, "permission": {"perm": 0o777}},
                "setOwner": {"src": path, "username": UNPRIVILEGED},
                "setTimes": {"src": path, "mtime": 1, "atime": 1},
                "setReplication": {"src": path, "replication": 1},
                "getFileInfo": {"src": path},
                "getBlockLocations": {"src": path, "offset": 0, "length": 1},
                "getContentSummary": {"path": path},
                "getQuotaUsage": {"path": path},
                "getListing": {"src": path, "startAfter": b"", "needLocation": False},
                "getXAttrs": {"src": path},
                "getAclStatus": {"src": path},
                "setXAttr": {
                    "src": path,
                    "xAttr": {"namespace": "USER", "name": "a"},
                    "flag": 1,
                },
                "removeAcl": {"src": path},
                "setStoragePolicy": {"src": path, "policyName": "HOT"},
                "satisfyStoragePolicy": {"src": path},
                "checkAccess": {"path": path, "mode": "READ"},
                "concat": {"trg": path, "srcs": [f"{place}/f"]},
                "recoverLease": {"src": path, "clientName": WRITER},
                "isFileClosed": {"src": path},
                "getPreferredBlockSize": {"filename": path},
                "getLinkTarget": {"path": path},
                "createSnapshot": {"snapshotRoot": path, "snapshotName": "s"},
            }
            for method, fields in break_in.items():
                yield without, method, fields
    there = "it is theirs"
    file = "/theirs/f"
    theirs: dict[str, dict[str, Any]] = {
        "append": {"src": file, "clientName": WRITER, "flag": 4},
        "truncate": {"src": file, "newLength": 9, "clientName": WRITER},
        "delete": {"src": file, "recursive": True},
        "rename": {"src": file, "dst": "/theirs/d"},
        "rename2": {"src": file, "dst": "/no/where", "overwriteDest": False},
        "setPermission": {"src": file, "permission": {"perm": 0o777}},
        "setOwner": {"src": file, "username": UNPRIVILEGED},
        "setReplication": {"src": file, "replication": 1},
        "setTimes": {"src": file, "mtime": 1, "atime": 1},
        "recoverLease": {"src": file, "clientName": WRITER},
        "concat": {"trg": file, "srcs": ["/theirs/no"]},
    }
    for method, fields in theirs.items():
        yield there, method, fields
    yield there, "create", _create(file, WRITER)
    yield there + ", to be overwritten", "create", _create(file, WRITER, flag=3)
    yield "a directory is there", "create", _create("/theirs/d", WRITER, flag=3)
    yield (
        "a file is in the way",
        "mkdirs",
        {"src": file + "/x", "masked": _MODE, "createParent": True},
    )
    yield "a file is in the way", "create", _create(file + "/x", WRITER)
