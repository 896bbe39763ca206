"""`/cluster`: all nameservices of the configuration side by side (pure).

Each namenode is asked for its `/jmx`; one that does not answer, or says what is no sense, is
shown as such, and the others as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from howdah.web.pages import units
from howdah.web.pages.html import Child, Html, tag
from howdah.web.pages.layout import badge, bar, fill_level, live, table, verdict

PATH: Final = "/cluster"


@dataclass(frozen=True, slots=True)
class Member:
    """A namenode. `trouble` says why nothing is known of it, and is empty otherwise."""

    nameservice: str
    name: str
    address: str
    trouble: str = ""
    state: str = ""
    safe_mode: str = ""
    version: str = ""
    files: int = 0
    blocks: int = 0
    missing: int = 0
    corrupt: int = 0
    low: int = 0
    live: int = 0
    dead: int = 0
    capacity_bytes: int = 0
    used_bytes: int = 0
    """By blocks and by others."""
    remaining_bytes: int = 0
    cluster_id: str = ""
    scheme: str = "http"
    """Of its pages: https where servers speak over TLS alone."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """All that its bean FSNamesystem counts."""


def page(members: Sequence[Member]) -> list[Child]:
    """Return the body of the page."""
    names = list(dict.fromkeys(member.nameservice for member in members))
    groups = [[member for member in members if member.nameservice == name] for name in names]
    levels = [_judged(group) for group in groups]
    worst = max((level for level, _ in levels), key=("ok", "warn", "bad").index, default="ok")
    trouble = [
        f"{name or 'the namespace'}: {text}"
        for name, (level, text) in zip(names, levels, strict=True)
        if level != "ok"
    ]
    ids = {member.cluster_id for member in members if member.cluster_id}
    if len(ids) > 1:
        trouble.append(f"they are of {len(ids)} clusters: {', '.join(sorted(ids))}")
        worst = "warn" if worst == "ok" else worst
    headline = f"{units.count(len(names), 'nameservice')}: all data is safe"
    if trouble:
        sick = [
            f"{name or 'the namespace'}: {text}"
            for name, (level, text) in zip(names, levels, strict=True)
            if level == worst
        ]
        headline = sick[0] if sick else "The nameservices do not belong together"
    return [
        verdict(worst, headline, trouble),
        live("nameservices", [_group(*group) for group in zip(names, groups, levels, strict=True)]),
    ]


def _judged(members: Iterable[Member]) -> tuple[str, str]:
    """Return the level and the words for one nameservice."""
    known = [member for member in members if not member.trouble]
    leading = [member for member in known if member.state == "active"]
    if not known:
        return "bad", "no namenode answers"
    if not leading:
        return "bad", "no namenode is active"
    active = leading[0]
    if active.missing:
        return "bad", f"{units.count(active.missing, 'block')} without a replica"
    if len(leading) > 1:
        return "bad", "several namenodes say that they are active"
    if active.safe_mode:
        return "warn", "safe mode is on"
    silent = [member for member in members if member.trouble]
    if silent:
        return "warn", f"namenode {silent[0].name or silent[0].address} does not answer"
    if active.low or active.corrupt:
        said = (
            (active.low, "low on replicas"),
            (active.corrupt, "with a corrupt replica"),
        )
        return "warn", ", ".join(
            f"{units.count(number, 'block')} {condition}" for number, condition in said if number
        )
    if active.dead:
        return "warn", f"{units.count(active.dead, 'datanode')} dead"
    return "ok", "all data is safe"


def _group(name: str, members: Sequence[Member], judged: tuple[str, str]) -> Html:
    level, text = judged
    return tag(
        "section",
        tag("h2", name or "The namespace", " ", badge(level, text)),
        table(
            f"Namenodes of {name or 'the namespace'}",
            (
                "Namenode",
                "State",
                "Files",
                "Blocks",
                "Missing",
                "Low",
                "Datanodes",
                "Full",
                "Version",
            ),
            [_row(member) for member in members],
            numbers=(2, 3, 4, 5, 6),
        ),
    )


def _row(member: Member) -> list[Child]:
    label = tag("a", member.name or member.address, href=f"{member.scheme}://{member.address}/")
    if member.trouble:
        return [label, [badge("bad", "does not answer"), " ", member.trouble], *[""] * 7]
    taken = units.full(member.used_bytes, member.remaining_bytes)
    state: list[Child] = [badge("ok" if member.state == "active" else "idle", member.state)]
    if member.safe_mode:
        state += [" ", badge("warn", "safe mode")]
    return [
        label,
        state,
        f"{member.files:,}",
        f"{member.blocks:,}",
        f"{member.missing:,}",
        f"{member.low:,}",
        f"{member.live:,}" + (f" + {member.dead:,} dead" if member.dead else ""),
        bar(taken, fill_level(taken), f"{taken:.0f} %") if member.capacity_bytes else "",
        member.version,
    ]
