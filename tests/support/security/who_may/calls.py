"""The calls of every RPC port, and who may make them (pure).

The calls are those of the services that the servers register; which services that are is asked of
running servers, too (`tests/compat/test_who_may.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from howdah.datanode.process import ipc, reconfiguration
from howdah.datanode.recovery import inter_datanode
from howdah.failover.service_calls import controller_service
from howdah.journalnode.election_service import Elections, election_service
from howdah.journalnode.protocol import JournalCalls, WebPlace
from howdah.namenode.server.lifeline import LifelineProtocol
from howdah.namenode.service.protocols.ha_service import HAService, HASettings
from howdah.namenode.service.protocols.namenode import NamenodeProtocol
from howdah.namenode.service.protocols.refresh import Reconfiguration, refresh_services
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2
from howdah.protocol.rpc import protocol_info
from howdah.protocol.rpc.service import Service
from howdah.router import admin
from howdah.router.state.methods import REFUSED
from howdah.router.state.refreshing import policy_service
from howdah.router.state.refreshing import refresh_services as router_refresh_services
from howdah.testing.in_memory import CLUSTER, InMemoryNamenode
from tests.support.security.who_may.askers import Asker

_UNUSED: Final[Any] = SimpleNamespace()
_HDFS: Final = "org.apache.hadoop.hdfs."
_CLIENT_PROTOCOL: Final = f"{_HDFS}protocol.ClientProtocol"


class _Anything:
    """Has every method."""

    def __getattr__(self, name: str) -> Any:
        return lambda request, caller: None


def services() -> Mapping[str, list[Service]]:
    """By the kinds of ports: what is registered there."""
    namenode = InMemoryNamenode()
    anything: Any = _Anything()
    system = namenode.namesystem
    client = pb.DESCRIPTOR.services_by_name["ClientNamenodeProtocol"]
    served = {
        "router": [
            # Each call is passed on or refused (`howdah.router.calls.forwarding`).
            Service(_CLIENT_PROTOCOL, 1, client, anything),
            policy_service(anything),
        ],
        "router-admin": [
            Service(admin.PROTOCOL, 1, admin.DESCRIPTOR, anything),
            policy_service(anything),
            *router_refresh_services(),
        ],
        "namenode": [
            namenode.client.service(),
            namenode.datanode.service(),
            NamenodeProtocol(system, CLUSTER, _UNUSED, _UNUSED).service(),
            HAService(
                system, lambda: "ACTIVE", lambda: "", None, HASettings(False, False)
            ).service(),
            Reconfiguration(system, {}, _UNUSED, _UNUSED).service(),
            *refresh_services(system, _UNUSED, _UNUSED, _UNUSED),
        ],
        "lifeline": [LifelineProtocol(_UNUSED, lambda: 0).service()],
        "datanode": [
            ipc.service(anything),
            reconfiguration.service(anything),
            inter_datanode.service(anything),
        ],
        "journalnode": [
            *JournalCalls(_UNUSED, WebPlace()).services(),
            election_service(Elections(Path())),
        ],
        "controller": [controller_service(anything)],
    }
    for those in served.values():
        those.append(
            Service(
                protocol_info.PROTOCOL,
                1,
                rpc_pb2.DESCRIPTOR.services_by_name["ProtocolInfoService"],
                anything,
            )
        )
    return served


@unique
class Rule(Enum):
    """Who may make a call, in words for people."""

    EVERYBODY = "every user with a ticket or a token"
    OWNER = "who may do that to the path, by its owner, mode and ACL, and the superuser"
    SUPERUSER = "the superuser"
    TICKET = "every user with a ticket"
    RENEWER = "the renewer whom the token names, with a ticket"
    TOKENS_OWNER = "the owner and the renewer of the token"
    DATANODES = "datanodes, from the host in their principal"
    NAMENODES = "namenodes and their controllers"
    JOURNAL_NODES = "other journal nodes"
    ADMINISTRATORS = "the controller's user and `dfs.cluster.administrators`"
    OPERATOR = "the user of the datanode's principal"
    BLOCK_TOKEN = "who has a token for the block: see below"
    MOUNT_POINT = "who may write the mount point, or the one above a new one, and the superuser"
    NOT_SERVED = "nobody: refused by name"


_PEOPLE: Final = frozenset({Asker.STRANGER, Asker.OWNER, Asker.TOKEN})
_ABOVE: Final = frozenset({Asker.ADMINISTRATOR, Asker.NAMENODE})
ALLOWED: Final[Mapping[Rule, frozenset[Asker]]] = {
    Rule.EVERYBODY: _PEOPLE | _ABOVE,
    Rule.OWNER: _ABOVE | {Asker.OWNER, Asker.TOKEN},
    Rule.SUPERUSER: _ABOVE,
    Rule.TICKET: _ABOVE | {Asker.STRANGER, Asker.OWNER},
    Rule.RENEWER: frozenset({Asker.OWNER}),
    Rule.TOKENS_OWNER: frozenset({Asker.OWNER, Asker.TOKEN}),
    Rule.DATANODES: frozenset({Asker.DATANODE}),
    Rule.NAMENODES: frozenset({Asker.NAMENODE}),
    Rule.JOURNAL_NODES: frozenset({Asker.JOURNALNODE}),
    Rule.ADMINISTRATORS: _ABOVE,
    Rule.OPERATOR: _ABOVE,
    Rule.BLOCK_TOKEN: frozenset(),
    Rule.MOUNT_POINT: _ABOVE | {Asker.OWNER},
    Rule.NOT_SERVED: frozenset(),
}

_HADOOP: Final = "org.apache.hadoop."

_NAMENODES: Final[Mapping[str, Mapping[str, Mapping[Rule, str]]]] = {
    "namenode": {
        f"{_HDFS}protocol.ClientProtocol": {
            Rule.EVERYBODY: """
                getServerDefaults getStoragePolicies getFsStats getFsReplicatedBlockStats
                getFsECBlockGroupStats upgradeStatus getErasureCodingPolicies
                getErasureCodingCodecs getSnapshottableDirListing getHAServiceState msync
                getSlowDatanodeReport getDataEncryptionKey listCachePools listCacheDirectives
                renewLease reportBadBlocks updateBlockForPipeline updatePipeline
                getBatchedListing
            """,
            Rule.OWNER: """
                getBlockLocations getFileInfo getFileLinkInfo getLocatedFileInfo getListing
                getLinkTarget getContentSummary getQuotaUsage getPreferredBlockSize
                getEnclosingRoot checkAccess isFileClosed getEZForPath
                create append truncate concat recoverLease addBlock abandonBlock
                getAdditionalDatanode complete fsync
                mkdirs rename rename2 delete createSymlink setReplication setPermission setOwner
                setTimes modifyAclEntries removeAclEntries removeDefaultAcl removeAcl setAcl
                getAclStatus setXAttr getXAttrs listXAttrs removeXAttr
                getStoragePolicy setStoragePolicy unsetStoragePolicy satisfyStoragePolicy
                getErasureCodingPolicy setErasureCodingPolicy unsetErasureCodingPolicy
                createSnapshot renameSnapshot deleteSnapshot getSnapshotListing
                getSnapshotDiffReport getSnapshotDiffReportListing
                addCacheDirective modifyCacheDirective removeCacheDirective
            """,
            Rule.SUPERUSER: """
                getDatanodeReport getDatanodeStorageReport getECTopologyResultForPolicies
                setSafeMode saveNamespace rollEdits restoreFailedStorage refreshNodes
                finalizeUpgrade rollingUpgrade listCorruptFileBlocks metaSave listOpenFiles
                getCurrentEditLogTxid getEditsFromTxid setQuota setBalancerBandwidth
                allowSnapshot disallowSnapshot addCachePool modifyCachePool removeCachePool
                addErasureCodingPolicies removeErasureCodingPolicy enableErasureCodingPolicy
                disableErasureCodingPolicy createEncryptionZone listEncryptionZones
                reencryptEncryptionZone listReencryptionStatus
            """,
            Rule.TICKET: "getDelegationToken",
            Rule.RENEWER: "renewDelegationToken",
            Rule.TOKENS_OWNER: "cancelDelegationToken",
        },
        f"{_HDFS}server.protocol.DatanodeProtocol": {
            Rule.DATANODES: """
                versionRequest registerDatanode sendHeartbeat blockReport cacheReport
                blockReceivedAndDeleted errorReport reportBadBlocks commitBlockSynchronization
            """
        },
        f"{_HDFS}server.protocol.NamenodeProtocol": {
            Rule.EVERYBODY: "versionRequest",
            Rule.SUPERUSER: """
                getBlocks getBlockKeys getTransactionId getMostRecentCheckpointTxId
                getMostRecentNameNodeFileTxId rollEditLog errorReport getEditLogManifest
                isUpgradeFinalized isRollingUpgrade getNextSPSPath
            """,
            Rule.NOT_SERVED: "registerSubordinateNamenode startCheckpoint endCheckpoint",
        },
        f"{_HADOOP}ha.HAServiceProtocol": {
            Rule.SUPERUSER: """
                monitorHealth getServiceStatus transitionToActive transitionToStandby
                transitionToObserver
            """
        },
        f"{_HDFS}protocol.ReconfigurationProtocol": {
            Rule.SUPERUSER: """
                startReconfiguration getReconfigurationStatus listReconfigurableProperties
            """
        },
        f"{_HADOOP}security.authorize.RefreshAuthorizationPolicyProtocol": {
            Rule.EVERYBODY: "refreshServiceAcl"
        },
        f"{_HADOOP}security.RefreshUserMappingsProtocol": {
            Rule.EVERYBODY: "refreshUserToGroupsMappings refreshSuperUserGroupsConfiguration"
        },
        f"{_HADOOP}ipc.RefreshCallQueueProtocol": {Rule.NOT_SERVED: "refreshCallQueue"},
        f"{_HADOOP}tools.GetUserMappingsProtocol": {Rule.EVERYBODY: "getGroupsForUser"},
        protocol_info.PROTOCOL: {Rule.EVERYBODY: "getProtocolVersions getProtocolSignature"},
    },
    "lifeline": {
        f"{_HDFS}server.protocol.DatanodeLifelineProtocol": {Rule.DATANODES: "sendLifeline"},
        protocol_info.PROTOCOL: {Rule.DATANODES: "getProtocolVersions getProtocolSignature"},
    },
    "datanode": {
        f"{_HDFS}protocol.ClientDatanodeProtocol": {
            Rule.EVERYBODY: "getDatanodeInfo getBalancerBandwidth",
            Rule.BLOCK_TOKEN: "getReplicaVisibleLength",
            Rule.NOT_SERVED: "getBlockLocalPathInfo",
            Rule.OPERATOR: """
                refreshNamenodes deleteBlockPool evictWriters getVolumeReport shutdownDatanode
                triggerBlockReport startReconfiguration getReconfigurationStatus
                listReconfigurableProperties submitDiskBalancerPlan cancelDiskBalancerPlan
                queryDiskBalancerPlan getDiskBalancerSetting
            """,
        },
        f"{_HDFS}protocol.ReconfigurationProtocol": {
            Rule.OPERATOR: """
                startReconfiguration getReconfigurationStatus listReconfigurableProperties
            """
        },
        f"{_HDFS}server.protocol.InterDatanodeProtocol": {
            Rule.DATANODES: "initReplicaRecovery updateReplicaUnderRecovery"
        },
        protocol_info.PROTOCOL: {Rule.EVERYBODY: "getProtocolVersions getProtocolSignature"},
    },
    "journalnode": {
        f"{_HDFS}qjournal.protocol.QJournalProtocol": {
            Rule.NAMENODES: """
                isFormatted getJournalCTime doPreUpgrade doUpgrade doFinalize canRollBack
                doRollback discardSegments getJournalState newEpoch format journal heartbeat
                startLogSegment finalizeLogSegment purgeLogs getEditLogManifest
                getJournaledEdits prepareRecovery acceptRecovery
            """
        },
        f"{_HDFS}qjournal.protocol.InterQJournalProtocol": {
            Rule.JOURNAL_NODES: "getEditLogManifestFromJournal getStorageInfo"
        },
        "org.howdah.journalnode.ElectionProtocol": {
            Rule.NAMENODES: "getElection acquire release setBreadcrumb clearBreadcrumb"
        },
        protocol_info.PROTOCOL: {Rule.NAMENODES: "getProtocolVersions getProtocolSignature"},
    },
    "controller": {
        f"{_HADOOP}ha.ZKFCProtocol": {Rule.ADMINISTRATORS: "cedeActive gracefulFailover"},
        protocol_info.PROTOCOL: {Rule.EVERYBODY: "getProtocolVersions getProtocolSignature"},
    },
}


def _at_routers() -> Mapping[Rule, str]:
    """A router passes calls on as the user who makes them, and refuses some by name."""
    rules = {
        rule: " ".join(name for name in names.split() if name not in REFUSED)
        for rule, names in _NAMENODES["namenode"][_CLIENT_PROTOCOL].items()
    }
    return {**rules, Rule.NOT_SERVED: " ".join(sorted(REFUSED))}


FRONTS: Final = ("router", "router-admin")
"""The ports of what stands before a cluster."""
_VERDICTS: Final[Mapping[str, Mapping[str, Mapping[Rule, str]]]] = {
    **_NAMENODES,
    "router": {
        _CLIENT_PROTOCOL: _at_routers(),
        f"{_HADOOP}security.authorize.RefreshAuthorizationPolicyProtocol": {
            Rule.EVERYBODY: "refreshServiceAcl"
        },
        protocol_info.PROTOCOL: {Rule.EVERYBODY: "getProtocolVersions getProtocolSignature"},
    },
    "router-admin": {
        f"{_HDFS}protocolPB.RouterAdminProtocol": {
            Rule.MOUNT_POINT: """
                addMountTableEntry addMountTableEntries updateMountTableEntry removeMountTableEntry
            """,
            Rule.SUPERUSER: """
                enterSafeMode leaveSafeMode disableNameservice enableNameservice
                refreshSuperUserGroupsConfiguration
            """,
            Rule.EVERYBODY: """
                getMountTableEntries getSafeMode getDisabledNameservices
                refreshMountTableEntries getDestination
            """,
        },
        f"{_HADOOP}security.authorize.RefreshAuthorizationPolicyProtocol": {
            Rule.EVERYBODY: "refreshServiceAcl"
        },
        f"{_HADOOP}ipc.RefreshCallQueueProtocol": {Rule.NOT_SERVED: "refreshCallQueue"},
        f"{_HADOOP}ipc.GenericRefreshProtocol": {Rule.EVERYBODY: "refresh"},
        protocol_info.PROTOCOL: {Rule.EVERYBODY: "getProtocolVersions getProtocolSignature"},
    },
}
"""By the kinds of ports and the Java names of protocols. What tells of a server's protocols is
asked over a connection that speaks another one, the first of its port here."""


@dataclass(frozen=True, slots=True)
class RpcRow:
    """A call of a port, and who may make it."""

    port: str
    protocol: str
    method: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.port}-{self.protocol.rpartition('.')[2]}-{self.method}"


ROWS: Final = tuple(
    RpcRow(port, protocol, method, rule)
    for port, protocols in _VERDICTS.items()
    for protocol, rules in protocols.items()
    for rule, methods in rules.items()
    for method in methods.split()
)


def opening(port: str, protocol: str) -> str:
    """Which protocol a connection names at its beginning that is to speak `protocol`."""
    return next(iter(_VERDICTS[port])) if protocol == protocol_info.PROTOCOL else protocol


# -- what they hear ----------------------------------------------------------------

ACCESS: Final = "org.apache.hadoop.security.AccessControlException"
AUTHORIZATION: Final = "org.apache.hadoop.security.authorize.AuthorizationException"
INVALID: Final = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
SASL: Final = "javax.security.sasl.SaslException"
UNSUPPORTED: Final = "java.lang.UnsupportedOperationException"
STANDBY: Final = "org.apache.hadoop.ipc.StandbyException"
IO: Final = "java.io.IOException"
REFUSALS: Final = frozenset({ACCESS, AUTHORIZATION, INVALID, SASL})
ANSWERED: Final = ""

_REFUSED_BY: Final[Mapping[Rule, str]] = {
    Rule.OWNER: ACCESS,
    Rule.SUPERUSER: ACCESS,
    Rule.TICKET: IO,
    Rule.RENEWER: ACCESS,
    Rule.TOKENS_OWNER: ACCESS,
    Rule.DATANODES: AUTHORIZATION,
    Rule.NAMENODES: AUTHORIZATION,
    Rule.JOURNAL_NODES: AUTHORIZATION,
    Rule.ADMINISTRATORS: ACCESS,
    Rule.OPERATOR: ACCESS,
    Rule.BLOCK_TOKEN: ACCESS,
    Rule.MOUNT_POINT: ACCESS,
    Rule.NOT_SERVED: UNSUPPORTED,
}


def expected(row: RpcRow, who: Asker) -> str:
    """The Java class of the exception by which a call is refused; `ANSWERED` where it is not."""
    takes_tokens = row.port in ("namenode", "router")
    is_by_token = who in (Asker.FORGED, Asker.EXPIRED, Asker.TOKEN)
    if row.method == "transitionToStandby" and is_by_token:
        return STANDBY  # It is asked of a standby, which may not know of a token yet.
    match who:
        case Asker.NOBODY:
            return ACCESS
        case Asker.FORGED:
            return SASL
        case Asker.EXPIRED:
            return INVALID if takes_tokens else SASL
        case Asker.TOKEN if not takes_tokens:
            return SASL
        case Asker.PROXY:
            return AUTHORIZATION
    if who in ALLOWED[row.rule]:
        return ANSWERED
    if who in (Asker.DATANODE, Asker.FOREIGN_DATANODE, Asker.JOURNALNODE):
        return AUTHORIZATION
    if row.method == "getBlockLocalPathInfo":
        return ACCESS
    if row.method == "renewDelegationToken" and who is Asker.TOKEN:
        return IO
    return _REFUSED_BY[row.rule]
