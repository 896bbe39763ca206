"""Where replicas are, and where they should be (pure).

`datanodes` has nodes and storages, `block_map` judges what they report, `replica_map` has what
is known of all replicas, `redundancy` the queues of blocks that need something, `reconstruction`
and `invalidation` the orders that follow; `topology`, `placement` and `host_lists` choose nodes;
`decommission` lets them leave and return; `safe_mode` waits for reports. Knows blocks as rows of
`inodes`, and neither paths nor callers. Arrows:
`reconstruction, decommission -> block_map -> replica_map -> invalidation -> redundancy`.
"""
