"""The namenode's status as values and as JSON (pure)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from typing import Final

from howdah.web.http import Request, Response, answer
from howdah.web.json_slices import list_of

PATH: Final = "/status.json"
ADMIN_WORDS: Final = {
    "NORMAL": "In Service",
    "DECOMMISSION_INPROGRESS": "Decommission In Progress",
    "DECOMMISSIONED": "Decommissioned",
    "ENTERING_MAINTENANCE": "Entering Maintenance",
    "IN_MAINTENANCE": "In Maintenance",
}


@dataclass(frozen=True, slots=True)
class NodeStatus:
    name: str
    rack: str
    live: bool
    last_heartbeat_s: float
    capacity_bytes: int
    used_bytes: int
    remaining_bytes: int
    blocks: int
    uuid: str = ""
    info_address: str = ""
    info_secure_address: str = ""
    version: str = ""
    stale: bool = False
    stale_storages: int = 0
    """Volumes that have not reported in full since the datanode registered."""
    connections: int = 0
    non_dfs_used_bytes: int = 0
    pool_used_bytes: int = 0
    failed_volumes: int = 0
    failed_locations: Sequence[str] = ()
    last_volume_failure_ms: int = 0
    lost_capacity_bytes: int = 0
    """What its failed volumes had room for."""
    admin_state: str = "NORMAL"
    """As `AdminState` names it."""
    low_redundancy_blocks: int = 0
    """What keeps it from leaving; of these `only_leaving_blocks` have no replica in service, and
    `open_low_redundancy_blocks` are of files that are being written."""
    only_leaving_blocks: int = 0
    open_low_redundancy_blocks: int = 0
    cache_capacity_bytes: int = 0
    cache_used_bytes: int = 0
    by_storage_type: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What its working volumes of each type have: `capacity_bytes`, `used_bytes`,
    `remaining_bytes`, `non_dfs_used_bytes` and `pool_used_bytes`."""

    @property
    def in_service(self) -> bool:
        return self.admin_state == "NORMAL"

    @property
    def admin_words(self) -> str:
        """As Hadoop's pages show the state."""
        return ADMIN_WORDS[self.admin_state]


_OF_NODE: Final = tuple(figure.name for figure in fields(NodeStatus))


@dataclass(frozen=True, slots=True)
class JournalNodeStatus:
    """`left_out` says why it gets nothing until the next segment, `silent` why it is not heard
    of; they are empty otherwise."""

    name: str
    txid: int
    left_out: str
    queued_bytes: int = 0
    silent: str = ""


@dataclass(frozen=True, slots=True)
class EditsDirectoryStatus:
    """`failure` is empty while edits are written there. A quorum has `nodes`."""

    path: str
    required: bool
    failure: str
    nodes: Sequence[JournalNodeStatus] = ()


@dataclass(frozen=True, slots=True)
class SlowPeerStatus:
    """A datanode that takes packets of another one slowly; milliseconds a packet."""

    name: str
    reporter: str
    mean_ms: float
    median_ms: float
    deviation_ms: float
    limit_ms: float


@dataclass(frozen=True, slots=True)
class OneSnapshot:
    """`mtime_ms`: when it was made, or given its name."""

    name: str
    mtime_ms: int
    snapshot_id: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotsOf:
    """A directory; of its `count` snapshots the newest. It may have `most`."""

    path: str
    owner: str
    count: int
    newest: Sequence[OneSnapshot]
    group: str = ""
    mode: int = 0
    mtime_ms: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class ZoneStatus:
    """An encryption zone, and its last re-encryption, if there was one."""

    path: str
    key_name: str
    state: str = ""
    """`submitted`, `processing`, `completed` or `cancelled`."""
    version_name: str = ""
    """Of the zone's key, when that was asked for."""
    submitted_ms: int = 0
    completed_ms: int = 0
    reencrypted: int = 0
    failures: int = 0
    last_file: str = ""
    """Where it has come to."""


@dataclass(frozen=True, slots=True)
class EncryptionStatus:
    """What a namenode has to do with key servers; figures are since its start."""

    provider: str = ""
    """Where they are; empty where none are configured."""
    unsupported: str = ""
    """Why they are not asked."""
    answered: int = 0
    failed: int = 0
    """Questions that no key server answered."""
    is_failing: bool = False
    """Whether the last one is among them."""
    last_failure: str = ""
    keys_ready: Mapping[str, int] = field(default_factory=dict)
    """Keys for new files, by the key of their zones."""
    reencrypting: int = 0
    """Zones."""
    reencrypted: int = 0
    """Files."""
    reencryption_failures: int = 0


NO_ENCRYPTION: Final = EncryptionStatus()


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """Block groups of erasure-coded files, which the figures of all blocks have as well; `highest`
    are those that the loss of one more internal block makes missing. `policies` are enabled."""

    total: int = 0
    corrupt: int = 0
    missing: int = 0
    highest: int = 0
    low_redundancy: int = 0
    under_way: int = 0
    """Those with internal blocks that are copied or made anew now."""
    policies: Sequence[str] = ()


NO_GROUPS: Final = GroupStatus()


@dataclass(frozen=True, slots=True)
class NamenodeStatus:
    version: str
    cluster_id: str
    block_pool_id: str
    safe_mode: bool
    safe_mode_status: str
    last_txid: int
    durable_txid: int
    inodes: int
    blocks: int
    under_replicated_blocks: int
    corrupt_blocks: int
    missing_blocks: int
    open_files: int
    edits_directories: Sequence[EditsDirectoryStatus]
    datanodes: Sequence[NodeStatus]
    host_and_port: str = ""
    started_ms: int = 0
    image_txid: int = 0
    image_ms: int = 0
    """When the newest image was written; 0 where there is none."""
    future_bytes: int = 0
    missing_single_blocks: int = 0
    last_replica_blocks: int = 0
    """Under-replicated ones of which one replica is left, or only such as are about to leave."""
    very_low_blocks: int = 0
    misplaced_blocks: int = 0
    """Under-replicated ones that have enough replicas, on too few racks."""
    excess_blocks: int = 0
    postponed_blocks: int = 0
    block_groups: GroupStatus = NO_GROUPS
    """Replicas too many that are to be deleted; blocks of which none can be deleted yet."""
    timed_out_blocks: int = 0
    """Blocks whose copies did not arrive in time, since the start."""
    scheduled_blocks: int = 0
    """Copies that are under way."""
    marks_waiting: int = 0
    """Marked paths of which no storage policy satisfier was told yet."""
    pending_blocks: int = 0
    pending_deletion_blocks: int = 0
    upgrade_finalized: bool = True
    rolling_upgrade_start_ms: int | None = None
    """When the one began that is under way; None without one."""
    rollback_image: bool = False
    """Whether there is an image to go back to from it."""
    snapshots: int = 0
    snapshottable_directories: int = 0
    encryption_zones: int = 0
    encryption: EncryptionStatus = NO_ENCRYPTION
    warnings: Sequence[str] = ()
    """What an operator should not overlook, in sentences."""
    ha_state: str = "active"
    last_transition_ms: int = 0
    """When it became what it is; 0 while it is what it was at its start."""
    defects: Mapping[str, int] = field(default_factory=dict)
    """Errors that nobody foresaw since the start, by what failed."""
    slow_peers: Sequence[SlowPeerStatus] = ()
    """Datanodes that others find slow."""
    slow_disks: Sequence[tuple[str, Mapping[str, float]]] = ()
    """The slowest disks, by datanode and directory: milliseconds by operation."""
    safe_mode_blocks: int = 0
    safe_mode_needed_blocks: int = 0
    """Blocks that datanodes have reported, and how many of them safe mode waits for."""
    corrupt_files: Sequence[str] = ()
    """Some of the blocks without a good replica, each with its file, in lines of Hadoop's."""
    expired_datanodes: int = 0
    """How often a datanode was declared dead since the start."""
    delegation_tokens: int = 0


def _lines(status: NamenodeStatus) -> str:
    """Return an object with a line for each figure."""
    lines = []
    for figure in fields(status):
        value = getattr(status, figure.name)
        if figure.name == "datanodes":
            text = list_of(value, lambda node: {name: getattr(node, name) for name in _OF_NODE})
        else:
            text = json.dumps(value, default=asdict)
        lines.append(f"  {json.dumps(figure.name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def respond(
    request: Request,
    status: Callable[[], NamenodeStatus],
    turn: AbstractContextManager[object] = nullcontext(),  # noqa: B008 - it does nothing
) -> Response:
    """Answer `/status.json`, for scripts; nothing else is here. The status is put into words in
    `turn`."""
    if request.method not in ("GET", "HEAD"):
        return answer(405, b"only GET and HEAD are answered\n", "text/plain")
    if request.path == PATH:
        current = status()
        with turn:
            return answer(200, _lines(current).encode(), "application/json")
    body = f"there is no {request.path} here\n".encode()
    return answer(404, body, "text/plain; charset=utf-8")
