"""What only howdah's own tests and measurements use; nothing here is promised to anybody.

Rooms: `answers` (our servers' answers field by field), `hadoop` (Hadoop's own jars,
servers and suites), `namespaces` (histories held against the model), `requirements` (which
test proves what). Beside them: damage to files and disks, and requests at their extremes.
It may use everything; nothing but tests and bench/ imports it.
"""
