"""The first page of a namenode: is the data safe? (pure)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from howdah.runtime.units import iec_size
from howdah.web.pages import units
from howdah.web.pages.health import Verdict, judge
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import (
    Link,
    badge,
    bar,
    facts,
    fill_level,
    live,
    refresh_hint,
    section,
    table,
)
from howdah.web.pages.progress import Estimate
from howdah.web.status import NamenodeStatus

LINKS: Final = (
    Link("/", "Overview"),
    Link("/nodes", "Datanodes"),
    Link("/racks", "Racks"),
    Link("/explorer", "Files"),
    Link("/blocks", "Blocks"),
    Link("/snapshots", "Snapshots"),
    Link("/encryption", "Encryption"),
    Link("/cluster", "Cluster"),
)
REPAIR: Final = "repair"
"""The name of the estimate of all blocks that are low on replicas."""
LEAVING: Final = ("DECOMMISSION_INPROGRESS", "ENTERING_MAINTENANCE")
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Times:
    """What the page needs beside the status; `now_ms` is of the wall clock."""

    now_ms: int
    estimates: Mapping[str, Estimate]


def left_of(status: NamenodeStatus) -> dict[str, int]:
    """How much is left of each work that takes its time: repair, and each leaving node."""
    left = {REPAIR: status.under_replicated_blocks}
    for node in status.datanodes:
        if node.admin_state in LEAVING:
            left[node.name] = node.low_redundancy_blocks
    return left


def overview(status: NamenodeStatus, times: Times) -> list[Child]:
    """The body of the page."""
    return [
        verdict_html(judge(status)),
        refresh_hint(),
        _tiles(status),
        tag(
            "div",
            _journal(status),
            _checkpoints(status, times),
            _repair(status, times),
            _coding(status),
            _room(status),
            _start(status),
            _about(status, times),
            class_="columns",
        ),
    ]


def verdict_html(verdict: Verdict) -> Html:
    """The answer to the first question, with its reasons."""
    reasons = [
        tag("li", tag("a", finding.text, href=finding.path) if finding.path else finding.text)
        for finding in verdict.findings[:_SHOWN]
    ]
    more = len(verdict.findings) - _SHOWN
    return live(
        "verdict",
        tag("h2", verdict.headline, data_say=True),
        tag("ul", reasons, tag("li", f"and {more} more") if more > 0 else None)
        if reasons
        else tag("p", "Every block has its replicas, and the log is written everywhere."),
        class_=f"verdict {verdict.level}",
    )


def _tiles(status: NamenodeStatus) -> Html:
    alive = sum(node.live for node in status.datanodes)
    total = len(status.datanodes)

    def tile(name: str, value: str, level: str) -> Html:
        return tag("li", tag("b", value), name, class_=level)

    def bad_above(name: str, number: int, level: str) -> Html:
        return tile(name, f"{number:,}", level if number else "ok")

    return live(
        "tiles",
        bad_above("blocks missing", status.missing_blocks, "bad"),
        bad_above("blocks with a corrupt replica", status.corrupt_blocks, "warn"),
        bad_above("blocks low on replicas", status.under_replicated_blocks, "warn"),
        tile("datanodes alive", f"{alive:,} of {total:,}", "ok" if alive == total else "warn"),
        tile(
            "safe mode", "on" if status.safe_mode else "off", "warn" if status.safe_mode else "ok"
        ),
        tile("role of this namenode", status.ha_state, "ok"),
        tile("files and directories", f"{status.inodes:,}", ""),
        tile("blocks", f"{status.blocks:,}", ""),
        element="ul",
        class_="tiles",
    )


def _journal(status: NamenodeStatus) -> Html:
    def rows() -> Iterator[tuple[Child, Child, Child]]:
        for directory in status.edits_directories:
            state = badge("bad", "failed") if directory.failure else badge("ok", "written")
            needed = "required" if directory.required else ""
            yield directory.path, state, directory.failure or needed
            newest = max((node.txid for node in directory.nodes), default=0)
            for node in directory.nodes:
                behind = newest - node.txid
                trouble = "left out" if node.left_out else "silent" if node.silent else ""
                yield (
                    f"journal node {node.name}",
                    badge("warn", trouble) if trouble else badge("ok", "in step"),
                    node.left_out
                    or node.silent
                    or f"transaction {node.txid:,}"
                    + (f", {behind:,} behind" if behind > 0 else ""),
                )

    return section(
        "journal",
        "Journal",
        facts([("Last transaction", f"{status.last_txid:,} ({status.durable_txid:,} durable)")]),
        table(
            "Where edits are written",
            ("Place", "State", "More"),
            rows(),
            empty="This namenode writes no log while it is no active one.",
        ),
    )


def _checkpoints(status: NamenodeStatus, times: Times) -> Html:
    age = units.span((times.now_ms - status.image_ms) / 1000)
    return section(
        "checkpoint",
        "Checkpoint",
        facts(
            [
                (
                    "Newest image",
                    f"{age} ago ({units.utc_text(status.image_ms)})" if status.image_ms else "none",
                ),
                ("Up to transaction", f"{status.image_txid:,}"),
                ("Transactions since", f"{max(0, status.last_txid - status.image_txid):,}"),
            ]
        ),
    )


def _repair(status: NamenodeStatus, times: Times) -> Html:
    estimate = times.estimates.get(REPAIR)
    rows: list[tuple[str, Child]] = [
        ("Blocks low on replicas", f"{status.under_replicated_blocks:,}"),
        ("… of them with one replica left", f"{status.last_replica_blocks:,}"),
        ("Copies under way", f"{status.scheduled_blocks:,}"),
        ("Copies that did not arrive in time", f"{status.timed_out_blocks:,}"),
        ("On too few racks", f"{status.misplaced_blocks:,}"),
        ("Waiting to be deleted", f"{status.pending_deletion_blocks:,}"),
    ]
    if status.under_replicated_blocks and estimate is not None:
        rows.append(("Time left", str(estimate)))
    leaving = [node for node in status.datanodes if node.admin_state in LEAVING]
    return section(
        "repair",
        "Repair and decommission",
        facts(rows),
        table(
            "Datanodes on their way out",
            ("Datanode", "State", "Blocks left", "Time left"),
            [
                (
                    node.name,
                    badge("idle", node.admin_words),
                    f"{node.low_redundancy_blocks:,}",
                    str(times.estimates.get(node.name, "not known yet")),
                )
                for node in leaving[:_SHOWN]
            ],
            numbers=(2,),
        )
        if leaving
        else None,
    )


def _coding(status: NamenodeStatus) -> Html | None:
    """The block groups of erasure coded files, where there are any."""
    groups = status.block_groups
    if not groups.total:
        return None
    return section(
        "coding",
        "Erasure coding",
        facts(
            [
                ("Block groups", f"{groups.total:,}"),
                ("Too few internal blocks to be read", f"{groups.missing:,}"),
                ("No internal block to spare", f"{groups.highest:,}"),
                ("Low on internal blocks", f"{groups.low_redundancy:,}"),
                ("A corrupt internal block", f"{groups.corrupt:,}"),
                ("Being reconstructed or copied", f"{groups.under_way:,}"),
                ("Policies enabled", ", ".join(groups.policies) or "none"),
            ]
        ),
    )


def _room(status: NamenodeStatus) -> Html:
    nodes = [node for node in status.datanodes if node.live]
    capacity = sum(node.capacity_bytes for node in nodes)
    left = sum(node.remaining_bytes for node in nodes)
    used = sum(node.used_bytes for node in nodes)
    used_by_others = sum(node.non_dfs_used_bytes for node in nodes)
    taken = units.full(used + used_by_others, left)
    return section(
        "room",
        "Room",
        facts(
            [
                ("Full", bar(taken, fill_level(taken), f"{taken:.0f} %") if capacity else "—"),
                ("Capacity", iec_size(capacity)),
                ("Used by blocks", iec_size(used)),
                ("Used by others", iec_size(used_by_others)),
                ("Left", iec_size(left)),
                ("Kept back", iec_size(max(0, capacity - used - used_by_others - left))),
                ("Volumes failed", f"{sum(node.failed_volumes for node in nodes):,}"),
            ]
        ),
    )


def _start(status: NamenodeStatus) -> Html:
    """What a start consists of, and how far it is."""
    needed = status.safe_mode_needed_blocks
    reported = min(status.safe_mode_blocks, needed)
    share = units.percent(reported, needed) if needed else 100.0
    done = badge("ok", "done")
    ends = badge("warn", "waits") if status.safe_mode else badge("ok", "off")
    blocks: Child = done
    if status.safe_mode:
        blocks = bar(share, "ok", f"{reported:,} of {needed:,}, {share:.0f} %")
    return section(
        "start",
        "Start-up",
        tag(
            "ol",
            tag("li", "Image read ", done),
            tag("li", f"Edits replayed up to transaction {status.last_txid:,} ", done),
            tag("li", "Blocks reported by datanodes ", blocks),
            tag("li", "Safe mode ", ends),
        ),
    )


def _about(status: NamenodeStatus, times: Times) -> Html:
    up = units.span((times.now_ms - status.started_ms) / 1000)
    rows: list[tuple[str, Child]] = [
        ("RPC address", status.host_and_port),
        ("Started", f"{units.utc_text(status.started_ms)}, {up} ago"),
        ("Cluster", tag("code", status.cluster_id)),
        ("Block pool", tag("code", status.block_pool_id)),
        ("Files open for writing", f"{status.open_files:,}"),
    ]
    return section("about", "About", facts(rows))
