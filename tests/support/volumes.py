"""What a datanode of a cluster takes from its files while it runs: volumes, and properties."""

from __future__ import annotations

import contextlib
import getpass
import re

from howdah.fs.hdfs.administration import DatanodeAdministration
from howdah.testing.minicluster import MiniCluster
from howdah.testing.waiting import wait_until

_TIMEOUT_S = 60.0


def set_volumes(cluster: MiniCluster, datanode: str, volumes: str) -> None:
    """What the datanode's files say, as `dfs.datanode.data.dir` has it."""
    (site,) = (cluster.dir / datanode).rglob("hdfs-site.xml")
    text = site.read_text()
    changed, count = re.subn(
        r"(<name>dfs\.datanode\.data\.dir</name>\s*<value>)[^<]*",
        lambda found: found[1] + volumes,
        text,
    )
    assert count == 1
    site.write_text(changed)


def set_property(cluster: MiniCluster, datanode: str, name: str, value: str) -> None:
    """One more in the datanode's files."""
    (site,) = (cluster.dir / datanode).rglob("hdfs-site.xml")
    text = site.read_text()
    assert name not in text
    said = f"<property><name>{name}</name><value>{value}</value></property></configuration>"
    site.write_text(text.replace("</configuration>", said))


def ipc_of(cluster: MiniCluster, datanode: str) -> tuple[str, int]:
    """Where the datanode answers RPC."""
    host, _, port = cluster.process(datanode).addresses["ipc"].rpartition(":")
    return host, int(port)


def reconfigure(cluster: MiniCluster, datanode: str) -> None:
    """Have the datanode do what its files say; it has when this returns."""
    with contextlib.closing(
        DatanodeAdministration(ipc_of(cluster, datanode), getpass.getuser())
    ) as administration:
        administration.start_reconfiguration()
        wait_until(lambda: administration.reconfiguration_status().HasField("endTime"), _TIMEOUT_S)
        for change in administration.reconfiguration_status().changes:
            assert not change.errorMessage, change.errorMessage
