"""Tasks at the nodes that have the replicas.

`nodes` chooses a node for each file and tasks for each node (pure); `node_parts` is that as a
table to join with; `plan_files` makes Spark prefer a node, by files that are placed on it.
Knows neither copies nor verification, which both use it. Arrows: `locality -> common`.
"""
