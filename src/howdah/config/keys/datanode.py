"""Keys of the datanode: addresses, volumes, transfers, caches, reports."""

from __future__ import annotations

from howdah.config.value_types import (
    address,
    boolean,
    choice,
    decimal,
    duration,
    integer,
    listing,
    optional_string,
    size,
    storage_dirs,
    string,
)

DFS_DATANODE_ADDRESS = address(
    "dfs.datanode.address", "127.0.0.1:9866", "Where a datanode moves block data."
)
DFS_DATANODE_IPC_ADDRESS = address(
    "dfs.datanode.ipc.address", "127.0.0.1:9867", "Where a datanode answers RPC."
)
DFS_DATANODE_HTTP_ADDRESS = address(
    "dfs.datanode.http.address",
    "127.0.0.1:9864",
    "Where a datanode answers WebHDFS, `/jmx` and `/conf`.",
)
DFS_DATANODE_HOSTNAME = optional_string(
    "dfs.datanode.hostname", "The name that a datanode registers under; else the system's."
)
DFS_DATANODE_DATA_DIR = storage_dirs(
    "dfs.datanode.data.dir",
    "file://${hadoop.tmp.dir}/dfs/data",
    "A datanode's volumes, each with an optional [SSD] or the like in front.",
)
DFS_DATANODE_DATA_DIR_PERM = string(
    "dfs.datanode.data.dir.perm", "700", "The mode of those directories, octal."
)
DFS_DATANODE_DU_RESERVED = size(
    "dfs.datanode.du.reserved", "0", "Bytes on each volume that are left to others."
)
DFS_DATANODE_DU_RESERVED_PCT = integer(
    "dfs.datanode.du.reserved.pct",
    0,
    "The same in percent, for the calculators that go by it.",
    minimum=0,
    maximum=100,
)
_CALCULATOR = "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.ReservedSpaceCalculator$"
DFS_DATANODE_DU_RESERVED_CALCULATOR = choice(
    "dfs.datanode.du.reserved.calculator",
    f"{_CALCULATOR}ReservedSpaceCalculatorAbsolute",
    [
        f"{_CALCULATOR}ReservedSpaceCalculator{kind}"
        for kind in ("Absolute", "Percentage", "Conservative", "Aggressive")
    ],
    "What counts: the bytes, the percentage, the larger or the smaller one of both.",
)
_POLICY = "org.apache.hadoop.hdfs.server.datanode.fsdataset."
DFS_DATANODE_FSDATASET_VOLUME_CHOOSING_POLICY = choice(
    "dfs.datanode.fsdataset.volume.choosing.policy",
    f"{_POLICY}RoundRobinVolumeChoosingPolicy",
    [f"{_POLICY}{kind}VolumeChoosingPolicy" for kind in ("RoundRobin", "AvailableSpace")],
    "Which volume gets a new replica: each in turn, or rather one with much room.",
)
DFS_DATANODE_ROUND_ROBIN_VOLUME_CHOOSING_POLICY_ADDITIONAL_AVAILABLE_SPACE = size(
    "dfs.datanode.round-robin-volume-choosing-policy.additional-available-space",
    "0",
    "What a volume must have left besides, to have its turn.",
)
DFS_DATANODE_AVAILABLE_SPACE_VOLUME_CHOOSING_POLICY_BALANCED_SPACE_THRESHOLD = size(
    "dfs.datanode.available-space-volume-choosing-policy.balanced-space-threshold",
    "10737418240",
    "Volumes whose room differs by less are about equal.",
)
DFS_DATANODE_AVAILABLE_SPACE_VOLUME_CHOOSING_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION = decimal(
    "dfs.datanode.available-space-volume-choosing-policy.balanced-space-preference-fraction",
    "0.75f",
    "How much rather one with much room is taken; 0.5 makes no difference.",
    minimum=0,
    maximum=1,
)
DFS_DATANODE_FAILED_VOLUMES_TOLERATED = integer(
    "dfs.datanode.failed.volumes.tolerated",
    0,
    "Volumes that may fail before the datanode stops; -1: all but one.",
    minimum=-1,
)
DFS_DATANODE_DISK_CHECK_TIMEOUT = duration(
    "dfs.datanode.disk.check.timeout",
    "10m",
    "ms",
    "A volume that takes longer to prove itself, or to say how full it is, has failed.",
    minimum_s=1e-3,
)
DFS_DATANODE_MAX_TRANSFER_THREADS = integer(
    "dfs.datanode.max.transfer.threads", 4096, "Data connections served at once.", minimum=1
)
DFS_DATANODE_HANDLER_COUNT = integer(
    "dfs.datanode.handler.count", 10, "Threads that answer a datanode's RPC.", minimum=1
)
DFS_DATANODE_SYNCONCLOSE = boolean(
    "dfs.datanode.synconclose", False, "Whether closing a file waits for the disks."
)
DFS_DATANODE_OOB_TIMEOUT_MS = listing(
    "dfs.datanode.oob.timeout-ms",
    "1500,0,0,0",
    "How long a client's turn is awaited to tell it of a restart; the others are not in use.",
)
DFS_DATANODE_RESTART_REPLICA_EXPIRATION = duration(
    "dfs.datanode.restart.replica.expiration",
    "50",
    "s",
    "How long a restarting datanode keeps replicas for the clients that write them.",
)
DFS_DATANODE_EC_RECONSTRUCTION_THREADS = integer(
    "dfs.datanode.ec.reconstruction.threads",
    8,
    "Block groups of which lost blocks are made anew at a time.",
    minimum=1,
)
DFS_DATANODE_EC_RECONSTRUCTION_STRIPEDREAD_BUFFER_SIZE = size(
    "dfs.datanode.ec.reconstruction.stripedread.buffer.size",
    "65536",
    "Bytes of each internal block that are read at a time for it.",
)
DFS_DATANODE_EC_RECONSTRUCTION_STRIPEDREAD_TIMEOUT_MILLIS = duration(
    "dfs.datanode.ec.reconstruction.stripedread.timeout.millis",
    "5000",
    "ms",
    "How long a datanode that is read for it may be silent.",
)
DFS_DATANODE_EC_RECONSTRUCTION_XMITS_WEIGHT = decimal(
    "dfs.datanode.ec.reconstruction.xmits.weight",
    "0.5",
    "How many copies each of its sources or targets counts for.",
    minimum=0,
)
DFS_DATANODE_EC_RECONSTRUCTION_VALIDATION = boolean(
    "dfs.datanode.ec.reconstruction.validation",
    False,
    "Whether what was made is held against what it was made from.",
)
DFS_DATANODE_EC_RECONSTRUCT_READ_BANDWIDTHPERSEC = size(
    "dfs.datanode.ec.reconstruct.read.bandwidthPerSec",
    "0",
    "Bytes a second that are read for it; 0 is no limit.",
)
DFS_DATANODE_EC_RECONSTRUCT_WRITE_BANDWIDTHPERSEC = size(
    "dfs.datanode.ec.reconstruct.write.bandwidthPerSec",
    "0",
    "Bytes a second that it writes; 0 is no limit.",
)
DFS_DATANODE_XCEIVER_STOP_TIMEOUT_MILLIS = duration(
    "dfs.datanode.xceiver.stop.timeout.millis",
    "60000",
    "ms",
    "How long whoever takes over a replica waits for its present writer to end.",
)
DFS_DATANODE_SOCKET_REUSE_KEEPALIVE = duration(
    "dfs.datanode.socket.reuse.keepalive", "4000", "ms", "How long an idle data connection lives."
)
DFS_DATANODE_SOCKET_WRITE_TIMEOUT = duration(
    "dfs.datanode.socket.write.timeout", "480000", "ms", "How long sending data may block."
)
DFS_DATANODE_TRANSFERTO_ALLOWED = boolean(
    "dfs.datanode.transferTo.allowed", True, "Whether reads go out by sendfile."
)
DFS_DATANODE_READAHEAD_BYTES = size(
    "dfs.datanode.readahead.bytes", "4194304", "How far a sequential read is fetched ahead."
)
DFS_DATANODE_DROP_CACHE_BEHIND_READS = boolean(
    "dfs.datanode.drop.cache.behind.reads",
    False,
    "Whether long reads leave nothing in the page cache.",
)
DFS_DATANODE_DROP_CACHE_BEHIND_WRITES = boolean(
    "dfs.datanode.drop.cache.behind.writes",
    False,
    "Whether writes leave nothing in the page cache.",
)
DFS_DATANODE_SYNC_BEHIND_WRITES = boolean(
    "dfs.datanode.sync.behind.writes",
    False,
    "Whether the disk is set to work on what was written at once.",
)
DFS_DATANODE_USE_DATANODE_HOSTNAME = boolean(
    "dfs.datanode.use.datanode.hostname", False, "Whether datanodes reach each other by name."
)
DFS_DATANODE_DIRECTORYSCAN_INTERVAL = duration(
    "dfs.datanode.directoryscan.interval",
    "21600",
    "s",
    "How often a datanode compares its disks with its memory; not above 0: never.",
    minimum_s=None,
)
DFS_DATANODE_DIRECTORYSCAN_THROTTLE_LIMIT_MS_PER_SEC = integer(
    "dfs.datanode.directoryscan.throttle.limit.ms.per.sec",
    -1,
    "Milliseconds of each second for which that may work; not between 1 and 999: all.",
)
DFS_DATANODE_DIRECTORYSCAN_THREADS = integer(
    "dfs.datanode.directoryscan.threads", 1, "Volumes that are compared at a time.", minimum=1
)
DFS_DATANODE_SCAN_PERIOD_HOURS = duration(
    "dfs.datanode.scan.period.hours",
    "504",
    "h",
    "Every replica is verified once in this; negative: never.",
    minimum_s=None,
)
DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND = size(
    "dfs.block.scanner.volume.bytes.per.second", "1048576", "How fast; 0 switches it off."
)
DFS_BLOCK_SCANNER_CURSOR_SAVE_INTERVAL_MS = duration(
    "dfs.block.scanner.cursor.save.interval.ms",
    "600000",
    "ms",
    "How often a datanode saves which replicas of a volume it has verified.",
)
DFS_DATANODE_BALANCE_BANDWIDTHPERSEC = size(
    "dfs.datanode.balance.bandwidthPerSec", "100m", "Bytes a second that balancing may take."
)
DFS_DATANODE_BALANCE_MAX_CONCURRENT_MOVES = integer(
    "dfs.datanode.balance.max.concurrent.moves",
    100,
    "Replicas that balancing moves at a time, to a datanode and from it.",
    minimum=1,
)
DFS_DATANODE_BLOCK_PINNING_ENABLED = boolean(
    "dfs.datanode.block-pinning.enabled",
    False,
    "Whether a replica stays on a datanode that its writer favoured: no balancer moves it.",
)
DFS_HEARTBEAT_INTERVAL = duration(
    "dfs.heartbeat.interval", "3", "s", "Time between a datanode's heartbeats.", minimum_s=1e-3
)
DFS_DATANODE_LIFELINE_INTERVAL_SECONDS = duration(
    "dfs.datanode.lifeline.interval.seconds",
    "0",
    "s",
    "A datanode whose heartbeats are so late sends a lifeline; three heartbeat intervals if it is "
    "not more than one.",
)
DFS_DATANODE_PEER_STATS_ENABLED = boolean(
    "dfs.datanode.peer.stats.enabled",
    False,
    "Whether a datanode measures how long others take to take packets.",
)
DFS_DATANODE_PEER_METRICS_MIN_OUTLIER_DETECTION_SAMPLES = integer(
    "dfs.datanode.peer.metrics.min.outlier.detection.samples",
    1000,
    "A peer is compared with others when so many packets were passed on to it.",
    minimum=1,
)
DFS_DATANODE_MIN_OUTLIER_DETECTION_NODES = integer(
    "dfs.datanode.min.outlier.detection.nodes", 10, "Of fewer peers none is slow.", minimum=1
)
DFS_DATANODE_SLOWPEER_LOW_THRESHOLD_MS = integer(
    "dfs.datanode.slowpeer.low.threshold.ms",
    5,
    "A peer that takes a packet within this is not slow.",
    minimum=1,
)
DFS_DATANODE_FILEIO_PROFILING_SAMPLING_PERCENTAGE = integer(
    "dfs.datanode.fileio.profiling.sampling.percentage",
    0,
    "How much of the reads and writes of disks is measured; 0: disks are not measured.",
)
DFS_DATANODE_MIN_OUTLIER_DETECTION_DISKS = integer(
    "dfs.datanode.min.outlier.detection.disks",
    5,
    "Of fewer disks of a storage type none is slow.",
    minimum=1,
)
DFS_DATANODE_SLOWDISK_LOW_THRESHOLD_MS = integer(
    "dfs.datanode.slowdisk.low.threshold.ms",
    20,
    "A disk whose operations take no longer is not slow.",
    minimum=1,
)
DFS_DATANODE_OUTLIERS_REPORT_INTERVAL = duration(
    "dfs.datanode.outliers.report.interval",
    "30m",
    "ms",
    "How often a datanode reports slow peers and disks; the namenode remembers three intervals.",
    minimum_s=1e-3,
)
DFS_BLOCKREPORT_INTERVALMSEC = duration(
    "dfs.blockreport.intervalMsec", "21600000", "ms", "Time between full block reports."
)
DFS_BLOCKREPORT_INITIALDELAY = duration(
    "dfs.blockreport.initialDelay", "0", "s", "The first report waits for up to this."
)
DFS_BLOCKREPORT_SPLIT_THRESHOLD = integer(
    "dfs.blockreport.split.threshold", 1000000, "Blocks above which volumes report one by one."
)
DFS_BLOCKREPORT_INCREMENTAL_INTERVALMSEC = duration(
    "dfs.blockreport.incremental.intervalMsec", "0", "ms", "How long news of blocks is gathered."
)
DFS_DATA_TRANSFER_MAX_PACKET_SIZE = size(
    "dfs.data.transfer.max.packet.size", "16777216", "The largest packet that is read."
)
DFS_DATA_TRANSFER_SERVER_TCPNODELAY = boolean(
    "dfs.data.transfer.server.tcpnodelay", True, "Nagle's algorithm off on data connections."
)
DFS_DISK_BALANCER_ENABLED = boolean(
    "dfs.disk.balancer.enabled", True, "Whether a datanode takes plans to even out its volumes."
)
DFS_DISK_BALANCER_MAX_DISK_THROUGHPUTINMBPERSEC = integer(
    "dfs.disk.balancer.max.disk.throughputInMBperSec",
    10,
    "MiB a second that such a plan may move, unless it says otherwise.",
)
DFS_DISK_BALANCER_MAX_DISK_ERRORS = integer(
    "dfs.disk.balancer.max.disk.errors",
    5,
    "Moves from one volume to another that may fail, unless the plan says otherwise.",
)
DFS_DISK_BALANCER_BLOCK_TOLERANCE_PERCENT = integer(
    "dfs.disk.balancer.block.tolerance.percent",
    10,
    "How far from the bytes of the plan moves may end, unless it says otherwise.",
)
DFS_DISK_BALANCER_PLAN_THRESHOLD_PERCENT = decimal(
    "dfs.disk.balancer.plan.threshold.percent",
    "10",
    "How far from the mean a volume may be, of its room, before a plan moves anything.",
)
DFS_DISK_BALANCER_PLAN_VALID_INTERVAL = duration(
    "dfs.disk.balancer.plan.valid.interval", "1d", "ms", "How old a plan may be when it is begun."
)

DFS_DATANODE_MAX_LOCKED_MEMORY = size(
    "dfs.datanode.max.locked.memory",
    "0",
    "Bytes that replicas on [RAM_DISK] volumes and cached ones may take together; 0: none.",
)
DFS_DATANODE_LAZYWRITER_INTERVAL_SEC = integer(
    "dfs.datanode.lazywriter.interval.sec",
    60,
    "Seconds between two rounds in which replicas in memory get copies on disks.",
    minimum=1,
)
_TRACKER = "org.apache.hadoop.hdfs.server.datanode.fsdataset.impl.RamDiskReplicaLruTracker"
DFS_DATANODE_RAM_DISK_REPLICA_TRACKER = choice(
    "dfs.datanode.ram.disk.replica.tracker",
    _TRACKER,
    [_TRACKER],
    "Which replicas leave the memory first: those that were used least recently.",
)
DFS_DATANODE_NON_LOCAL_LAZY_PERSIST = boolean(
    "dfs.datanode.non.local.lazy.persist",
    False,
    "Whether clients on other machines may write to [RAM_DISK] volumes.",
)
