"""The operation category of every call that a namenode serves (pure).

As Hadoop's NameNodeRpcServer and FSNamesystem have them in `checkOperation` (3.5.0, row by
row); those of ClientProtocol are in its table (`howdah.protocol.client_methods`). The gate before
the dispatch runs on this table: a call that is not in it is not served. A test holds it against the
protocols.

Two calls have the category that their request asks for: safe mode (only on demand is it
checked at all) and rolling upgrades. `getBlocks` has the one that the configuration asks for:
with `dfs.namenode.get-blocks.check.operation` off a standby tells a balancer of its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from google.protobuf.message import Message

from howdah.namenode.service.ha.states import HAContext
from howdah.namenode.service.protocols import client, refresh
from howdah.namenode.service.protocols.datanodes.protocol import DatanodeProtocol
from howdah.namenode.service.protocols.ha_service import HAService
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.proto import client_namenode_pb2 as pb
from howdah.protocol.client_methods import METHODS, Category

ByRequest = Callable[[Message], Category]

UNCHECKED: Final = Category.UNCHECKED
READ: Final = Category.READ
WRITE: Final = Category.WRITE
CHECKPOINT: Final = Category.CHECKPOINT
JOURNAL: Final = Category.JOURNAL


def _safe_mode(request: Message) -> Category:
    assert isinstance(request, pb.SetSafeModeRequestProto)
    if not request.checked:
        return UNCHECKED
    return READ if request.action == pb.SAFEMODE_GET else WRITE


def _rolling_upgrade(request: Message) -> Category:
    assert isinstance(request, pb.RollingUpgradeRequestProto)
    return READ if request.action == pb.QUERY else WRITE


_OF_CLIENTS: Final[Mapping[str, Category | ByRequest]] = {
    "setSafeMode": _safe_mode,
    "rollingUpgrade": _rolling_upgrade,
    **{m: row.category for m, row in METHODS.items() if row.category is not None},
}

CATEGORIES: Final[Mapping[str, Mapping[str, Category | ByRequest]]] = {
    client.PROTOCOL: _OF_CLIENTS,
    DatanodeProtocol.PROTOCOL: {
        # Datanodes report to every namenode, so that a standby knows where blocks are.
        "versionRequest": UNCHECKED,
        "registerDatanode": UNCHECKED,
        "sendHeartbeat": UNCHECKED,
        "blockReport": UNCHECKED,
        "blockReceivedAndDeleted": UNCHECKED,
        "cacheReport": UNCHECKED,
        "errorReport": UNCHECKED,
        "reportBadBlocks": WRITE,
        "commitBlockSynchronization": WRITE,
    },
    NamenodeProtocol.PROTOCOL: {
        "versionRequest": UNCHECKED,
        "errorReport": UNCHECKED,
        "registerSubordinateNamenode": UNCHECKED,
        "getBlocks": READ,
        "getBlockKeys": UNCHECKED,
        "getTransactionId": UNCHECKED,
        "getMostRecentCheckpointTxId": UNCHECKED,
        "getMostRecentNameNodeFileTxId": UNCHECKED,
        "isUpgradeFinalized": UNCHECKED,
        "isRollingUpgrade": UNCHECKED,
        # Standbys refuse it with a sentence of their own, and check the caller before.
        "getNextSPSPath": UNCHECKED,
        "getEditLogManifest": READ,
        "rollEditLog": JOURNAL,
        "startCheckpoint": CHECKPOINT,
        "endCheckpoint": CHECKPOINT,
    },
    HAService.PROTOCOL: {
        "monitorHealth": UNCHECKED,
        "getServiceStatus": UNCHECKED,
        "transitionToActive": UNCHECKED,
        "transitionToStandby": UNCHECKED,
        "transitionToObserver": UNCHECKED,
    },
    refresh.RECONFIGURATION: {
        "startReconfiguration": UNCHECKED,
        "getReconfigurationStatus": UNCHECKED,
        "listReconfigurableProperties": UNCHECKED,
    },
    refresh.AUTHORIZATION: {"refreshServiceAcl": UNCHECKED},
    refresh.USER_MAPPINGS: {
        "refreshUserToGroupsMappings": UNCHECKED,
        "refreshSuperUserGroupsConfiguration": UNCHECKED,
    },
    refresh.CALL_QUEUE: {"refreshCallQueue": UNCHECKED},
    refresh.GROUPS: {"getGroupsForUser": UNCHECKED},
}


class CategoryGate:
    """Stands before every call (`Registry`'s guard): does the role serve its category?"""

    def __init__(self, context: HAContext, *, checks_get_blocks: bool = True) -> None:
        self._context = context
        self._unchecked = () if checks_get_blocks else ((NamenodeProtocol.PROTOCOL, "getBlocks"),)

    def __call__(self, protocol: str, method: str, request: Message) -> None:
        """Raises StandbyError, ObserverRetryOnActive."""
        if self._context.is_open:
            return
        if (protocol, method) in self._unchecked:
            category: Category | ByRequest = UNCHECKED
        else:
            category = CATEGORIES[protocol][method]
        if not isinstance(category, Category):
            category = category(request)
        self._context.check(category)
