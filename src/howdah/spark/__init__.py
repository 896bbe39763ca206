"""Bulk jobs on a filesystem, run by Spark.

`distcp(spark, sources, target)` copies trees in parallel, `verify(spark, targets)` reads and
compares all replicas, `namespace(spark, where)` is a filesystem or an image as a DataFrame, and
`compact(spark, target)` makes small files fewer. `register(spark)` shows the filesystem's own data
as tables and streams: the namespace, edits, audit logs, blocks and changes.

All jobs use Spark's DataFrame API only, so a session of Spark Connect
(`SparkSession.builder.remote(…)`) works as well as a classic one. The driver moves no bytes of
files and keeps nothing that grows with their number: executors do the work, and need howdah and
its requirements (`howdah.spark.sessions.ship` sends howdah).

Rooms, from the bottom to the top: `common`, `locks`, `listing` and `locality` know no job;
`copy`, `snapshots` and `copy_job` are distcp; `compaction`, `verification` and `usage_report` are
the other three jobs and know nothing of each other; `tables` has the sources. What a task of
distcp does, and how it is planned, knows no session of Spark: `howdah.sync` mirrors with it.
Outside: `sessions` starts a Spark or finds one, and `namespace_reports` are questions to ask of a
namespace. No room has the name of a function of this package, which it would hide.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.copy.options import Attribute, Options
    from howdah.copy.outcome import Outcome
    from howdah.spark.compaction.job import compact
    from howdah.spark.compaction.outcome import Compaction
    from howdah.spark.compaction.table_formats import Maintenance
    from howdah.spark.copy_job.job import distcp
    from howdah.spark.tables.frames import table
    from howdah.spark.tables.registration import register
    from howdah.spark.usage_report.job import namespace
    from howdah.spark.verification.job import Verified, verify

__all__ = [
    "Attribute",
    "Compaction",
    "Maintenance",
    "Options",
    "Outcome",
    "Verified",
    "compact",
    "distcp",
    "namespace",
    "register",
    "table",
    "verify",
]

_HOME = {
    "Compaction": "howdah.spark.compaction.outcome",
    "Maintenance": "howdah.spark.compaction.table_formats",
    "compact": "howdah.spark.compaction.job",
    "distcp": "howdah.spark.copy_job.job",
    "namespace": "howdah.spark.usage_report.job",
    "register": "howdah.spark.tables.registration",
    "table": "howdah.spark.tables.frames",
    "Attribute": "howdah.copy.options",
    "Options": "howdah.copy.options",
    "Outcome": "howdah.copy.outcome",
    "Verified": "howdah.spark.verification.job",
    "verify": "howdah.spark.verification.job",
}


def __getattr__(name: str) -> object:
    return import_name(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
