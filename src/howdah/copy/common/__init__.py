"""What copies share, and all jobs on Spark.

`filesystems` are connections as values that tasks can use; `arrow_rows` makes Arrow's batches;
`attempt_files` writes a file so that a second attempt does no harm; `failures` are errors of tasks
and of Spark; `task_progress` and `progress` show how far tasks are; `staging` names the
directories of a copy. Knows no job. Imports no other room.
"""
