"""Whether a writer asks for another datanode when one of its pipeline fails (pure).

Mirrors `dfs.client.block.write.replace-datanode-on-failure.*`. For a file of
replication r whose block is left with n datanodes:

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
from dataclasses import dataclass


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
