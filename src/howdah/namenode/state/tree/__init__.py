"""The namespace: the tree, its quotas and leases, and `apply(edit)`, its only change (pure).

`namespace` applies edits, with `attribute_edits`; `quota_usage` and `usage` keep the counts
of `quotas`; `leases` says who writes; `symlinks` and `snapshot_views` are ways to walk.
Knows nothing of callers, permissions or datanodes. Arrows: `tree -> snapshots -> inodes`.
"""
