"""What all jobs on Spark share.

`filesystems` are connections as values that tasks can use; `rows` makes Arrow's batches;
`attempts` writes a file so that a second attempt does no harm; `task_errors` and `failures`
bring errors to the driver; `gauge` and `progress` show how far tasks are; `staging` names the
directories of a copy. Knows no job. Imports no other room.
"""
