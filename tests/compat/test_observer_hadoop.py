"""Our client reads from Hadoop's observer, and sees what it has done itself."""

from __future__ import annotations

import json
import urllib.request

import pytest

import howdah
from howdah.config.value_types import parse_address
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.local.nameservice import Namenode
from howdah.proto import ha_pb2 as pb
from howdah.rpc.client import RpcClient
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster

pytestmark = pytest.mark.timeout(400)

HA_PROTOCOL = "org.apache.hadoop.ha.HAServiceProtocol"
PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider"
DIRECTORIES = 20


def namenode(cluster: MiniCluster, name: str) -> Namenode:
    (node,) = (node for node in cluster._cluster.layout.namenodes if node.name == name)
    return node


def calls(cluster: MiniCluster, name: str, method: str) -> int:
    """How often Hadoop's namenode was asked."""
    node = namenode(cluster, name)
    port = node.rpc.rpartition(":")[2]
    bean = f"Hadoop:service=NameNode,name=RpcDetailedActivityForPort{port}"
    with urllib.request.urlopen(f"http://{node.http}/jmx?qry={bean}", timeout=30) as answer:
        (found,) = json.load(answer)["beans"]
    return int(found.get(f"{method}NumOps", 0))


def observe(cluster: MiniCluster, name: str) -> None:
    """Make a standby an observer, without its failover controller."""
    cluster.stop(name.replace("namenode", "zkfc"))
    rpc = RpcClient(parse_address(namenode(cluster, name).rpc), HA_PROTOCOL)
    request = pb.TransitionToObserverRequestProto(
        reqInfo=pb.HAStateChangeRequestInfoProto(reqSource=pb.REQUEST_BY_USER_FORCED)
    )
    rpc.call("transitionToObserver", request, pb.TransitionToObserverResponseProto)
    rpc.close()


def test_our_client_reads_what_it_wrote_from_hadoops_observer(hadoop_classpath: str) -> None:
    conf = {
        "dfs.namenode.state.context.enabled": True,
        "dfs.ha.tail-edits.in-progress": True,
    }
    hadoops = ("namenode0", "namenode1")
    with MixedCluster(hadoop_classpath, hadoops, namenodes=2, conf=conf) as cluster:
        active = cluster.active()
        (observer,) = set(hadoops) - {active}
        observe(cluster, observer)
        nameservice = cluster.uri.removeprefix("hdfs://")
        provider = {f"dfs.client.failover.proxy.provider.{nameservice}": PROVIDER}
        with howdah.connect(cluster.uri, conf=cluster.conf.with_values(provider)) as fs:
            assert isinstance(fs, HdfsFileSystem)
            for number in range(DIRECTORIES):
                fs.mkdirs(f"/{number}")
                assert fs.is_directory(f"/{number}")
            # Hadoop's figures are some seconds old.
            wait_until(lambda: calls(cluster, observer, "GetFileInfo") == DIRECTORIES)
            with howdah.connect(cluster.uri, conf=cluster.conf) as other:
                other.mkdirs("/by-another")
            fs.msync()
            assert fs.is_directory("/by-another")
