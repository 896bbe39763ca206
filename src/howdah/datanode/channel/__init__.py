"""What the keeper and the data process say to each other, and the pipe between them.

`messages` and `commands` are values (pure), `link` frames them on a socket pair, `questions` are
about the data process itself, `gauges` are numbers in shared memory, `fault_points` where a test
can make either fail. Knows nothing of replicas or namenodes; every other room imports it.
"""
