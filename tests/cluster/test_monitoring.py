"""What the namenode's web server says to monitoring."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import urlopen

from howdah.testing import MiniCluster


def beans(cluster: MiniCluster) -> dict[str, Any]:
    with urlopen(f"{cluster.http}/jmx", timeout=20) as answer:
        found = json.load(answer)["beans"]
    return {bean["name"].rpartition("=")[2]: bean for bean in found}


def test_figures_are_those_of_the_cluster(howdah_cluster: MiniCluster) -> None:
    with howdah_cluster.connect() as fs:
        fs.mkdirs("/monitored")
    found = beans(howdah_cluster)
    assert found["NameNodeStatus"]["HostAndPort"] == howdah_cluster.uri.removeprefix("hdfs://")
    assert found["FSNamesystem"]["NumLiveDataNodes"] == 3
    assert found["FSNamesystem"]["CapacityTotal"] > 0
    assert found["FSNamesystem"]["FilesTotal"] >= 2
    assert len(json.loads(found["NameNodeInfo"]["LiveNodes"])) == 3


def test_the_configuration_is_shown(howdah_cluster: MiniCluster) -> None:
    with urlopen(f"{howdah_cluster.http}/conf?format=json", timeout=20) as answer:
        shown = {each["key"]: each["value"] for each in json.load(answer)["properties"]}
    assert shown["fs.defaultFS"] == howdah_cluster.uri
    assert shown["dfs.blocksize"]
