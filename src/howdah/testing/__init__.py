"""Testing against a real cluster: public, documented, supported.

    from howdah.testing import MiniCluster

    with MiniCluster(datanodes=3, racks=["/a", "/b", "/c"]) as cluster:
        with cluster.connect() as fs:
            ...
        cluster.kill("datanode1")

`howdah.testing.plugin` is the pytest plugin (fixture `howdah_cluster`).
`howdah.testing.spark` runs Hadoop's own client against the cluster, and
`howdah.testing.spark_cluster` has Spark as processes. `check_filesystem` holds any
filesystem against the stream contract (`howdah.testing.contract`). `howdah.testing.in_memory`
is a namenode with datanodes as plain objects, whose time moves when it is told to, and
`howdah.testing.simulator` a whole cluster from a seed.

What only howdah's own tests use is in `tests/support`, and in no wheel.
Production code imports nothing of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah.local.servers import ServerFailed as ServerFailed
    from howdah.testing.contract import check_filesystem as check_filesystem
    from howdah.testing.minicluster import MiniCluster as MiniCluster

__all__ = ["MiniCluster", "ServerFailed", "check_filesystem"]

# The pytest plugin is in this package and is loaded in every pytest run;
# those that don't use a cluster shall not pay for one.
_HOME = {
    "MiniCluster": "howdah.testing.minicluster",
    "ServerFailed": "howdah.local.servers",
    "check_filesystem": "howdah.testing.contract",
}


def __getattr__(name: str) -> object:
    from howdah.lazy_names import import_name

    return import_name(__name__, _HOME, name)
