"""Is the data safe? One answer for a whole namespace, and the reasons for it (pure).

- `bad`: data cannot be read, or one more failure may cost some.
- `warn`: nothing is lost, and something is to be done or to be waited for.
- `ok`: every block has the replicas that it should have, and the log is written everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.web.pages.units import count
from howdah.web.pages.units import full as full_percent
from howdah.web.status import NamenodeStatus

_WORSE: Final = {"ok": 0, "warn": 1, "bad": 2}
_UNSAVED_TXNS: Final = 3_000_000
"""Three times what Hadoop's default lets come between two checkpoints."""


@dataclass(frozen=True, slots=True)
class Finding:
    level: str
    text: str
    path: str = ""
    """A page that shows more."""


@dataclass(frozen=True, slots=True)
class Verdict:
    level: str
    headline: str
    findings: Sequence[Finding]


def judge(status: NamenodeStatus) -> Verdict:
    """Judge the health of a namenode by its status."""
    findings = sorted(_findings(status), key=lambda finding: -_WORSE[finding.level])
    level = findings[0].level if findings else "ok"
    return Verdict(level, _headline(status, level, findings), findings)


def _headline(status: NamenodeStatus, level: str, findings: Sequence[Finding]) -> str:
    if status.missing_blocks:
        groups = status.block_groups.missing
        blocks = status.missing_blocks - groups
        lost = [f"{count(blocks, 'block')} without a replica"] if blocks else []
        lost += [f"{count(groups, 'block group')} with too few internal blocks"] if groups else []
        return f"Data cannot be read: {' and '.join(lost)}"
    if level == "bad":
        return f"Data is in danger: {findings[0].text}"
    if status.safe_mode and status.ha_state == "active":
        return "Safe mode: data can be read, and nothing can be changed"
    if level == "warn":
        return "All data can be read, and something needs attention"
    if status.ha_state != "active":
        return f"This namenode is {status.ha_state}, and finds all data safe"
    if not status.blocks:
        return "All is well: there are no blocks yet"
    return "All data is safe"


def _findings(status: NamenodeStatus) -> Iterator[Finding]:
    yield from _blocks(status)
    yield from _groups(status)
    yield from _journal(status)
    yield from _nodes(status)
    if status.safe_mode:
        yield Finding("warn", f"safe mode is on. {' '.join(status.safe_mode_status.split())}")
    unsaved = status.last_txid - status.image_txid
    if unsaved > _UNSAVED_TXNS:
        yield Finding(
            "warn", f"no checkpoint holds the last {unsaved:,} transactions: a start takes long"
        )
    if status.rolling_upgrade_start_ms is not None:
        yield Finding("warn", "a rolling upgrade is under way", "")
    elif not status.upgrade_finalized:
        yield Finding("warn", "an upgrade waits to be finalized")
    if status.defects:
        total = sum(status.defects.values())
        yield Finding(
            "warn", f"{count(total, 'error')} that nobody foresaw: please report", "/logs"
        )
    for warning in status.warnings:
        yield Finding("warn", warning)


def _groups(status: NamenodeStatus) -> Iterator[Finding]:
    """Of erasure coded files: the figures of all blocks have them as well."""
    groups = status.block_groups
    if groups.missing:
        text = f"{count(groups.missing, 'block group')} with too few internal blocks to be read"
        yield Finding("bad", text, "/blocks")
    if groups.highest:
        text = f"{count(groups.highest, 'block group')} with no internal block to spare"
        yield Finding("bad", text)
    low = groups.low_redundancy - groups.highest
    if low > 0:
        yield Finding("warn", f"{count(low, 'block group')} low on internal blocks")


def _blocks(status: NamenodeStatus) -> Iterator[Finding]:
    groups = status.block_groups
    missing = status.missing_blocks - groups.missing
    if missing:
        alone = status.missing_single_blocks
        only = f", {alone:,} of them of files with replication 1" if alone else ""
        yield Finding(
            "bad",
            f"{count(missing, 'block')} without a good replica{only}",
            "/blocks",
        )
    if status.future_bytes:
        yield Finding(
            "bad", "replicas are younger than the metadata: was the namenode started with old ones?"
        )
    if status.corrupt_blocks:
        yield Finding("warn", f"{count(status.corrupt_blocks, 'block')} with a corrupt replica")
    last = status.last_replica_blocks - groups.highest
    if last:
        yield Finding("bad", f"{count(last, 'block')} with one replica left")
    low = status.under_replicated_blocks - groups.low_redundancy - last
    if low > 0:
        yield Finding("warn", f"{count(low, 'block')} low on replicas")
    if status.misplaced_blocks:
        yield Finding("warn", f"{count(status.misplaced_blocks, 'block')} on too few racks")


def _journal(status: NamenodeStatus) -> Iterator[Finding]:
    for directory in status.edits_directories:
        if directory.failure:
            level = "bad" if directory.required else "warn"
            yield Finding(level, f"edits are not written to {directory.path}: {directory.failure}")
        out = [node for node in directory.nodes if node.left_out or node.silent]
        if not out:
            continue
        healthy = len(directory.nodes) - len(out)
        level = "warn" if healthy >= len(directory.nodes) // 2 + 1 else "bad"
        names = ", ".join(node.name for node in out[:5])
        condition, why = "is left out", out[0].left_out
        if not why:
            condition, why = "is silent", out[0].silent
        yield Finding(level, f"journal node {names} {condition}: {why}")


def _nodes(status: NamenodeStatus) -> Iterator[Finding]:
    live = [node for node in status.datanodes if node.live]
    if not live:
        yield Finding("bad" if status.blocks else "warn", "no datanode is alive", "/nodes")
    dead = [
        node
        for node in status.datanodes
        if not node.live and node.admin_state not in ("DECOMMISSIONED", "IN_MAINTENANCE")
    ]
    if dead:
        word = count(len(dead), "datanode")
        yield Finding(
            "warn", f"{word} dead: {dead[0].name}{' …' * (len(dead) > 1)}", "/nodes?state=dead"
        )
    stale = sum(node.stale for node in live)
    if stale:
        yield Finding("warn", f"{count(stale, 'datanode')} silent (stale)", "/nodes?state=stale")
    failed = sum(node.failed_volumes for node in live)
    if failed:
        yield Finding(
            "warn", f"{count(failed, 'volume')} failed on live datanodes", "/nodes?state=volumes"
        )
    capacity = sum(node.capacity_bytes for node in live)
    taken = sum(node.used_bytes + node.non_dfs_used_bytes for node in live)
    full = full_percent(taken, sum(node.remaining_bytes for node in live))
    if capacity and full >= 85:
        yield Finding(
            "bad" if full >= 97 else "warn", f"the datanodes are {full:.0f} % full", "/nodes"
        )
    if status.slow_peers:
        slow = len({slow_peer.name for slow_peer in status.slow_peers})
        yield Finding("warn", f"{count(slow, 'datanode')} slow by what others measured")
