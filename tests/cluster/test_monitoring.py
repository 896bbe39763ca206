"""What the namenode's web server says to monitoring."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until


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


def scraped(url: str) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
    """Samples of a scrape by name and labels."""
    found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
    with urlopen(url, timeout=60) as answer:
        for family in text_string_to_metric_families(answer.read().decode()):
            for sample in family.samples:
                found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


@pytest.mark.req("FS-261")
@pytest.mark.parametrize("path", ["prom", "metrics"])
def test_prometheus_gets_the_figures_of_a_namenode(howdah_cluster: MiniCluster, path: str) -> None:
    with howdah_cluster.connect() as fs:
        fs.mkdirs(f"/scraped-{path}")
        fs.get_file_status(f"/scraped-{path}")
    found = scraped(f"{howdah_cluster.http}/{path}")
    assert found["howdah_ha_state"][frozenset({("state", "active")})] == 1
    assert found["howdah_datanodes"][frozenset({("state", "live")})] == 3
    assert found["fs_namesystem_num_live_data_nodes"][frozenset({("hastate", "active")})] == 3
    calls = found["howdah_rpc_processing_seconds_count"]
    assert sum(n for labels, n in calls.items() if ("method", "mkdirs") in labels) >= 1
    top = found["howdah_top_user_calls"]
    assert sum(n for labels, n in top.items() if ("operation", "getfileinfo") in labels) >= 1


@pytest.mark.req("FS-262")
def test_servers_are_alive_and_ready(howdah_cluster: MiniCluster) -> None:
    live = json.loads(beans(howdah_cluster)["NameNodeInfo"]["LiveNodes"])
    servers = [howdah_cluster.http, *(f"http://{node['infoAddr']}" for node in live.values())]
    for server in servers:
        for path in ("health", "ready"):
            with urlopen(f"{server}/{path}", timeout=60) as answer:
                assert json.load(answer)["status"] == "ok", (server, path)
    with urlopen(f"{howdah_cluster.http}/ready", timeout=60) as answer:
        said = json.load(answer)
    assert (said["ha_state"], said["safe_mode"]) == ("active", False)


@pytest.mark.req("FS-261")
def test_prometheus_gets_the_figures_of_datanodes(howdah_cluster: MiniCluster) -> None:
    live = json.loads(beans(howdah_cluster)["NameNodeInfo"]["LiveNodes"])
    for node in live.values():
        found = scraped(f"http://{node['infoAddr']}/prom")
        assert sum(found["fs_dataset_state_capacity"].values()) > 0
        assert found["process_open_fds"]


@pytest.mark.req("FS-260")
def test_what_the_namenode_has_done_is_counted(howdah_cluster: MiniCluster) -> None:
    def told() -> dict[str, Any]:
        found = beans(howdah_cluster)
        return {**found["FSNamesystem"], **found["NameNodeActivity"]}

    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        before = told()
        fs.administration.roll_edits()
        rolled = told()
        assert 1 <= rolled["TransactionsSinceLastLogRoll"] < 100
        fs.mkdirs("/counted/a/b")
        assert told()["TransactionsSinceLastLogRoll"] > rolled["TransactionsSinceLastLogRoll"]
        fs.list_status("/counted")
        assert told()["FilesInGetListingOps"] > before["FilesInGetListingOps"]
        with fs.create("/counted/open"):
            assert told()["NumActiveClients"] >= 1
        fs.delete("/counted", recursive=True)
        wait_until(lambda: told()["FilesDeleted"] >= before["FilesDeleted"] + 4, 60)
    assert told()["FsImageLoadTime"] >= 0
    assert told()["ResourceCheckTimeNumOps"] >= 1
    assert told()["MillisSinceLastLoadedEdits"] == 0, "it is active"


@pytest.mark.req("FS-264")
def test_reads_and_writes_of_clients_on_the_machine_are_counted_as_local(
    howdah_cluster: MiniCluster,
) -> None:
    live = json.loads(beans(howdah_cluster)["NameNodeInfo"]["LiveNodes"])

    def told() -> Counter[str]:
        total: Counter[str] = Counter()
        for node in live.values():
            query = "qry=Hadoop:service=DataNode,name=DataNodeActivity-*"
            with urlopen(f"http://{node['infoAddr']}/jmx?{query}", timeout=60) as answer:
                (bean,) = json.load(answer)["beans"]
            total.update({key: value for key, value in bean.items() if type(value) is int})
        return total

    before = told()
    with howdah_cluster.connect() as fs:
        with fs.create("/local", replication=1) as out:
            out.write(b"x" * 300_000)
        assert len(fs.read_bytes("/local")) == 300_000
    after = told()
    assert after["WritesFromLocalClient"] > before["WritesFromLocalClient"]
    assert after["ReadsFromLocalClient"] > before["ReadsFromLocalClient"]
    assert after["PacketsReceived"] > before["PacketsReceived"]
    assert after["WritesFromRemoteClient"] == after["ReadsFromRemoteClient"] == 0
    for node in live.values():
        query = "qry=Hadoop:service=DataNode,name=DataNodeInfo"
        with urlopen(f"http://{node['infoAddr']}/jmx?{query}", timeout=60) as answer:
            (info,) = json.load(answer)["beans"]
        (actor,) = json.loads(info["BPServiceActorInfo"])
        assert (actor["ActorState"], actor["NamenodeHaState"]) == ("RUNNING", "active")
        assert list(json.loads(info["NamenodeAddresses"]).values()) == [actor["BlockPoolID"]]
        assert info["ClusterId"] == beans(howdah_cluster)["NameNodeInfo"]["ClusterId"]
