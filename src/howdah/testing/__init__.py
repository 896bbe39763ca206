"""Testing against a real cluster: public, documented, supported.

    from howdah.testing import MiniCluster

    with MiniCluster(datanodes=3, racks=["/a", "/b", "/c"]) as cluster:
        with cluster.connect() as fs:
            ...
        cluster.kill("datanode1")

`simulate` runs a function as a client of a cluster that is simulated from a seed and fails
(docs/simulation.md).

`howdah.testing.plugin` is the pytest plugin (fixtures `howdah_cluster` and `howdah_dir`).
`howdah.testing.spark` runs Hadoop's own client against the cluster, and
`howdah.testing.spark_cluster` has Spark as processes. `check_filesystem` holds any
filesystem against the stream contract (`howdah.testing.contract`). `howdah.testing.in_memory`
is a namenode with datanodes as plain objects, whose time moves when it is told to.

What only howdah's own tests use is in `tests/support`, and in no wheel.
Production code imports nothing of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from howdah.local.kdc import NoKdc as NoKdc
    from howdah.local.servers import ServerFailed as ServerFailed
    from howdah.testing.contract import check_filesystem as check_filesystem
    from howdah.testing.directories import fresh_directory as fresh_directory
    from howdah.testing.minicluster import MiniCluster as MiniCluster
    from howdah.testing.world.simulation import Simulation as Simulation
    from howdah.testing.world.simulation import SimulationFailed as SimulationFailed
    from howdah.testing.world.simulation import simulate as simulate

__all__ = [
    "MiniCluster",
    "NoKdc",
    "ServerFailed",
    "Simulation",
    "SimulationFailed",
    "check_filesystem",
    "fresh_directory",
    "simulate",
]

# The pytest plugin is in this package and is loaded in every pytest run;
# those that don't use a cluster shall not pay for one.
_HOME = {
    "MiniCluster": "howdah.testing.minicluster",
    "NoKdc": "howdah.local.kdc",
    "ServerFailed": "howdah.local.servers",
    "Simulation": "howdah.testing.world.simulation",
    "SimulationFailed": "howdah.testing.world.simulation",
    "check_filesystem": "howdah.testing.contract",
    "fresh_directory": "howdah.testing.directories",
    "simulate": "howdah.testing.world.simulation",
}


def __getattr__(name: str) -> object:
    from howdah.lazy_names import import_name

    return import_name(__name__, _HOME, name)
