"""The processes around the pure rooms: `server`, the namenode, and `secondary`.

`settings` reads Hadoop's keys; `format`, `loading`, `importing`, `upgrading` lie before
serving; `groups`, `racks`, `lookups` ask the machine; `cluster_log`, `status`, `refreshing`
and `background` are what operators see and use. May import every room; none imports it.
"""
