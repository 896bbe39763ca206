"""Keys of a namenode whose edit log is on a quorum of journal nodes."""

from __future__ import annotations

from howdah.config.value_types import duration, integer

DFS_QJOURNAL_START_SEGMENT_TIMEOUT_MS = duration(
    "dfs.qjournal.start-segment.timeout.ms",
    "20000",
    "ms",
    "How long a majority of the journal nodes may take to begin a segment.",
)
DFS_QJOURNAL_PREPARE_RECOVERY_TIMEOUT_MS = duration(
    "dfs.qjournal.prepare-recovery.timeout.ms",
    "120000",
    "ms",
    "How long a majority may take to tell what it has of the last segment.",
)
DFS_QJOURNAL_ACCEPT_RECOVERY_TIMEOUT_MS = duration(
    "dfs.qjournal.accept-recovery.timeout.ms",
    "120000",
    "ms",
    "How long a majority may take to fetch what it lacks of the last segment.",
)
DFS_QJOURNAL_FINALIZE_SEGMENT_TIMEOUT_MS = duration(
    "dfs.qjournal.finalize-segment.timeout.ms",
    "120000",
    "ms",
    "How long a majority may take to finish a segment.",
)
DFS_QJOURNAL_SELECT_INPUT_STREAMS_TIMEOUT_MS = duration(
    "dfs.qjournal.select-input-streams.timeout.ms",
    "20000",
    "ms",
    "How long a majority may take to answer a reader.",
)
DFS_QJOURNAL_GET_JOURNAL_STATE_TIMEOUT_MS = duration(
    "dfs.qjournal.get-journal-state.timeout.ms",
    "120000",
    "ms",
    "How long a majority may take to tell which epoch it has promised.",
)
DFS_QJOURNAL_NEW_EPOCH_TIMEOUT_MS = duration(
    "dfs.qjournal.new-epoch.timeout.ms",
    "120000",
    "ms",
    "How long a majority may take to promise a new epoch.",
)
DFS_QJOURNAL_WRITE_TXNS_TIMEOUT_MS = duration(
    "dfs.qjournal.write-txns.timeout.ms",
    "20000",
    "ms",
    "How long a majority may take to have edits; then the namenode ends.",
)
DFS_QJM_OPERATIONS_TIMEOUT = duration(
    "dfs.qjm.operations.timeout",
    "60s",
    "s",
    "How long all journal nodes may take for what is rare, as to be formatted.",
)
DFS_QJOURNAL_HTTP_OPEN_TIMEOUT_MS = duration(
    "dfs.qjournal.http.open.timeout.ms",
    "60000",
    "ms",
    "How long a journal node may take to accept a connection for a segment.",
)
DFS_QJOURNAL_HTTP_READ_TIMEOUT_MS = duration(
    "dfs.qjournal.http.read.timeout.ms",
    "60000",
    "ms",
    "How long it may be silent while a segment is fetched.",
)
DFS_QJOURNAL_QUEUED_EDITS_LIMIT_MB = integer(
    "dfs.qjournal.queued-edits.limit.mb",
    10,
    "MiB of edits that may wait for one journal node; one that is slower is left out until the "
    "next segment.",
    minimum=1,
)
DFS_HA_TAIL_EDITS_QJM_RPC_MAX_TXNS = integer(
    "dfs.ha.tail-edits.qjm.rpc.max-txns",
    5000,
    "The most edits that a standby asks of a journal node at once.",
    minimum=1,
)
HOWDAH_HA_LEASE_MS = duration(
    "howdah.ha.lease.ms",
    "1000",
    "ms",
    "How long an active namenode serves after a majority of the journal nodes has confirmed it; "
    "the next active waits as long. Only where a journal node is Hadoop's it has to be the same "
    "for all namenodes of a nameservice.",
    minimum_s=0.03,
)
