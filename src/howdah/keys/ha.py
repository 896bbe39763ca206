"""Keys of high availability and federation."""

from __future__ import annotations

from howdah.kinds import (
    listing,
    optional_string,
)

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
