"""Bulk work on a filesystem, done by Spark.

`distcp(spark, sources, target)` copies trees in parallel, `verify(spark, targets)` reads
every replica and compares them, `namespace(spark, where)` is what is in a filesystem or
an image, as a DataFrame, and `compact(spark, target)` makes small files fewer.

Everything goes through Spark's DataFrame API, so a session from
`SparkSession.builder.remote(…)` (Spark Connect) does as well as a classic one. The
session that asks moves no file's bytes and holds nothing that grows with their number:
the work is done in the executors, where howdah has to be importable
(`howdah.spark.sessions.ship` sees to that).

- `sessions`, `filesystems`        a Spark, and connections as values that tasks can use
- `job`, `options`, `arguments`, `surroundings`, `outcome`, `counters`, `progress`
                                   distcp, from the driver's side
- `layout`, `compare`, `plan`, `staging` where files go, which, by whom, under what names
- `listing`, `walking`, `entries`  source and target, listed side by side
- `tasks`, `copying`, `preserving`, `throttle`, `reports`, `finishing`, `rehearsal`
                                   what executors do
- `near`, `locality`, `plan_files`, `reading_at_nodes`   tasks at nodes with replicas
- `tree`, `rows`                   a tree listed, for all other jobs; rows as Arrow has them
- `verifying`, `reading_replicas`, `judging`, `manifest`   verify
- `namespaces`, `image_tasks`, `namespace_reports`, `namespace_page`, `treemap`  namespace
- `compaction`, `compaction_contents`, `compaction_plan`, `compacted`, `rewriting`, `footers`,
  `joining`, `joining_lines`, `joining_avro`, `exchange`, `resembling`   compact
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.spark.compacted import Compaction
    from howdah.spark.compaction import compact
    from howdah.spark.job import distcp
    from howdah.spark.namespaces import namespace
    from howdah.spark.options import Attribute, Options
    from howdah.spark.outcome import Outcome
    from howdah.spark.verifying import Verified, verify

__all__ = [
    "Attribute",
    "Compaction",
    "Options",
    "Outcome",
    "Verified",
    "compact",
    "distcp",
    "namespace",
    "verify",
]

_HOME = {
    "Compaction": "howdah.spark.compacted",
    "compact": "howdah.spark.compaction",
    "distcp": "howdah.spark.job",
    "namespace": "howdah.spark.namespaces",
    "Attribute": "howdah.spark.options",
    "Options": "howdah.spark.options",
    "Outcome": "howdah.spark.outcome",
    "Verified": "howdah.spark.verifying",
    "verify": "howdah.spark.verifying",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
