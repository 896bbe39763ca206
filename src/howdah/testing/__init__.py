"""Testing against a real cluster: public, documented, supported.

    from howdah.testing import MiniCluster

    with MiniCluster(datanodes=3, racks=["/a", "/b", "/c"]) as cluster:
        with cluster.connect() as fs:
            ...
        cluster.kill("datanode1")

`howdah.testing.plugin` is the pytest plugin (fixture `howdah_cluster`);
`howdah.testing.java` and `howdah.testing.spark` find a Java and run Hadoop's own
client against the cluster. `check_filesystem` holds any filesystem against the stream
contract (`howdah.testing.contract`). `howdah.testing.in_memory` is a namenode with datanodes
as plain objects, whose time moves when it is told to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah.testing.contract import check_filesystem as check_filesystem
    from howdah.testing.minicluster import MiniCluster as MiniCluster
    from howdah.testing.processes import ServerFailed as ServerFailed

__all__ = ["MiniCluster", "ServerFailed", "check_filesystem"]

# The pytest plugin is in this package and is loaded in every pytest run;
# those that don't use a cluster shall not pay for one.
_HOME = {
    "MiniCluster": "howdah.testing.minicluster",
    "ServerFailed": "howdah.testing.processes",
    "check_filesystem": "howdah.testing.contract",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)
