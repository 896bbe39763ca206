"""What the configuration says about a quorum of journal nodes (shell: it reads a clock)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from howdah.config import Configuration, keys
from howdah.config.settings import read, setting
from howdah.namenode.state.quorum.messages import (
    AcceptRecovery,
    FinalizeSegment,
    GetState,
    Heartbeat,
    NewEpoch,
    PrepareRecovery,
    Purge,
    Request,
    SendEdits,
    StartSegment,
)
from howdah.runtime.tls.client import ClientTls
from howdah.security.server_login import check_journal_nodes_known

_HEARTBEATS_IN_A_LEASE = 3


def boottime_ms() -> int:
    """The clock of leases: it goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumSettings:
    """Time-outs in seconds, by the kind of request."""

    timeouts_s: dict[type[Request], float]
    read_timeout_s: float = setting(keys.DFS_QJOURNAL_SELECT_INPUT_STREAMS_TIMEOUT_MS)
    rare_timeout_s: float = setting(keys.DFS_QJM_OPERATIONS_TIMEOUT)
    http_open_timeout_s: float = setting(keys.DFS_QJOURNAL_HTTP_OPEN_TIMEOUT_MS)
    http_read_timeout_s: float = setting(keys.DFS_QJOURNAL_HTTP_READ_TIMEOUT_MS)
    queue_bytes: int
    max_edits: int = setting(keys.DFS_HA_TAIL_EDITS_QJM_RPC_MAX_TXNS)
    lease_ms: int
    clock_ms: Callable[[], int] = field(default=boottime_ms)
    tls: ClientTls = field(default_factory=lambda: ClientTls(Configuration()))
    """For segments of journal nodes that hand them out over TLS."""
    user: str | None = None
    """As whom journal nodes are called; None is the process's user."""

    @property
    def heartbeat_ms(self) -> int:
        return max(1, self.lease_ms // _HEARTBEATS_IN_A_LEASE)

    @classmethod
    def of(cls, conf: Configuration, user: str | None) -> QuorumSettings:
        """From the configuration of a namenode, whose keys are plain, and which calls as `user`.
        Raises InvalidConfiguration."""
        check_journal_nodes_known(conf)
        write_s = conf.get(keys.DFS_QJOURNAL_WRITE_TXNS_TIMEOUT_MS)
        return read(
            cls,
            conf,
            timeouts_s={
                GetState: conf.get(keys.DFS_QJOURNAL_GET_JOURNAL_STATE_TIMEOUT_MS),
                NewEpoch: conf.get(keys.DFS_QJOURNAL_NEW_EPOCH_TIMEOUT_MS),
                PrepareRecovery: conf.get(keys.DFS_QJOURNAL_PREPARE_RECOVERY_TIMEOUT_MS),
                AcceptRecovery: conf.get(keys.DFS_QJOURNAL_ACCEPT_RECOVERY_TIMEOUT_MS),
                StartSegment: conf.get(keys.DFS_QJOURNAL_START_SEGMENT_TIMEOUT_MS),
                SendEdits: write_s,
                FinalizeSegment: conf.get(keys.DFS_QJOURNAL_FINALIZE_SEGMENT_TIMEOUT_MS),
                Heartbeat: write_s,
                Purge: write_s,
            },
            queue_bytes=conf.get(keys.DFS_QJOURNAL_QUEUED_EDITS_LIMIT_MB) << 20,
            lease_ms=max(1, round(conf.get(keys.HOWDAH_HA_LEASE_MS) * 1000)),
            tls=ClientTls(conf),
            user=user,
        )
