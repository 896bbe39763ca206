"""Tasks at the nodes that have the replicas.

`nodes` chooses a node for each file and tasks for each node (pure); `plan_files` makes Spark
prefer a node for a task, by files that are placed on that node.
Knows neither copies nor verification, which both use it. Arrows: `locality -> common`.
"""
