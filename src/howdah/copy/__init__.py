"""A copy: what is asked for, and what a task does (Hadoop's DistCp and its mapper).

Pure: `options` (DistCpOptions), `arguments` (OptionsParser), `layout`, `compare`, `counters`.
`context` (DistCpContext) has sources and target. In executors: `tasks` (CopyMapper), `copier`
(RetriableFileCopyCommand), `preserving`, `commit_tasks` (CopyCommitter), `dry_run`. Knows no
session of Spark: `howdah.spark` and `howdah.sync` have it done, each in its way. Arrows: `tasks ->
copier -> preserving -> options`; `snapshots -> copy -> listing -> locks, common`.
"""
