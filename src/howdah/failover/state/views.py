"""A controller's page, its bean and its figures, of what is known of it (pure)."""

from __future__ import annotations

from typing import Final

from howdah import __version__
from howdah.failover.state.elector import Position
from howdah.failover.state.health import Health
from howdah.failover.state.status import ElectionView, active_of, readiness
from howdah.web.jmx import Bean
from howdah.web.monitoring.families import Family, one
from howdah.web.pages import units
from howdah.web.pages.html import Child
from howdah.web.pages.layout import Link, badge, facts, refresh_hint, section, table, verdict

LINKS: Final = (Link("/", "Overview"),)
_POSITIONS: Final = {
    Position.ACTIVE: "elected",
    Position.STANDBY: "not elected",
    Position.NEUTRAL: "not known",
    Position.OUT: "not in the election",
}


def bean(sight: ElectionView) -> Bean:
    """Hadoop's controller has none."""
    attempt = sight.attempt
    return {
        "name": "Hadoop:service=ZKFC,name=HowdahFailoverControllerInfo",
        "modelerType": "howdah.failover",
        "SoftwareVersion": __version__,
        "Nameservice": sight.own.nameservice,
        "NamenodeId": sight.own.namenode,
        "NamenodeAddress": "{}:{}".format(*sight.own.address),
        "NamenodeHealth": sight.checked.health.value,
        "NamenodeHealthReason": sight.checked.reason,
        "NamenodeState": sight.checked.state.value if sight.checked.state else "",
        "MillisSinceLastCheck": _age_ms(sight, sight.checked.at_ms),
        "ElectionState": sight.position.value,
        "ElectionReason": sight.reason,
        "MillisSinceLastReport": _age_ms(sight, sight.reported_ms),
        "Election": sight.standing.place,
        "ElectionReached": sight.standing.is_reached,
        "ElectionStanding": sight.standing.said,
        "ElectedNamenodeId": active_of(sight),
        "LastAttempt": attempt.message if attempt else "",
        "LastAttemptSucceeded": attempt.succeeded if attempt else None,
        "BecameActive": sight.counts.became_active,
        "FailedAttempts": sight.counts.failed,
        "FencedNamenodes": sight.counts.fenced,
        "NamenodeDeaths": sight.counts.deaths,
    }


def _age_ms(sight: ElectionView, at_ms: int) -> int:
    """-1: never."""
    return sight.now_ms - at_ms if at_ms else -1


def families(sight: ElectionView) -> list[Family]:
    """Return the families for Prometheus."""
    own = {"nameservice": sight.own.nameservice, "namenode": sight.own.namenode}
    counts = sight.counts
    return [
        Family(
            "howdah_failover_position",
            "gauge",
            "1 for how the controller stands in the election.",
            tuple(
                ({**own, "position": position.name.lower()}, float(position is sight.position))
                for position in Position
            ),
        ),
        Family(
            "howdah_failover_namenode_health",
            "gauge",
            "1 for what the last check of the namenode found.",
            tuple(
                ({**own, "health": health.name.lower()}, float(health is sight.checked.health))
                for health in Health
            ),
        ),
        one(
            "howdah_failover_election_reached",
            "gauge",
            "1 while what the election is held on answers.",
            float(sight.standing.is_reached),
            **own,
        ),
        Family(
            "howdah_failover_attempts",
            "counter",
            "Attempts to make the namenode active, by how they ended.",
            (
                ({**own, "outcome": "succeeded"}, float(counts.became_active)),
                ({**own, "outcome": "failed"}, float(counts.failed)),
            ),
        ),
        one(
            "howdah_failover_fenced",
            "counter",
            "Namenodes that were fenced, or became standby when they were asked.",
            float(counts.fenced),
            **own,
        ),
        one(
            "howdah_failover_namenode_deaths",
            "counter",
            "How often the process of the namenode was found dead.",
            float(counts.deaths),
            **own,
        ),
    ]


def overview(sight: ElectionView) -> list[Child]:
    """The body of the page."""
    bad = [check.said for check in readiness(sight).checks if not check.ok]
    warn = []
    if sight.attempt is not None and not sight.attempt.succeeded:
        warn.append(f"the last attempt to become active failed: {sight.attempt.message}")
    level = "bad" if bad else "warn" if warn else "ok"
    headline = {
        Position.ACTIVE: "Its namenode is elected, and active",
        Position.STANDBY: "Another namenode is elected; its own stands by",
    }.get(sight.position, "The election goes on without a word of its namenode yet")
    if bad:
        headline = "A failover to this namenode is not possible now"
    return [
        verdict(level, headline, [*bad, *warn]),
        refresh_hint(),
        section("election", "Election", facts(_election(sight))),
        section("namenode", "Its namenode", facts(_namenode(sight))),
        section("namenodes", "Namenodes of the nameservice", _namenodes(sight)),
    ]


def _election(sight: ElectionView) -> list[tuple[str, Child]]:
    since = f", for {_ago(sight, sight.reported_ms)}" if sight.reported_ms else ""
    counts, attempt = sight.counts, sight.attempt
    ended = "none since the start"
    if attempt is not None:
        ended = f"{attempt.message} ({_ago(sight, attempt.at_ms)} ago)"
    return [
        ("Held on", sight.standing.place),
        ("It is", f"{_POSITIONS[sight.position]}{since}"),
        ("Why", sight.reason or "nothing was reported yet"),
        ("Lease or session", sight.standing.said),
        ("Elected namenode", active_of(sight) or "not known"),
        ("Last attempt to become active", ended),
        ("Attempts", f"{counts.became_active:,} succeeded, {counts.failed:,} failed"),
        ("Namenodes fenced", f"{counts.fenced:,}"),
    ]


def _namenode(sight: ElectionView) -> list[tuple[str, Child]]:
    checked = sight.checked
    is_well = checked.health is Health.HEALTHY
    last = f"{_ago(sight, checked.at_ms)} ago" if checked.at_ms else "never"
    rows: list[tuple[str, Child]] = [
        ("Address", str(sight.own)),
        ("Health", badge("ok" if is_well else "bad", checked.health.value)),
        ("It says that it is", checked.state.value if checked.state else "nothing"),
        ("Last look", last),
        ("Deaths of its process", f"{sight.counts.deaths:,}"),
    ]
    if checked.reason:
        rows.insert(2, ("Why", checked.reason))
    return rows


def _namenodes(sight: ElectionView) -> Child:
    elected = active_of(sight)
    return table(
        "As they are configured, and whom the election names",
        ("Namenode", "Address", "Election", "Fencing"),
        [
            (
                target.namenode,
                "{}:{}".format(*target.address),
                badge("ok", "elected") if target.namenode == elected else badge("idle", "no"),
                target.fencing or "none",
            )
            for target in sorted(sight.targets, key=lambda target: target.namenode)
        ],
    )


def _ago(sight: ElectionView, at_ms: int) -> str:
    return units.span((sight.now_ms - at_ms) / 1000)
