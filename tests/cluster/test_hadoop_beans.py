"""`/jmx` has what monitoring reads of Hadoop's servers, or a reason why not."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from howdah.config import Configuration
from howdah.fs.registry import connect
from howdah.testing import MiniCluster
from tests.support.hadoop.beans import kind_of
from tests.support.routers import Routers
from tests.support.started import gateway, server

RECORDED = json.loads((Path(__file__).parent / "hadoop_beans.json").read_text())["beans"]
"""Kinds of values by service, bean and attribute, as Hadoop's servers have them."""
SERVICES = tuple(RECORDED)

READ = {
    # Ambari's alerts of HDFS (alerts.json).
    "NameNode": {
        "FSNamesystem": """MissingBlocks BlocksTotal PendingDeletionBlocks tag.HAState
            LastCheckpointTime TransactionsSinceLastCheckpoint StaleDataNodes
            UnderReplicatedBlocks CapacityUsed CapacityRemaining CapacityTotal CorruptBlocks
            FilesTotal NumLiveDataNodes NumDeadDataNodes VolumeFailuresTotal TotalLoad
            ScheduledReplicationBlocks ExpiredHeartbeats""",
        # Datadog's check of a namenode (HDFS_NAME_SYSTEM_STATE_METRICS), Zabbix's template.
        "FSNamesystemState": """CapacityTotal CapacityUsed CapacityRemaining TotalLoad
            FsLockQueueLength BlocksTotal MaxObjects FilesTotal PendingReplicationBlocks
            UnderReplicatedBlocks ScheduledReplicationBlocks PendingDeletionBlocks
            NumLiveDataNodes NumDeadDataNodes NumDecomLiveDataNodes NumDecomDeadDataNodes
            VolumeFailuresTotal EstimatedCapacityLostTotal NumDecommissioningDataNodes
            NumStaleDataNodes NumStaleStorages TopUserOpCounts FSState""",
        # The pages of Hadoop's own namenode, `hdfs dfsadmin`, `hdfs jmxget`.
        "NameNodeInfo": """Safemode LiveNodes DeadNodes DecomNodes EnteringMaintenanceNodes
            NameDirStatuses NameJournalStatus JournalTransactionInfo PercentUsed NodeUsage
            Total Used Free NonDfsUsedSpace BlockPoolUsedSpace CorruptFiles SoftwareVersion
            ClusterId BlockPoolId UpgradeFinalized RollingUpgradeStatus Threads""",
        "NameNodeStatus": "NNRole State HostAndPort SlowPeersReport SlowDisksReport",
        # Netdata's and the common exporters' for Prometheus.
        "NameNodeActivity": """CreateFileOps GetListingOps AddBlockOps FileInfoOps DeleteFileOps
            GetBlockLocations FilesRenamed SyncsAvgTime TransactionsNumOps""",
        "JvmMetrics": """MemHeapUsedM MemHeapCommittedM MemHeapMaxM GcCount ThreadsRunnable
            LogFatal LogError LogWarn LogInfo""",
        "RpcActivityForPort*": """RpcQueueTimeAvgTime RpcProcessingTimeAvgTime
            RpcQueueTimeNumOps RpcProcessingTimeNumOps CallQueueLength NumOpenConnections
            ReceivedBytes SentBytes NumDroppedConnections RpcAuthorizationFailures""",
        "RpcDetailedActivityForPort*": "GetFileInfoNumOps GetFileInfoAvgTime MkdirsNumOps",
        "java.lang:type=OperatingSystem": """SystemCpuLoad AvailableProcessors
            OpenFileDescriptorCount MaxFileDescriptorCount""",
        "java.lang:type=Memory": "HeapMemoryUsage",
        "java.lang:type=Runtime": "Uptime StartTime",
        "java.lang:type=Threading": "ThreadCount",
    },
    "DataNode": {
        "FSDatasetState": "Capacity DfsUsed Remaining NumFailedVolumes CacheCapacity CacheUsed",
        "DataNodeInfo": """VolumeInfo XceiverCount Version DatanodeHostname NamenodeAddresses
            BPServiceActorInfo ClusterId""",
        "DataNodeActivity-*": """BytesRead BytesWritten BlocksRead BlocksWritten BlocksReplicated
            BlocksRemoved HeartbeatsAvgTime WriteBlockOpAvgTime ReadBlockOpAvgTime FsyncCount
            FlushNanosAvgTime BlockReportsNumOps VolumeFailures TotalReadTime TotalWriteTime
            RemoteBytesRead RemoteBytesWritten ReadsFromLocalClient ReadsFromRemoteClient
            WritesFromLocalClient WritesFromRemoteClient BlocksVerified BlockVerificationFailures
            BlocksCached BlocksUncached RamDiskBlocksWrite RamDiskBlocksLazyPersisted
            RamDiskBlocksEvicted PacketsReceived DatanodeNetworkErrors""",
        # Whoever looks for a slow disk among many.
        "DataNodeVolume-*": """TotalMetadataOperations TotalDataFileIos MetadataOperationRateAvgTime
            ReadIoRateAvgTime WriteIoRateAvgTime SyncIoRateAvgTime DataFileIoRateNumOps
            tag.VolumeName""",
        "JvmMetrics": "MemHeapUsedM MemHeapMaxM GcCount ThreadsRunnable LogError",
    },
    # What watches a quorum: Cloudera's and Ambari's checks, dashboards for the JMX exporter.
    "JournalNode": {
        "JournalNodeInfo": "JournalsStatus",
        "Journal-*": """LastWrittenTxId LastWriterEpoch LastPromisedEpoch CurrentLagTxns
            BatchesWritten TxnsWritten BytesWritten BatchesWrittenWhileLagging
            Syncs60s99thPercentileLatencyMicros Syncs60sNumOps""",
        "RpcActivityForPort*": "RpcQueueTimeAvgTime RpcProcessingTimeAvgTime NumOpenConnections",
        "JvmMetrics": "MemHeapUsedM GcCount LogError",
    },
    "SecondaryNameNode": {
        "SecondaryNameNodeInfo": "LastCheckpointTime LastCheckpointDeltaMs HostAndPort",
    },
    # The pages of Hadoop's own router, and dashboards for routers.
    "Router": {
        "FederationState": """HostAndPort RouterStarted Version CompileInfo ClusterId BlockPoolId
            RouterStatus NumFiles NumBlocks TotalCapacity UsedCapacity RemainingCapacity
            NumNameservices NumNamenodes NumLiveNodes NumDeadNodes NumDecomLiveNodes
            NumDecomDeadNodes NumDecommissioningNodes NumOfBlocksUnderReplicated
            NumOfBlocksPendingDeletion NumOfMissingBlocks Nameservices Namenodes MountTable""",
        "FederationRPC": """ProxyOps ProxyAvg ProxyOpFailureStandby ProxyOpFailureCommunicate
            ProxyOpNoNamenodes ProxyOpRetries RouterFailureSafemodeOps RouterFailureReadOnlyOps
            RpcServerCallQueue RpcServerNumOpenConnections RpcClientNumConnections
            RpcClientNumActiveConnections""",
        "StateStore": "ReadOps ReadAvg WriteOps WriteAvg FailureOps",
        "Router": "Safemode SecurityEnabled",
        "RpcActivityForPort*": "RpcQueueTimeAvgTime RpcProcessingTimeAvgTime CallQueueLength",
    },
    "HttpFSServer": {
        "ServerActivity-HttpFSServer": "BytesRead BytesWritten OpsOpen OpsCreate OpsListing",
    },
}
"""What is asked for by those who are named: never to be excused."""

NOT_COUNTED = "howdah does not count it"
NO_JVM = "of the Java machine, which is not here"
EXCUSED = [
    # (service, bean, attribute, why)
    ("*", "*", r"tag\.(Hostname|SessionId|ProcessName|serverName|StorageInfo)", NO_JVM),
    ("*", "JvmMetrics", r"MemNonHeap\w+|Gc\w+|Threads\w+", NO_JVM),
    ("*", "java.lang:*", r".*", NO_JVM),
    ("*", "HttpServer2-*", r".*", "of Jetty, which is not here"),
    ("*", "MetricsSystem*", r".*", "of Hadoop's own metrics system"),
    ("*", "UgiMetrics", r".*", "there is no Kerberos login to count"),
    ("NameNode", "FSNamesystem", r"tag\.EnabledEcPolicies", "it is in ECBlockGroupsState"),
    ("NameNode", "IPCLoggerChannel-*", "LagTimeMillis", "no time of answers is kept: see "
     "CurrentLagTxns"),
    ("NameNode", "FSNamesystem*", "ReconstructionQueuesInitProgress", "the queues are filled "
     "while reports come: safe mode says how far they have"),
    ("NameNode", "FSNamesystem*", "PendingDataNodeMessageCount", "a standby keeps no reports for "
     "later"),
    ("NameNode", "FSNamesystem*", "BlockCapacity", "of Hadoop's hash table"),
    ("NameNode", "FSNamesystem*", "BlockDeletionStartTime", "nothing is put off after a start"),
    ("NameNode", "FSNamesystem*", "TotalSyncTimes", "tag.TotalSyncTimes of FSNamesystem has it"),
    ("NameNode", "NameNodeInfo", "NameDirSize", NOT_COUNTED),
    ("NameNode", "NameNodeInfo", "VerifyECWithTopologyResult", "`hdfs ec -verifyClusterSetup`"),
    ("NameNode", "NameNodeActivity", r"(GetEdit|GetImage|PutImage)(NumOps|AvgTime)", NOT_COUNTED),
    ("NameNode", "NameNodeActivity", r"GetAliasMap(NumOps|AvgTime)", "there is no provided "
     "storage"),
    ("NameNode", "NameNodeActivity", r"(GenerateEDEKTime|WarmUpEDEKTime)(NumOps|AvgTime)",
     "there is no encryption"),
    ("NameNode", "NameNodeActivity", r"BlockOps(Batched|Queued)|DeleteBlocksQueued|"
     "PendingDeleteBlocksCount", "blocks have no queue of their own: the loop takes them in "
     "slices"),
    ("NameNode", "NameNodeActivity", "NumTimesReReplicationNotScheduled|SuccessfulReReplications",
     NOT_COUNTED),
    ("NameNode", "NameNodeActivity", "TransactionsAvgTime", "edits are written in batches: see "
     "SyncsAvgTime"),
    ("*", "DelegationTokenSecretManagerMetrics", r".*", "there are no tokens"),
    ("*", "NNTopUserOpCounts", r".*", "TopUserOpCounts of the namenode says it"),
    ("*", "RpcActivityForPort*", r"(DeferredRpcProcessingTime|RpcEnQueueTime|RpcLockWaitTime|"
     r"RpcResponseTime)(NumOps|AvgTime)|RpcAuthentication\w+|RpcAuthorizationSuccesses|"
     r"RpcClientBackoff\w*|RpcRequeueCalls|RpcSlowCalls|NumInProcessHandler|"
     r"TotalRequestsPerSecond", "calls are served on one loop: no locks, handlers or back-off"),
    *(("Router", bean, r".*", "a router is no namenode: FederationState has the sums")
      for bean in ("FSNamesystem", "FSNamesystemState", "NameNodeInfo", "NameNodeStatus")),
    ("Router", "org.apache.hadoop.*FederationRPCMetrics", r".*", "FederationRPC says it"),
    ("Router", "org.apache.hadoop.*RBFMetrics", r".*", "FederationState says it"),
    ("Router", "FederationState", "Routers", "routers of howdah do not tell each other of "
     "themselves"),
    ("Router", "FederationState", "NumExpiredNamenodes", "Namenodes says which are UNAVAILABLE"),
    ("Router", "FederationState", "NodeUsage|CorruptFilesCount", "namenodes are asked for their "
     "bean FSNamesystem alone, which does not have it"),
    ("Router", "*", "CompiledDate", "nothing is compiled"),
    ("Router", "Router", "RouterFederationRenameCount|SchedulerJobCount", "no rename between "
     "nameservices is made by copying"),
    ("Router", "Router", "TopTokenRealOwners", "there are no tokens"),
    ("Router", "RouterActivity", "SafeModeTime|tag.*", "a router serves from its start on"),
    ("Router", "RouterClientActivity", r"Concurrent\w+Ops|OtherOps", "calls count once, to however "
     "many nameservices they go"),
    ("Router", "FederationRPC", "Processing(Ops|Avg)", "see RpcProcessingTime of the port"),
    ("Router", "FederationRPC", "ProxyOpNotImplemented|RouterFailure(StateStore|Locked)Ops",
     "howdah_rpc_failures has calls that failed by their errors"),
    ("Router", "FederationRPC", "RpcClientNumActiveConnectionsRecently", NOT_COUNTED),
    ("Router", "*", r"ProxyOpPermit\w+|ProxyOpFailureClientOverloaded|AsyncCallerPool|"
     "AvailableHandlerOnPerNs", "calls are passed on by one loop: no handlers, pools or permits"),
    ("Router", "StateStoreActivity", r"Cache\w+Load(AvgTime|NumOps)|Cache(MembershipState|"
     r"RouterState)Size|locationCache\w+", "the store has the mount table and disabled "
     "nameservices, which are read together; no locations are kept"),
    ("DataNode", "Rpc*", r".*", "the data process answers these calls, and shows no pages"),
    ("DataNode", "DataNodeVolume-*", r"(FlushIoRate|NativeCopyIoRate|TransferIoRate)"
     r"(NumOps|AvgTime)", "there is no such step: data goes from the page cache to the socket, "
     "and from memory to the file, in one call"),
    ("DataNode", "DataNodeVolume-*", r"FileIoErrorRate(NumOps|AvgTime)|TotalFileIoErrors",
     "a volume that fails is told as NumFailedVolumes"),
    ("DataNode", "FSDatasetState-*", r".*", "FSDatasetState says it"),
    ("DataNode", "FSDatasetState", r"NumBlocksFailedTo(Cache|UnCache)|PendingAsyncDeletions",
     NOT_COUNTED),
    ("DataNode", "DataNodeInfo", "ActiveTransferThreadCount", "XmitsInProgress says it"),
    ("DataNode", "DataNodeInfo", "DatanodeNetworkCounts", "DatanodeNetworkErrors counts them, of "
     "all hosts together"),
    ("DataNode", "DataNodeInfo", "DiskBalancerStatus", "the data process knows it: ask "
     "`howdah diskbalancer -query`"),
    ("DataNode", "DataNodeInfo", "SendPacketDownstreamAvgInfo", "the namenode's SlowPeersReport "
     "has those that are slow"),
    ("DataNode", "DataNodeActivity-*", r"Ec\w+", "there is no erasure coding"),
    ("DataNode", "DataNodeActivity-*", r"AcquireDataset(Read|Write)Lock(NumOps|AvgTime)",
     "there is no such lock: see howdah_datanode_work_seconds"),
    ("DataNode", "DataNodeActivity-*", r"(CheckAndUpdate|ConvertTemporaryToRbw|CreateRbw|"
     r"CreateTemporary|FinalizeBlock|RecoverRbw|UnfinalizeBlock|UpdateReplicaUnderRecovery)Op"
     r"(NumOps|AvgTime)", "steps of a write or a recovery are not timed one by one"),
    ("DataNode", "DataNodeActivity-*", r"BlockReportsCreateCostMills(NumOps|AvgTime)|"
     "NullStorageBlockReports", NOT_COUNTED),
    ("DataNode", "DataNodeActivity-*", "BlocksGetLocalPathInfo", "the call is refused by name"),
    ("DataNode", "DataNodeActivity-*", "Blocks(Deleted|Received|Receiving)InPendingIBR",
     "BlocksInPendingIBR has their sum"),
    ("DataNode", "DataNodeActivity-*", r"DataNode(BlockRecoveryWorker|PacketResponder|"
     "ReadActiveXceivers|WriteActiveXceivers)Count", NOT_COUNTED),
    ("DataNode", "DataNodeActivity-*", r"(HeartbeatsTotal|ProcessedCommandsOp)(NumOps|AvgTime)|"
     "NumProcessedCommands|SumOfActorCommandQueueLength", "orders of a heartbeat are passed on at "
     "once, and not timed"),
    ("DataNode", "DataNodeActivity-*", r"(PacketAckRoundTripTimeNanos|ReadTransferRate)"
     r"(NumOps|AvgTime)", NOT_COUNTED),
    ("DataNode", "DataNodeActivity-*", r"SendDataPacketBlockedOnNetworkNanos(NumOps|AvgTime)",
     "waiting and sending are one system call: see SendDataPacketTransferNanos"),
    ("DataNode", "DataNodeActivity-*", r"PacketsSlowWriteTo\w+|SlowAckToUpstreamCount|"
     "SlowFlushOrSyncCount", "what is slow is found by comparing: SlowPeersReport and SlowDisks"),
    ("DataNode", "DataNodeActivity-*", r"ReplaceBlockOp(OnSameHost|OnSameMount|ToOtherHost)",
     "ReplaceBlockOpNumOps has their sum"),
]  # fmt: skip


def served(url: str) -> dict[str, dict[str, Any]]:
    with urlopen(f"{url}/jmx", timeout=60) as answer:
        found = json.load(answer)["beans"]
    return {_short(bean["name"]): bean for bean in found}


def _short(name: str) -> str:
    return name.partition(",name=")[2] if name.startswith("Hadoop:") else name


def bean_like(beans: dict[str, dict[str, Any]], pattern: str) -> dict[str, Any]:
    return next((bean for name, bean in beans.items() if fnmatch.fnmatchcase(name, pattern)), {})


def of_secondary(held: ExitStack, directory: Path, cluster: MiniCluster) -> str:
    values = {
        "fs.defaultFS": cluster.uri,
        "dfs.namenode.http-address": cluster.http.removeprefix("http://"),
        "dfs.namenode.checkpoint.dir": (directory / "2nn").as_uri(),
        "dfs.namenode.secondary.http-address": "127.0.0.1:0",
    }
    return held.enter_context(server("secondarynamenode", values, directory))["http"]


@pytest.fixture(scope="module")
def others(
    howdah_cluster: MiniCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Where the servers that `howdah_cluster` does not have listen, by their names."""
    directory = tmp_path_factory.mktemp("others")
    with ExitStack() as held:
        found = {"SecondaryNameNode": of_secondary(held, directory / "2nn", howdah_cluster)}
        http = howdah_cluster.http.removeprefix("http://")
        (directory / "router").mkdir()
        routers = Routers(
            directory / "router",
            {"ns": howdah_cluster},
            {"dfs.namenode.http-address.ns": http},
        )
        router = held.enter_context(server("router", routers.values, directory / "router"))
        found["Router"] = router["http"]
        found["HttpFSServer"] = held.enter_context(gateway(howdah_cluster))
        shared = held.enter_context(MiniCluster(datanodes=1, namenodes=2))
        with shared.connect() as fs:
            fs.mkdirs("/logged")
        found["of a quorum"] = shared.process(shared.active()).addresses["http"]
        found["JournalNode"] = shared.process("journalnode0").addresses["http"]
        with connect("hdfs://" + router["rpc"], conf=Configuration({})) as fs:
            fs.list_status("/")
        yield found


@pytest.fixture(scope="module")
def beans(
    howdah_cluster: MiniCluster, others: dict[str, str]
) -> dict[str, dict[str, dict[str, Any]]]:
    with howdah_cluster.connect() as fs:
        fs.mkdirs("/beans")
        fs.get_file_status("/beans")
        with fs.create("/beans/file", replication=1) as out:
            out.write(b"x" * 1000)
        with fs.open("/beans/file") as stream:
            stream.read()
    namenode = served(howdah_cluster.http)
    live = json.loads(namenode["NameNodeInfo"]["LiveNodes"])
    datanode = served(f"http://{next(iter(live.values()))['infoAddr']}")
    found = {name: served(f"http://{at}") for name, at in others.items()}
    namenode |= {
        name: bean
        for name, bean in found.pop("of a quorum").items()
        if name.startswith("IPCLoggerChannel-")
    }
    return {"NameNode": namenode, "DataNode": datanode, **found}


@pytest.mark.req("FS-260")
@pytest.mark.parametrize("service", list(READ))
def test_what_monitoring_asks_for_is_there(
    beans: dict[str, dict[str, dict[str, Any]]], service: str
) -> None:
    missing = [
        f"{pattern}: {attribute}"
        for pattern, attributes in READ[service].items()
        for attribute in attributes.split()
        if attribute not in bean_like(beans[service], pattern)
    ]
    assert missing == []


@pytest.mark.req("FS-260")
@pytest.mark.parametrize("service", SERVICES)
def test_what_hadoop_has_is_there_or_excused(
    beans: dict[str, dict[str, dict[str, Any]]], service: str
) -> None:
    missing = []
    for pattern, attributes in RECORDED[service].items():
        ours = bean_like(beans[service], pattern)
        for attribute in attributes:
            if attribute not in ours and not _excuse(service, pattern, attribute):
                missing.append(f"{pattern}: {attribute}")
    assert missing == []


@pytest.mark.req("FS-260")
@pytest.mark.parametrize("service", SERVICES)
def test_values_are_of_hadoops_kinds(
    beans: dict[str, dict[str, dict[str, Any]]], service: str
) -> None:
    wrong = [
        f"{pattern}: {attribute} is {kind_of(ours[attribute])}, not {kind}"
        for pattern, attributes in RECORDED[service].items()
        for ours in (bean_like(beans[service], pattern),)
        for attribute, kind in attributes.items()
        if ours.get(attribute) is not None and kind not in ("null", kind_of(ours[attribute]))
    ]
    assert wrong == []


@pytest.mark.req("FS-260")
def test_excuses_are_for_something_that_hadoop_has() -> None:
    asked = [
        (service, pattern, attribute)
        for service, found in RECORDED.items()
        for pattern, attributes in found.items()
        for attribute in attributes
    ]
    idle = [
        excuse
        for excuse in EXCUSED
        if not any(_fits(excuse, *each) for each in asked) and excuse[1] != "Rpc*"
    ]
    assert idle == []


def _excuse(service: str, bean: str, attribute: str) -> str:
    return next((each[3] for each in EXCUSED if _fits(each, service, bean, attribute)), "")


def _fits(excuse: tuple[str, str, str, str], service: str, bean: str, attribute: str) -> bool:
    return (
        fnmatch.fnmatchcase(service, excuse[0])
        and fnmatch.fnmatchcase(bean, excuse[1])
        and re.fullmatch(excuse[2], attribute) is not None
    )


@pytest.mark.req("FS-260")
def test_queries_are_those_of_hadoops_servlet(howdah_cluster: MiniCluster) -> None:
    def asked(query: str) -> list[dict[str, Any]]:
        with urlopen(f"{howdah_cluster.http}/jmx?{query}", timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)["beans"]
            return found

    one = "Hadoop:service=NameNode,name=FSNamesystem"
    assert [bean["name"] for bean in asked(f"qry={quote(one)}")] == [one]
    ports = asked("qry=" + quote("Hadoop:service=NameNode,name=RpcActivityForPort*"))
    assert [bean["RpcQueueTimeNumOps"] >= 1 for bean in ports] == [True]
    (figure,) = asked("get=" + quote(f"{one}::BlocksTotal"))
    assert set(figure) == {"name", "modelerType", "BlocksTotal"}
    assert asked("qry=" + quote("Hadoop:service=NoSuch,name=*")) == []
    with pytest.raises(HTTPError) as refused:
        asked("get=" + quote(f"{one}::NoSuch"))
    assert refused.value.code == 404


@pytest.mark.req("FS-263")
def test_top_users_are_told_as_nntop_does(beans: dict[str, dict[str, dict[str, Any]]]) -> None:
    said = json.loads(beans["NameNode"]["FSNamesystemState"]["TopUserOpCounts"])
    assert [window["windowLenMs"] for window in said["windows"]] == [60_000, 300_000, 1_500_000]
    operations = {each["opType"]: each for each in said["windows"][-1]["ops"]}
    assert operations["mkdirs"]["topUsers"][0]["count"] >= 1
    assert operations["*"]["totalCount"] >= operations["mkdirs"]["totalCount"]
