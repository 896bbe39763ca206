"""Keys of high availability and federation."""

from __future__ import annotations

from howdah.kinds import (
    listing,
    optional_string,
)

DFS_NAMESERVICES = listing("dfs.nameservices", "", "The logical names of the namespaces.")
DFS_NAMESERVICE_ID = optional_string("dfs.nameservice.id", "Which of them this server belongs to.")
DFS_HA_NAMENODE_ID = optional_string("dfs.ha.namenode.id", "Which namenode of it this server is.")
