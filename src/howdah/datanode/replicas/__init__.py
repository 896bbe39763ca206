"""The replicas of this datanode: their states, their files, and every change of both.

`replicas` is the map of states (pure), `store` the one place where it changes together with
the files; `writer`, `files`, `reopen`, `write_plan` write them, `open_replica` reads,
`startup_scan` finds them at a start, `reconciler` when disk and map differ later (by
`reconciliation`, pure), `disk_errors` is what a bad disk or replica leads to. Knows no
connection and no namenode. Arrows: `store -> writer, files -> open_replica -> replicas`.
"""
