"""Keys that say on which datanodes replicas are placed."""

from __future__ import annotations

from howdah.config.value_types import boolean, decimal, integer, optional_integer, string

_ROOM = "dfs.namenode.available-space-block-placement-policy."
_ROOM_SPREAD = "dfs.namenode.available-space-rack-fault-tolerant-block-placement-policy."

DFS_BLOCK_REPLICATOR_CLASSNAME = string(
    "dfs.block.replicator.classname",
    "org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault",
    "The placement policy, by the name of Hadoop's class: BlockPlacementPolicyDefault, "
    "BlockPlacementPolicyRackFaultTolerant, AvailableSpaceBlockPlacementPolicy, "
    "AvailableSpaceRackFaultTolerantBlockPlacementPolicy or "
    "BlockPlacementPolicyWithUpgradeDomain.",
)
DFS_BLOCK_PLACEMENT_EC_CLASSNAME = string(
    "dfs.block.placement.ec.classname",
    "org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyRackFaultTolerant",
    "The same for the internal blocks of erasure-coded files.",
)
DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION = decimal(
    f"{_ROOM}balanced-space-preference-fraction",
    "0.6",
    "How often the emptier of two datanodes is taken by AvailableSpaceBlockPlacementPolicy.",
)
DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE = integer(
    f"{_ROOM}balanced-space-tolerance",
    5,
    "Datanodes that differ by less are equally full, in percent of their room.",
)
DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE_LIMIT = integer(
    f"{_ROOM}balanced-space-tolerance-limit",
    100,
    "The tolerance holds for datanodes that are less full, in percent.",
)
DFS_NAMENODE_AVAILABLE_SPACE_BLOCK_PLACEMENT_POLICY_BALANCE_LOCAL_NODE = boolean(
    f"{_ROOM}balance-local-node",
    False,
    "Whether a writer's own datanode competes with others of its rack for the first replica.",
)
DFS_NAMENODE_AVAILABLE_SPACE_RACK_FAULT_TOLERANT_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_PREFERENCE_FRACTION = decimal(  # noqa: E501
    f"{_ROOM_SPREAD}balanced-space-preference-fraction",
    "0.6",
    "The same for AvailableSpaceRackFaultTolerantBlockPlacementPolicy.",
)
DFS_NAMENODE_AVAILABLE_SPACE_RACK_FAULT_TOLERANT_BLOCK_PLACEMENT_POLICY_BALANCED_SPACE_TOLERANCE = (
    integer(
        f"{_ROOM_SPREAD}balanced-space-tolerance",
        5,
        "The same for AvailableSpaceRackFaultTolerantBlockPlacementPolicy, in percent.",
    )
)
DFS_NAMENODE_UPGRADE_DOMAIN_FACTOR = optional_integer(
    "dfs.namenode.upgrade.domain.factor",
    "In so many upgrade domains BlockPlacementPolicyWithUpgradeDomain wants the replicas; else "
    "in dfs.replication.",
    minimum=1,
)
DFS_NAMENODE_REDUNDANCY_CONSIDERLOADBYSTORAGETYPE = boolean(
    "dfs.namenode.redundancy.considerLoadByStorageType",
    False,
    "Whether a datanode's load is compared with those that have the wanted type of storage.",
)
DFS_NAMENODE_BLOCK_PLACEMENT_POLICY_EXCLUDE_SLOW_NODES_ENABLED = boolean(
    "dfs.namenode.block-placement-policy.exclude-slow-nodes.enabled",
    False,
    "Whether datanodes that others find slow get new replicas last.",
)
DFS_NAMENODE_MAX_SLOWPEER_COLLECT_NODES = integer(
    "dfs.namenode.max.slowpeer.collect.nodes",
    5,
    "At most so many datanodes count as slow.",
    minimum=0,
)
DFS_NAMENODE_AVOID_READ_SLOW_DATANODE = boolean(
    "dfs.namenode.avoid.read.slow.datanode",
    False,
    "Whether datanodes that others find slow are offered to readers last.",
)
