"""Times that contradict one another (pure).

Each rule names two keys of which the one has to be the longer, and what happens if it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from howdah.config import keys
from howdah.config.value_types import Key
from howdah.doctor.findings import Finding, warning
from howdah.doctor.inputs import Facts


class Rule(NamedTuple):
    """`longer` has to be at least `factor` times `shorter`, unless one of them is 0 or less."""

    longer: Key[float]
    shorter: Key[float]
    why: str
    factor: float = 1.0


RULES: Final = (
    Rule(
        keys.DFS_NAMENODE_STALE_DATANODE_INTERVAL,
        keys.DFS_HEARTBEAT_INTERVAL,
        "a datanode counts as stale after three heartbeats that are late",
        3,
    ),
    Rule(
        keys.DFS_DATANODE_SOCKET_WRITE_TIMEOUT,
        keys.DFS_CLIENT_SOCKET_TIMEOUT,
        "a datanode gives up a slow reader before the reader gives up",
    ),
    Rule(
        keys.DFS_DATANODE_SOCKET_REUSE_KEEPALIVE,
        keys.DFS_CLIENT_SOCKETCACHE_EXPIRYMSEC,
        "clients reuse connections that the datanode has closed",
    ),
    Rule(
        keys.DFS_DATANODE_RESTART_REPLICA_EXPIRATION,
        keys.DFS_CLIENT_DATANODE_RESTART_TIMEOUT,
        "a datanode that restarts gives up a writer's replica while the writer still waits",
    ),
    Rule(
        keys.DFS_NAMENODE_LEASE_HARD_LIMIT_SEC,
        keys.HOWDAH_NAMENODE_LEASE_SOFT_LIMIT,
        "files of a dead writer are closed before anybody may take them over",
    ),
    Rule(
        keys.DFS_NAMENODE_CHECKPOINT_PERIOD,
        keys.DFS_NAMENODE_CHECKPOINT_CHECK_PERIOD,
        "checkpoints are asked about more seldom than they are due",
    ),
    Rule(
        keys.FS_TRASH_INTERVAL,
        keys.FS_TRASH_CHECKPOINT_INTERVAL,
        "the trash is checkpointed more seldom than it is emptied",
    ),
    Rule(
        keys.HA_HEALTH_MONITOR_RPC_TIMEOUT_MS,
        keys.HA_HEALTH_MONITOR_CHECK_INTERVAL_MS,
        "a namenode is asked for its health more seldom than it may take to answer",
    ),
    Rule(
        keys.DFS_HA_LOG_ROLL_PERIOD,
        keys.DFS_HA_TAIL_EDITS_PERIOD,
        "segments end faster than standbys read them",
    ),
    Rule(
        keys.DFS_CLIENT_FAILOVER_SLEEP_MAX_MILLIS,
        keys.DFS_CLIENT_FAILOVER_SLEEP_BASE_MILLIS,
        "the longest pause of a client is shorter than its first one",
    ),
)


def check(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    for rule in RULES:
        longer, shorter = conf.get(rule.longer), conf.get(rule.shorter)
        if 0 < longer < rule.factor * shorter:
            times = "" if rule.factor == 1 else f"{rule.factor:g} times "
            yield warning(
                "time-outs",
                f"{rule.longer.name} ({longer:g} s) is shorter than {times}"
                f"{rule.shorter.name} ({shorter:g} s), so {rule.why}",
                "raise the first or lower the second",
            )
    heartbeat_s = conf.get(keys.DFS_HEARTBEAT_INTERVAL)
    lost_s = 2 * conf.get(keys.DFS_NAMENODE_HEARTBEAT_RECHECK_INTERVAL) + 10 * heartbeat_s
    stale_s = conf.get(keys.DFS_NAMENODE_STALE_DATANODE_INTERVAL)
    if stale_s >= lost_s:
        yield warning(
            "time-outs",
            f"{keys.DFS_NAMENODE_STALE_DATANODE_INTERVAL.name} ({stale_s:g} s) is not below the "
            f"{lost_s:g} s after which a datanode counts as lost",
            "lower it, or nobody avoids a datanode that has fallen silent",
        )
    lifeline_s = conf.get(keys.DFS_DATANODE_LIFELINE_INTERVAL_SECONDS)
    if lifeline_s and 0 < lifeline_s <= heartbeat_s:
        yield warning(
            "time-outs",
            f"{keys.DFS_DATANODE_LIFELINE_INTERVAL_SECONDS.name} ({lifeline_s:g} s) is not longer "
            f"than {keys.DFS_HEARTBEAT_INTERVAL.name} ({heartbeat_s:g} s)",
            "leave it to its default, which is three heartbeats: lifelines are for late ones",
        )
