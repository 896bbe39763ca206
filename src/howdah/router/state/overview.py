"""The page of a router: namespaces and how they are, and the mount table (pure). Hadoop:
federationhealth.html."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from howdah.router.state.namenodes.membership import Namenode, State
from howdah.router.state.table.mount_table import MountEntry
from howdah.router.state.table.quotas import Usage
from howdah.runtime.units import iec_size
from howdah.web.pages import units
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import (
    Link,
    badge,
    bar,
    fill_level,
    live,
    refresh_hint,
    section,
    table,
    verdict,
)

LINKS: Final = (Link("/", "Overview"), Link("/cluster", "Cluster"))
MOST_ENTRIES: Final = 500
_LEVELS: Final = {State.ACTIVE: "ok", State.UNAVAILABLE: "bad"}


@dataclass(frozen=True, slots=True)
class RouterFacts:
    """Of the mount table's `entry_count` entries the first that contain what was asked for."""

    namenodes: Sequence[Namenode]
    disabled: Collection[str]
    entries: Sequence[MountEntry]
    entry_count: int
    usage: Mapping[str, Usage]
    default_nameservice: str
    safe_mode: bool
    now_s: float


def entries_found(entries: Mapping[str, MountEntry], text: str) -> list[MountEntry]:
    """Return at most `MOST_ENTRIES` entries, by path, whose paths or nameservices contain the
    text."""
    wanted = text.casefold()
    matches = [
        entry
        for entry in entries.values()
        if not wanted
        or wanted in entry.source.casefold()
        or any(wanted in str(destination).casefold() for destination in entry.destinations)
    ]
    return sorted(matches, key=lambda entry: entry.source)[:MOST_ENTRIES]


def overview(facts: RouterFacts, query: str) -> list[Child]:
    """Return the body of the page."""
    return [
        _verdict(facts),
        refresh_hint(),
        _namespaces(facts),
        section("mounts", "Mount table", _search(query), _mounts(facts), is_live=False),
    ]


def _verdict(facts: RouterFacts) -> Html:
    names = dict.fromkeys(namenode.nameservice for namenode in facts.namenodes)
    active = {
        namenode.nameservice for namenode in facts.namenodes if namenode.state is State.ACTIVE
    }
    bad = [
        f"{name} has no active namenode"
        for name in names
        if name not in active and name not in facts.disabled
    ]
    warn = [
        f"namenode {namenode} does not answer: {namenode.why}"
        for namenode in facts.namenodes
        if namenode.state is State.UNAVAILABLE and namenode.nameservice in active
    ]
    warn += [f"{name} is disabled" for name in names if name in facts.disabled]
    warn += [
        f"{namenode} is in safe mode" for namenode in facts.namenodes if namenode.is_in_safe_mode
    ]
    if facts.safe_mode:
        bad.append("this router is in safe mode: it forwards nothing that changes something")
    headline = "All namespaces can be reached"
    if bad:
        headline = f"Not everything can be reached: {bad[0]}"
    elif warn:
        headline = "All namespaces can be reached, and something needs attention"
    level = "bad" if bad else "warn" if warn else "ok"
    return verdict(level, headline, [*bad, *warn])


def _namespaces(facts: RouterFacts) -> Html:
    def row(namenode: Namenode) -> list[Child]:
        taken = units.percent(
            namenode.capacity_bytes - namenode.available_bytes, namenode.capacity_bytes
        )
        contact = "never"
        if namenode.contact_s is not None:
            contact = f"{units.span(facts.now_s - namenode.contact_s)} ago"
        state: list[Child] = [
            badge(_LEVELS.get(namenode.state, "idle"), namenode.state.name.lower())
        ]
        if namenode.is_in_safe_mode:
            state += [" ", badge("warn", "safe mode")]
        if namenode.nameservice in facts.disabled:
            state += [" ", badge("warn", "disabled")]
        return [
            namenode.nameservice,
            namenode.name or "—",
            namenode.address_text,
            state,
            contact,
            bar(taken, fill_level(taken), f"{taken:.0f} %") if namenode.capacity_bytes else "",
            tag("code", namenode.block_pool),
        ]

    return section(
        "namespaces",
        "Namespaces",
        table(
            "Namenodes as this router last found them",
            ("Nameservice", "Namenode", "Address", "State", "Last answer", "Full", "Block pool"),
            map(row, facts.namenodes),
            numbers=(4,),
        ),
    )


def _search(query: str) -> Html:
    return tag(
        "form",
        tag(
            "label",
            "Path or nameservice",
            tag("input", type="search", name="q", value=query[:200], maxlength=200),
        ),
        tag("button", "Show", type="submit"),
        method="get",
        action="/",
        data_filter=True,
        role="search",
    )


def _mounts(facts: RouterFacts) -> Html:
    default = facts.default_nameservice
    return live(
        "entries",
        tag(
            "p",
            f"{len(facts.entries):,} of {facts.entry_count:,} mount points are shown. ",
            f"What none covers is in {default}." if default else "What none covers is nowhere.",
            class_="quiet",
            data_found=True,
        ),
        table(
            "Mount points",
            ("Path", "Destinations", "Order", "Owner", "Names", "Space"),
            [_mount(entry, facts.usage.get(entry.source)) for entry in facts.entries],
            numbers=(4, 5),
            empty="No mount point is like that."
            if facts.entry_count
            else "There is no mount point yet: howdah routeradmin -add SOURCE NAMESERVICE PATH.",
        ),
    )


def _mount(entry: MountEntry, usage: Usage | None) -> list[Child]:
    quota = entry.quota
    used = usage or Usage()
    names = f"{used.names:,} of {quota.names:,}" if quota.names >= 0 else "—"
    space = "—"
    if quota.space_bytes >= 0:
        space = f"{iec_size(used.space_bytes)} of {iec_size(quota.space_bytes)}"
    return [
        [entry.source, [" ", badge("idle", "read only")] if entry.read_only else None],
        tag(
            "ul",
            [
                tag("li", f"{destination.nameservice} {destination.path}")
                for destination in entry.destinations
            ],
        ),
        entry.order.name,
        f"{entry.owner}:{entry.group}",
        names,
        space,
    ]
