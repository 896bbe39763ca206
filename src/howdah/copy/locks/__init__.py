"""The lock of a tree: one job at a time changes it.

`tree_lock` takes, checks and gives it up; `files` are the lock files, by HDFS's leases or by
`flock`; `holders` say which process has one, and whether it still runs. Knows no Spark and
no job. Arrows: `tree_lock -> files -> holders`.
"""
