"""The processes around the pure rooms: `server`, the namenode, and `secondary`.

`settings` reads Hadoop's keys; `format`, `loading`, `importing`, `upgrading`, `bootstrap`,
`sharing` lie before serving; `groups`, `racks`, `lookups`, `resources` ask the machine;
`cluster_log`, `status` and `background` are what operators see and use. May import every room;
none imports it.
"""
