"""`compact`: the small files of each directory made fewer and larger.

`job` is a run; `tree_listing` sums up directories, `plan` decides (pure), `rewriting` makes the new
files with `joining*` and `footers`, `directory_swap` puts them in place of the old ones,
`directory_state` notices writers, `exchange_recovery` ends what a killed run began.
`table_formats` recognizes tables with a log of their files (pure), `table_maintenance` calls their
own maintenance: `delta_tables`, `iceberg_tables`. Knows nothing of copies. Arrows:
`job -> rewriting -> exchange -> directory_state -> plan`.
"""
