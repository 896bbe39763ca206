"""How patient a write pipeline is, and when it gets another datanode (pure).

ReplaceDatanodeOnFailure in Hadoop: `dfs.client.block.write.replace-datanode-on-failure.*`.

For a file of replication r whose block is left with n datanodes:

- nothing is asked for when n is 0, or r already;
- NEVER (and `enable` false) goes on with what is left, ALWAYS always asks;
- DEFAULT asks, for r of 3 or more, when no more than half of r is left, or when a
  reader may rely on the block already since it was flushed or appended to.

Where no other datanode can be had the write goes on all the same with `best-effort`,
or with at least `min-replication` nodes. Hadoop's default for the latter is 0, which
ends the write; here it is 1, because success needs no more than the minimal
replication of a block, and the namenode makes the missing replicas later (FS-132).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

from howdah.protocol.data_transfer.blocks import DatanodeAddress


class Policy(enum.Enum):
    """When a failed datanode is replaced in the open pipeline."""

    NEVER = "NEVER"
    DEFAULT = "DEFAULT"
    ALWAYS = "ALWAYS"


@dataclass(frozen=True, slots=True)
class ReplacementPolicy:
    """What a client's configuration says about replacing datanodes."""

    policy: Policy = Policy.DEFAULT
    best_effort: bool = False
    min_replication: int = 1

    def wants(self, *, replication: int, left: int, appended: bool, flushed: bool) -> bool:
        """Whether a pipeline that has `left` nodes is to get one more."""
        if not 0 < left < replication:
            return False
        match self.policy:
            case Policy.ALWAYS:
                return True
            case Policy.DEFAULT:
                return replication >= 3 and (left <= replication // 2 or appended or flushed)
            case Policy.NEVER:
                return False

    def tolerates(self, left: int) -> bool:
        """Whether the write goes on with `left` nodes though no other was found."""
        return self.best_effort or 0 < self.min_replication <= left


DEFAULT_POLICY = ReplacementPolicy()


def _none_is(node: DatanodeAddress) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class PipelineRules:
    """How patient a pipeline is, as the client's configuration says.

    `setup_retries` are for a new block, `recovery_retries` count pipelines that break
    with no packet acknowledged in between, `slow_acks` acks in a row by which a node says
    that it is slow (0: whatever it says). `is_local` tells the nodes on this machine,
    whose restart is worth `restart_timeout_s` of waiting.
    """

    setup_retries: int = 3
    recovery_retries: int = 5
    replacement: ReplacementPolicy = DEFAULT_POLICY
    exclude_s: float = 600.0
    heartbeat_interval_s: float = 30.0
    restart_timeout_s: float = 30.0
    is_local: Callable[[DatanodeAddress], bool] = _none_is
    slow_acks: int = 10


DEFAULT_RULES = PipelineRules()
