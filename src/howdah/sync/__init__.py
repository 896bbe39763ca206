"""A mirror without Spark: `howdah sync`, for some hundred thousand files.

    >>> from howdah.sync import sync
    >>> sync("hdfs://a:8020/data", "file:///backup/data")  # doctest: +SKIP

The planning, the copying of a file and the rules for what is the same are those of `distcp`
(`howdah.copy`, `listing` and `locks`, which know no session of Spark); only who does the
work differs. `job` lists, hands out and finishes; `pool` has processes of `worker`; `options` are
distcp's, without those that make sense on a cluster only.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.copy.options import Attribute, Options
    from howdah.sync.job import sync
    from howdah.sync.outcome import Synced

__all__ = ["Attribute", "Options", "Synced", "sync"]

_HOME = {
    "Attribute": "howdah.copy.options",
    "Options": "howdah.copy.options",
    "Synced": "howdah.sync.outcome",
    "sync": "howdah.sync.job",
}


def __getattr__(name: str) -> object:
    return import_name(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
