"""Keys of high availability and federation."""

from __future__ import annotations

from howdah.config.value_types import boolean, duration, listing, optional_string

DFS_NAMESERVICES = listing("dfs.nameservices", "", "The logical names of the namespaces.")
DFS_INTERNAL_NAMESERVICES = listing(
    "dfs.internal.nameservices",
    "",
    "Those of dfs.nameservices that datanodes report to; all of them where it is not set.",
)
DFS_HA_NAMENODES = listing(
    "dfs.ha.namenodes",
    "",
    "With the name of a nameservice appended: the logical names of its namenodes.",
)
DFS_NAMESERVICE_ID = optional_string("dfs.nameservice.id", "Which of them this server belongs to.")
DFS_HA_NAMENODE_ID = optional_string("dfs.ha.namenode.id", "Which namenode of it this server is.")

# The shared log, and who follows it.

DFS_NAMENODE_SHARED_EDITS_DIR = listing(
    "dfs.namenode.shared.edits.dir",
    "",
    "The log that the namenodes of a nameservice share: qjournal://HOST:PORT;HOST:PORT;HOST:PORT/"
    "JOURNAL, or file:///DIRECTORY on storage that all of them see.",
)
DFS_HA_TAIL_EDITS_PERIOD = duration(
    "dfs.ha.tail-edits.period", "60s", "s", "How often a standby reads the shared log."
)
DFS_HA_TAIL_EDITS_IN_PROGRESS = boolean(
    "dfs.ha.tail-edits.in-progress",
    False,
    "Whether a standby reads the segment that is being written, as far as it is durable.",
)
DFS_HA_LOG_ROLL_PERIOD = duration(
    "dfs.ha.log-roll.period",
    "120s",
    "s",
    "How long a standby waits for a segment to be finished before it asks the active to begin "
    "another; below 0 it never asks.",
    minimum_s=None,
)
DFS_HA_TAIL_EDITS_ROLLEDITS_TIMEOUT = duration(
    "dfs.ha.tail-edits.rolledits.timeout", "60s", "s", "How long the active may take for that."
)
DFS_HA_STANDBY_CHECKPOINTS = boolean(
    "dfs.ha.standby.checkpoints",
    True,
    "Whether a standby makes images and sends them to the other namenodes.",
)

# Who is active.

DFS_HA_AUTOMATIC_FAILOVER_ENABLED = boolean(
    "dfs.ha.automatic-failover.enabled",
    False,
    "Whether failover controllers decide which namenode is active. May have the name of a "
    "nameservice appended.",
)
DFS_HA_NN_NOT_BECOME_ACTIVE_IN_SAFEMODE = boolean(
    "dfs.ha.nn.not-become-active-in-safemode",
    False,
    "Whether a namenode in safe mode refuses to become active or an observer, and says that it is "
    "not well.",
)
DFS_NAMENODE_GET_BLOCKS_CHECK_OPERATION = boolean(
    "dfs.namenode.get-blocks.check.operation",
    True,
    "Whether only the active, or an observer, tells a balancer which blocks a datanode has.",
)
DFS_HA_FENCING_METHODS = optional_string(
    "dfs.ha.fencing.methods",
    "How to make sure that the former active is none any more: one method a line.",
)
