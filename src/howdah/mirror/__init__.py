"""A continuous mirror of a directory: `howdah mirror`.

    >>> from howdah.mirror import Settings, mirror_once
    >>> mirror_once("hdfs://a:8020/data", "hdfs://b:8020/data", Settings())  # doctest: +SKIP

A round is a snapshot of the source, what differs from the last mirrored snapshot, renames and
deletions replayed at the target, a copy of the rest, and a snapshot of the target under the same
name. `state` is pure: names of snapshots, the state file, the planner. `sides` are source and
target as `rounds` sees them; `rounds` does what the planner says, and `copying` copies for it by
`howdah.sync` or `howdah.spark`. `promotion` makes the target the source, `verification` compares
the two, `server` runs rounds in an interval and shows `pages`. Arrows: `server -> pages,
promotion -> rounds -> copying -> sides -> state`.
"""

from __future__ import annotations

from howdah.lazy_names import import_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howdah.mirror.promotion import promote
    from howdah.mirror.rounds import mirror_once
    from howdah.mirror.settings import Settings
    from howdah.mirror.state.planner import Wanted
    from howdah.mirror.verification import verify

__all__ = ["Settings", "Wanted", "mirror_once", "promote", "verify"]

_HOME = {
    "Settings": "howdah.mirror.settings",
    "Wanted": "howdah.mirror.state.planner",
    "mirror_once": "howdah.mirror.rounds",
    "promote": "howdah.mirror.promotion",
    "verify": "howdah.mirror.verification",
}


def __getattr__(name: str) -> object:
    return import_name(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
