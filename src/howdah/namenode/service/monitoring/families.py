"""A namenode's status as families for Prometheus (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from howdah.runtime.metrics.top_users import TopWindow
from howdah.web.monitoring.families import Family, Labels, one
from howdah.web.status import NamenodeStatus

STATES = ("active", "standby", "observer")


def of_status(status: NamenodeStatus) -> Iterator[Family]:
    """The state of the namespace and of the datanodes."""
    yield Family(
        "howdah_ha_state",
        "gauge",
        "1 for the state that this namenode is in.",
        tuple(({"state": state}, float(state == status.ha_state)) for state in STATES),
    )
    yield one("howdah_safe_mode", "gauge", "1 in safe mode.", float(status.safe_mode))
    serving = [node for node in status.datanodes if node.live and node.in_service]
    live = [node for node in status.datanodes if node.live]
    yield _kinds(
        "howdah_capacity_bytes",
        "kind",
        "Room on the datanodes in service.",
        total=sum(node.capacity_bytes for node in serving),
        used=sum(node.used_bytes for node in serving),
        remaining=sum(node.remaining_bytes for node in serving),
        non_dfs_used=sum(node.non_dfs_used_bytes for node in live),
    )
    yield _kinds(
        "howdah_blocks",
        "state",
        "Blocks, by what is the matter with them; `all` are all.",
        all=status.blocks,
        missing=status.missing_blocks,
        missing_replication_one=status.missing_single_blocks,
        corrupt=status.corrupt_blocks,
        low_redundancy=status.under_replicated_blocks,
        last_replica=status.last_replica_blocks,
        badly_distributed=status.misplaced_blocks,
        excess=status.excess_blocks,
        postponed=status.postponed_blocks,
        pending_reconstruction=status.pending_blocks,
        pending_deletion=status.pending_deletion_blocks,
    )
    yield one("howdah_inodes", "gauge", "Files and directories.", status.inodes)
    yield one("howdah_open_files", "gauge", "Files that are being written.", status.open_files)
    yield _kinds(
        "howdah_datanodes",
        "state",
        "Datanodes.",
        live=len(live),
        dead=len(status.datanodes) - len(live),
        stale=sum(node.stale for node in live),
        decommissioning=_in(status, "DECOMMISSION_INPROGRESS"),
        decommissioned=_in(status, "DECOMMISSIONED"),
        entering_maintenance=_in(status, "ENTERING_MAINTENANCE"),
        in_maintenance=_in(status, "IN_MAINTENANCE"),
    )
    yield one(
        "howdah_failed_volumes",
        "gauge",
        "Volumes of live datanodes that have failed.",
        sum(node.failed_volumes for node in live),
    )
    yield Family(
        "howdah_datanode_last_contact_seconds",
        "gauge",
        "Since the last heartbeat of each datanode.",
        tuple(({"datanode": node.name}, node.last_heartbeat_s) for node in status.datanodes),
    )
    yield Family(
        "howdah_slow_peer_latency_ms",
        "gauge",
        "How long a datanode that others find slow takes for a packet.",
        tuple(
            ({"datanode": peer.name, "reporter": peer.reporter}, peer.mean_ms)
            for peer in status.slow_peers
        ),
    )
    yield Family(
        "howdah_slow_disk_latency_ms",
        "gauge",
        "How long an operation of one of the slowest disks takes.",
        tuple(
            ({"disk": disk, "operation": operation}, mean_ms)
            for disk, means in status.slow_disks
            for operation, mean_ms in means.items()
        ),
    )
    yield from _encryption(status)
    yield from _journals(status)


def _encryption(status: NamenodeStatus) -> Iterator[Family]:
    encryption = status.encryption
    yield _kinds(
        "howdah_encryption_zones",
        "state",
        "Encryption zones, and those whose files' keys are being encrypted anew.",
        all=status.encryption_zones,
        reencrypting=encryption.reencrypting,
    )
    yield Family(
        "howdah_reencrypted_files",
        "counter",
        "Files of encryption zones whose keys were to be encrypted anew.",
        (
            ({"outcome": "done"}, float(encryption.reencrypted)),
            ({"outcome": "failed"}, float(encryption.reencryption_failures)),
        ),
    )
    yield Family(
        "howdah_zone_keys_ready",
        "gauge",
        "Keys for new files in encryption zones, by the key of the zone.",
        tuple(({"key": key}, float(count)) for key, count in encryption.keys_ready.items()),
    )
    yield Family(
        "howdah_key_server_calls",
        "counter",
        "Calls of this namenode to key servers; failed are those that none answered.",
        (
            ({"outcome": "answered"}, float(encryption.answered)),
            ({"outcome": "failed"}, float(encryption.failed)),
        ),
    )
    yield one(
        "howdah_key_servers_failing",
        "gauge",
        "1 if no key server answered the last call.",
        float(encryption.is_failing),
    )


def _journals(status: NamenodeStatus) -> Iterator[Family]:
    yield _kinds(
        "howdah_transaction_id",
        "kind",
        "The last transaction that was applied, made durable, and put into an image.",
        applied=status.last_txid,
        durable=status.durable_txid,
        checkpoint=status.image_txid,
    )
    yield one(
        "howdah_last_checkpoint_timestamp_seconds",
        "gauge",
        "When the newest image was written; 0 without one.",
        status.image_ms / 1000,
    )
    yield Family(
        "howdah_journal_failed",
        "gauge",
        "1 for a directory or quorum of edits that is not written.",
        tuple(
            ({"journal": journal.path}, float(bool(journal.failure)))
            for journal in status.edits_directories
        ),
    )
    yield Family(
        "howdah_journal_node_transaction_id",
        "gauge",
        "The last transaction that a journal node has acknowledged.",
        tuple(
            ({"journal": journal.path, "node": node.name}, float(node.txid))
            for journal in status.edits_directories
            for node in journal.nodes
        ),
    )
    yield Family(
        "howdah_journal_node_left_out",
        "gauge",
        "1 for a journal node that gets no edits until the next segment.",
        tuple(
            ({"journal": journal.path, "node": node.name}, float(bool(node.left_out)))
            for journal in status.edits_directories
            for node in journal.nodes
        ),
    )
    yield Family(
        "howdah_journal_node_silent",
        "gauge",
        "1 for a journal node that fails, or answers nothing, also while nothing is written.",
        tuple(
            ({"journal": journal.path, "node": node.name}, float(bool(node.silent)))
            for journal in status.edits_directories
            for node in journal.nodes
        ),
    )


def of_top(windows: Iterable[TopWindow]) -> Family:
    """Who called most in the shortest window."""
    samples: list[tuple[Labels, float]] = []
    for window in list(windows)[:1]:
        for operation in window.operations:
            samples += [
                (
                    {
                        "operation": operation.operation,
                        "user": user,
                        "window": f"{window.length_ms // 60_000}m",
                    },
                    float(count),
                )
                for user, count in operation.users
            ]
    return Family(
        "howdah_top_user_calls",
        "gauge",
        "Calls of the users who called most, in the last minutes.",
        tuple(samples),
    )


def _kinds(name: str, label: str, help: str, **values: int) -> Family:
    return Family(
        name, "gauge", help, tuple(({label: key}, float(value)) for key, value in values.items())
    )


def _in(status: NamenodeStatus, state: str) -> int:
    return sum(node.admin_state == state for node in status.datanodes)
