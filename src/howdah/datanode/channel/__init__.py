"""What the control process and the data process say to each other, and the pipe between them.

`messages` and `commands` are values (pure), `frames` frames them on a socket pair, `introspection`
are about the data process itself, `shared_counters` are numbers in shared memory, `fault_points`
where a test can make either fail. Knows nothing of replicas or namenodes; every other room imports
it.
"""
