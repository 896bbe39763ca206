"""The page of a datanode: its volumes, pools, scanner, cache and peers (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah.runtime.units import iec_size
from howdah.web.pages import units
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import (
    Link,
    badge,
    bar,
    facts,
    fill_level,
    refresh_hint,
    section,
    table,
    verdict,
)

LINKS: Final = (Link("/", "Overview"),)


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """`failure` says why it is not used; `hangs`: it has not said in time how full it is."""

    path: str
    storage_type: str
    capacity_bytes: int = 0
    used_bytes: int = 0
    remaining_bytes: int = 0
    non_dfs_used_bytes: int = 0
    reserved_bytes: int = 0
    failure: str = ""
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """What verified the replicas of a volume, since the start."""

    path: str
    blocks: int
    errors: int
    rounds: int
    bytes_in_last_hour: int


@dataclass(frozen=True, slots=True)
class NamenodeFacts:
    nameservice: str
    address: str
    is_served: bool


@dataclass(frozen=True, slots=True)
class DatanodeFacts:
    """`pools` has the replicas of each block pool; `scans` is None where nothing is verified.
    `slow_peers` and `slow_disks` are sentences."""

    name: str
    uuid: str
    volumes: Sequence[VolumeFacts]
    pools: Mapping[str, int]
    namenodes: Sequence[NamenodeFacts]
    connections: int = 0
    locked_bytes: int = 0
    lockable_bytes: int = 0
    cached_blocks: int = 0
    scans: Sequence[ScanFacts] | None = None
    slow_peers: Sequence[str] = ()
    slow_disks: Sequence[str] = ()
    defects: Mapping[str, int] = field(default_factory=dict)


def overview(datanode: DatanodeFacts) -> list[Child]:
    """Return the body of the page."""
    return [
        _verdict(datanode),
        refresh_hint(),
        _volumes(datanode.volumes),
        tag(
            "div",
            _namenodes(datanode.namenodes),
            _pools(datanode.pools),
            _scanner(datanode.scans),
            _memory(datanode),
            _peers(datanode),
            class_="columns",
        ),
    ]


def _verdict(datanode: DatanodeFacts) -> Html:
    bad = [f"{volume.path}: {volume.failure}" for volume in datanode.volumes if volume.failure]
    warn = [f"{volume.path} does not answer in time" for volume in datanode.volumes if volume.hangs]
    warn += [
        f"namenode {namenode.address} has not registered this datanode"
        for namenode in datanode.namenodes
        if not namenode.is_served
    ]
    warn += [
        f"{scan.path}: {units.count(scan.errors, 'replica')} found damaged"
        for scan in datanode.scans or ()
        if scan.errors
    ]
    if datanode.defects:
        total = sum(datanode.defects.values())
        warn.append(f"{units.count(total, 'error')} that nobody foresaw: please report")
    served = sum(namenode.is_served for namenode in datanode.namenodes)
    headline = "This datanode serves, and all of its volumes work"
    if not served:
        headline = "No namenode knows this datanode"
    elif bad:
        headline = f"{units.count(len(bad), 'volume')} failed; the others are served"
    elif warn:
        headline = "This datanode serves, and something needs attention"
    level = "bad" if bad or not served else "warn" if warn else "ok"
    return verdict(level, headline, [*bad, *warn])


def _volumes(volumes: Sequence[VolumeFacts]) -> Html:
    def row(volume: VolumeFacts) -> list[Child]:
        state = badge("ok", "works")
        if volume.failure:
            state = badge("bad", "failed")
        elif volume.hangs:
            state = badge("warn", "hangs")
        full = units.full(volume.used_bytes + volume.non_dfs_used_bytes, volume.remaining_bytes)
        return [
            volume.path,
            volume.storage_type,
            [state, f" {volume.failure}" if volume.failure else None],
            bar(full, fill_level(full), f"{full:.0f} %") if volume.capacity_bytes else "",
            iec_size(volume.used_bytes),
            iec_size(volume.remaining_bytes),
            iec_size(volume.reserved_bytes),
        ]

    return section(
        "volumes",
        "Volumes",
        table(
            "Where replicas are",
            ("Directory", "Type", "State", "Full", "Used", "Left", "Reserved"),
            map(row, volumes),
            numbers=(4, 5, 6),
            empty="There is none.",
        ),
    )


def _namenodes(namenodes: Sequence[NamenodeFacts]) -> Html:
    return section(
        "namenodes",
        "Namenodes",
        table(
            "Namenodes that it reports to",
            ("Namenode", "Nameservice", "State"),
            [
                (
                    namenode.address,
                    namenode.nameservice or "—",
                    badge("ok", "registered") if namenode.is_served else badge("warn", "waits"),
                )
                for namenode in namenodes
            ],
            empty="It reports to none yet.",
        ),
    )


def _pools(pools: Mapping[str, int]) -> Html:
    return section(
        "pools",
        "Block pools",
        table(
            "Replicas of each block pool",
            ("Block pool", "Replicas"),
            [(tag("code", name), f"{count:,}") for name, count in sorted(pools.items())],
            numbers=(1,),
            empty="There is none yet.",
        ),
    )


def _scanner(scans: Sequence[ScanFacts] | None) -> Html:
    body: Child = tag("p", "Switched off (dfs.datanode.scan.period.hours).", class_="quiet")
    if scans is not None:
        body = table(
            "Verified since the start",
            ("Volume", "Replicas", "Damaged", "Rounds", "In the last hour"),
            [
                (
                    scan.path,
                    f"{scan.blocks:,}",
                    badge("bad", f"{scan.errors:,}") if scan.errors else "0",
                    f"{scan.rounds:,}",
                    iec_size(scan.bytes_in_last_hour),
                )
                for scan in scans
            ],
            numbers=(1, 2, 3, 4),
            empty="No volume is verified yet.",
        )
    return section("scanner", "Scanner", body)


def _memory(datanode: DatanodeFacts) -> Html:
    rows: list[tuple[str, Child]] = [
        (
            "May be locked",
            iec_size(datanode.lockable_bytes) if datanode.lockable_bytes else "nothing",
        ),
        ("Is locked", iec_size(datanode.locked_bytes)),
        ("Cached blocks", f"{datanode.cached_blocks:,}"),
    ]
    return section("memory", "Cache", facts(rows))


def _peers(datanode: DatanodeFacts) -> Html:
    slow = [*datanode.slow_peers, *datanode.slow_disks]
    return section(
        "peers",
        "Peers",
        facts(
            [
                ("Transfers under way", f"{datanode.connections:,}"),
                ("This datanode", tag("code", datanode.name)),
                ("Its id", tag("code", datanode.uuid)),
            ]
        ),
        tag("h3", "Slow, by what was measured here"),
        tag("ul", [tag("li", name) for name in slow])
        if slow
        else tag("p", "Nobody that is known of.", class_="quiet"),
    )
