"""The namenode's status as JSON and as one plain page (pure)."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from howdah.web.http import Request, Response, answer

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

    @property
    def in_service(self) -> bool:
        return self.admin_state == "NORMAL"

    @property
    def admin_words(self) -> str:
        """As Hadoop's pages show the state."""
        return ADMIN_WORDS[self.admin_state]


@dataclass(frozen=True, slots=True)
class JournalNodeStatus:
    """`left_out` says why it gets nothing until the next segment; it is empty otherwise."""

    name: str
    txid: int
    left_out: str


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
    warnings: Sequence[str] = ()
    """What an operator should not overlook, in sentences."""
    ha_state: str = "active"
    defects: Mapping[str, int] = field(default_factory=dict)
    """Errors that nobody foresaw since the start, by what failed."""
    slow_peers: Sequence[SlowPeerStatus] = ()
    """Datanodes that others find slow."""
    slow_disks: Sequence[tuple[str, Mapping[str, float]]] = ()
    """The slowest disks, by datanode and directory: milliseconds by operation."""


def respond(request: Request, status: NamenodeStatus) -> Response:
    """`/` is for people, `/status.json` for scripts."""
    if request.method not in ("GET", "HEAD"):
        return answer(405, b"only GET and HEAD are answered\n", "text/plain")
    if request.path == "/status.json":
        body = json.dumps(asdict(status), indent=2).encode()
        return answer(200, body, "application/json")
    if request.path == "/":
        return answer(200, page(status).encode(), "text/html; charset=utf-8")
    body = f"there is no {request.path} here\n".encode()
    return answer(404, body, "text/plain; charset=utf-8")


def page(status: NamenodeStatus) -> str:
    facts: dict[str, object] = {
        "Cluster": status.cluster_id,
        "Block pool": status.block_pool_id,
        "Safe mode": status.safe_mode_status if status.safe_mode else "off",
        "Transactions": f"{status.last_txid:,} ({status.durable_txid:,} durable)",
        "Files and directories": f"{status.inodes:,}",
        "Blocks": f"{status.blocks:,}",
        "Under-replicated": f"{status.under_replicated_blocks:,}",
        "Badly distributed": f"{status.misplaced_blocks:,}",
        "Corrupt": f"{status.corrupt_blocks:,}",
        "Missing": f"{status.missing_blocks:,}",
        "Files open for writing": f"{status.open_files:,}",
    }
    for directory in status.edits_directories:
        failed = f"FAILED, {directory.failure}" if directory.failure else "written"
        facts[f"Edits in {directory.path}"] = failed
        for node in directory.nodes:
            left_out = f", LEFT OUT until the next segment begins: {node.left_out}"
            said = f"has transaction {node.txid}{left_out if node.left_out else ''}"
            facts[f"Journal node {node.name}"] = said
    warnings = "".join(
        f"<p class=warning>Warning: {html.escape(text)}.</p>" for text in status.warnings
    )
    rows = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in facts.items()
    )
    nodes = "".join(
        "<tr>"
        + "".join(
            f"<td>{html.escape(str(cell))}</td>"
            for cell in (
                node.name,
                node.rack,
                ("live" if node.live else "dead")
                + ("" if node.in_service else f", {node.admin_words}"),
                f"{node.last_heartbeat_s:.1f} s ago",
                human(node.capacity_bytes),
                human(node.used_bytes),
                human(node.remaining_bytes),
                f"{node.blocks:,}",
            )
        )
        + "</tr>"
        for node in status.datanodes
    )
    heads = "".join(
        f"<th>{head}</th>"
        for head in (
            "Datanode",
            "Rack",
            "State",
            "Heartbeat",
            "Capacity",
            "Used",
            "Remaining",
            "Blocks",
        )
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>howdah namenode</title>"
        "<style>body{font:16px/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}"
        "table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;padding:.25rem 1rem "
        ".25rem 0;border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}"
        ".warning{border-left:.5rem solid #c60;padding:.5rem 1rem;background:#fff4e5}</style>"
        f"<h1>howdah namenode {html.escape(status.version)}</h1>{warnings}<table>{rows}</table>"
        f"<h2>Datanodes</h2><table><tr>{heads}</tr>{nodes}</table></html>\n"
    )


def human(count_bytes: int) -> str:
    """`1.5 GiB`."""
    value = float(count_bytes)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} PiB"
