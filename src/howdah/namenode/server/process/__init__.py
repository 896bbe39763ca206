"""Run the namenode (`server`) and the secondary namenode (`secondary`) as processes.

`settings` reads Hadoop's keys; `format`, `loading`, `checkpoint_import`, `upgrading`, `bootstrap`,
`shared_edits` lie before serving; `racks` and `resources` ask the machine; `admin_tasks` is what
operators see and use. May import every room; none imports it.
"""
