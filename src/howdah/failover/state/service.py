"""A namenode as failover sees it: its address, its state, who asks it to change that (pure).

Mirrors Hadoop's HAServiceTarget, HAServiceStatus and HAServiceProtocol.RequestSource.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from howdah.config.value_types import Address


class ServiceState(enum.Enum):
    """The values are Hadoop's names, as `haadmin` prints them."""

    INITIALIZING = "initializing"
    ACTIVE = "active"
    STANDBY = "standby"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class ServingProcess:
    """Which process a namenode is, as `howdah.runtime.process_identity` names one, and the epoch
    in which it writes the log at journal nodes."""

    pid: int
    start_ticks: int
    boot_id: str
    writer_epoch: int | None


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """What a namenode answers when it is asked for its state."""

    state: ServiceState
    is_ready: bool = False
    """It could become active now."""
    not_ready_reason: str = ""
    process: ServingProcess | None = None
    """None of a namenode that doesn't say, as Hadoop's."""


class RequestSource(enum.Enum):
    """Who asks for a change of state: a namenode with automatic failover listens to its
    controller, and to an administrator only if he insists."""

    USER = 0
    USER_FORCED = 1
    CONTROLLER = 2


@dataclass(frozen=True, slots=True)
class Target:
    """One namenode of a nameservice, and its controller."""

    nameservice: str
    namenode: str
    address: Address
    """Where it answers other servers."""
    controller_port: int
    is_automatic: bool
    """Controllers decide who is active."""
    fencing: str | None
    """The fencing methods against it, as they are configured."""

    @property
    def controller_address(self) -> Address:
        return self.address[0], self.controller_port

    def __str__(self) -> str:
        host, port = self.address
        return f"NameNode at {host}:{port}"
