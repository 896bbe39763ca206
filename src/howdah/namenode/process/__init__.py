"""The processes around the pure rooms: `server`, the namenode, and `secondary`.

`settings` reads Hadoop's keys; `format`, `loading`, `checkpoint_import`, `upgrading`, `bootstrap`,
`shared_edits` lie before serving; `groups`, `racks`, `lookups`, `resources` ask the machine;
`block_log`, `status` and `admin_tasks` are what operators see and use. May import every room;
none imports it.
"""
