"""The namenodes of a nameservice as failover knows them, from the configuration.

Mirrors Hadoop's NNHAServiceTarget.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from howdah.config import Configuration, keys
from howdah.config.journal_uri import JournalUri, is_journal_uri
from howdah.config.nameservices import namenode_ids, nameservices, service_addresses, specialise
from howdah.config.value_types import Address
from howdah.errors import IllegalArgument, InvalidConfiguration
from howdah.failover.state.health import Intervals
from howdah.failover.state.service import Target

_HOST = re.compile(r"[0-9A-Za-z.:_%-]{1,253}")


def is_same_host(one: str, other: str) -> bool:
    """Return whether two names stand for one host: they have an address in common."""
    if not _HOST.fullmatch(one) or not _HOST.fullmatch(other):
        return False
    try:
        addresses = [
            {str(entry[4][0]) for entry in socket.getaddrinfo(name, None)} for name in (one, other)
        ]
    except (OSError, UnicodeError):
        return False
    return bool(addresses[0] & addresses[1])


def only_nameservice(conf: Configuration) -> str:
    """The nameservice that is meant where none is named. Raises InvalidConfiguration."""
    named = conf.get(keys.DFS_NAMESERVICE_ID)
    if named:
        return named
    names = nameservices(conf)
    if len(names) == 1:
        return names[0]
    problem = "Unable to determine the name service ID."
    if names:
        problem += (
            " This is an HA configuration with multiple name services configured. "
            f"{keys.DFS_NAMESERVICES.name} is set to [{', '.join(names)}]. "
            "Please re-run with the -ns option."
        )
    raise InvalidConfiguration(problem)


def targets(conf: Configuration, nameservice: str) -> dict[str, Target]:
    """All namenodes of a nameservice, by their ids. Raises InvalidConfiguration."""
    addresses = service_addresses(conf, nameservice)
    return {
        name: _target(specialise(conf, nameservice, name), nameservice, name, addresses[name])
        for name in namenode_ids(conf, nameservice)
    }


def _target(conf: Configuration, nameservice: str, namenode: str, address: Address) -> Target:
    return Target(
        nameservice,
        namenode,
        address,
        conf.get(keys.DFS_HA_ZKFC_PORT),
        conf.get(keys.DFS_HA_AUTOMATIC_FAILOVER_ENABLED),
        conf.get(keys.DFS_HA_FENCING_METHODS),
    )


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that calls to namenodes and controllers may take."""

    health_s: float
    to_active_s: float
    to_standby_s: float
    check_s: float

    @classmethod
    def of(cls, conf: Configuration) -> Timeouts:
        return cls(
            conf.get(keys.HA_HEALTH_MONITOR_RPC_TIMEOUT_MS),
            conf.get(keys.HA_FAILOVER_CONTROLLER_NEW_ACTIVE_RPC_TIMEOUT_MS),
            conf.get(keys.HA_FAILOVER_CONTROLLER_GRACEFUL_FENCE_RPC_TIMEOUT_MS),
            conf.get(keys.HA_FAILOVER_CONTROLLER_CLI_CHECK_RPC_TIMEOUT_MS),
        )


def intervals(conf: Configuration) -> Intervals:
    """How often a controller looks at its namenode."""
    return Intervals(
        conf.get(keys.HA_HEALTH_MONITOR_CHECK_INTERVAL_MS),
        conf.get(keys.HA_HEALTH_MONITOR_CONNECT_RETRY_INTERVAL_MS),
        conf.get(keys.HA_HEALTH_MONITOR_SLEEP_AFTER_DISCONNECT_MS),
    )


def elects_on_zookeeper(conf: Configuration) -> bool:
    """On what the active namenode is elected. Raises InvalidConfiguration."""
    kind = conf.get(keys.HOWDAH_HA_ELECTION)
    quorum = conf.get(keys.HA_ZOOKEEPER_QUORUM)
    if kind == "zookeeper" and not quorum:
        raise InvalidConfiguration(
            f"{keys.HOWDAH_HA_ELECTION.name} = zookeeper needs {keys.HA_ZOOKEEPER_QUORUM.name}"
        )
    return kind == "zookeeper" or (kind == "auto" and bool(quorum))


def journal_uri(conf: Configuration) -> JournalUri | None:
    """Return the URI of the log that journal nodes keep; None if none do (`conf` is specialised).
    Raises InvalidConfiguration for one that is wrong."""
    key = keys.DFS_NAMENODE_SHARED_EDITS_DIR
    uri = next((uri for uri in conf.get(key) if is_journal_uri(uri)), None)
    try:
        return None if uri is None else JournalUri.parse(uri)
    except IllegalArgument as error:
        raise InvalidConfiguration(f"{key.name}: {error}") from error


def journal_nodes(conf: Configuration) -> tuple[Address, ...]:
    """Return the journal nodes that elect, from the URI of the shared edits (`conf` is
    specialised).

    Raises InvalidConfiguration where there are none.
    """
    key = keys.DFS_NAMENODE_SHARED_EDITS_DIR
    uri = journal_uri(conf)
    if uri is None:
        raise InvalidConfiguration(
            f"an election on journal nodes needs {key.name} = qjournal://HOST:PORT;…/ID, and it is "
            f"{conf.raw(key.name) or 'not set'}. Or set {keys.HA_ZOOKEEPER_QUORUM.name}"
        )
    return uri.nodes
