"""Hadoop's `hdfs ec` against our namenode: policies, directories, and whether the cluster fits."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from howdah.testing.minicluster import MiniCluster
from tests.support.hadoop.java import hadoop_java

pytestmark = [pytest.mark.timeout(300), pytest.mark.torture]

POLICIES = """<?xml version="1.0"?>
<configuration>
<layoutversion>1</layoutversion>
<schemas>
  <schema id="RSk4m2"><codec>rs</codec><k>4</k><m>2</m></schema>
  <schema id="RSk15m2"><codec>rs</codec><k>15</k><m>2</m></schema>
</schemas>
<policies>
  <policy><schema>RSk4m2</schema><cellsize>65536</cellsize></policy>
  <policy><schema>RSk15m2</schema><cellsize>65536</cellsize></policy>
</policies>
</configuration>
"""


class Ec:
    def __init__(self, cluster: MiniCluster, jars: str) -> None:
        self._java = hadoop_java(jars, cluster.conf_dir)

    def __call__(self, *arguments: str, status: int = 0) -> str:
        program = "org.apache.hadoop.hdfs.tools.ECAdmin"
        done = subprocess.run(
            [*self._java, program, *arguments],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        # Without what its logging says of itself.
        noise = ("log4j:", "SLF4J:")
        lines = (done.stdout + done.stderr).splitlines()
        return "\n".join(line for line in lines if not line.startswith(noise))


@pytest.fixture(scope="module")
def ec(hadoop_classpath: str) -> Iterator[Ec]:
    with MiniCluster(datanodes=1) as cluster, cluster.connect() as fs:
        fs.mkdirs("/d/e")
        yield Ec(cluster, hadoop_classpath)


def test_policies_are_listed_added_enabled_and_removed(ec: Ec, tmp_path: Path) -> None:
    listed = ec("-listPolicies")
    assert "Name=RS-6-3-1024k" in listed
    assert listed.count("State=ENABLED") == 1
    assert listed.count("State=DISABLED") == 4
    assert "RS [RS_NATIVE, RS_JAVA]".lower() in ec("-listCodecs").lower().replace("\t", " ")
    file = tmp_path / "policies.xml"
    file.write_text(POLICIES)
    added = ec("-addPolicies", "-policyFile", str(file))
    assert "Add ErasureCodingPolicy RS-4-2-64k succeed." in added
    assert "should not exceed maximum 16" in added
    enabled = ec("-enablePolicy", "-policy", "RS-4-2-64k")
    assert "Erasure coding policy RS-4-2-64k is enabled" in enabled
    assert "6 DataNodes are required for the erasure coding policies: RS-4-2-64k" in enabled
    assert "is disabled" in ec("-disablePolicy", "-policy", "RS-4-2-64k")
    assert "is removed" in ec("-removePolicy", "-policy", "RS-4-2-64k")
    assert "State=REMOVED" in ec("-listPolicies")
    refused = ec("-removePolicy", "-policy", "RS-6-3-1024k", status=2)
    assert "System erasure coding policy RS-6-3-1024k cannot be removed" in refused


def test_directories_get_and_lose_policies(ec: Ec) -> None:
    assert "is unspecified" in ec("-getPolicy", "-path", "/d")
    assert "Set default erasure coding policy on /d" in ec("-setPolicy", "-path", "/d")
    assert ec("-getPolicy", "-path", "/d/e").strip().endswith("RS-6-3-1024k")
    ec("-setPolicy", "-path", "/d/e", "-replicate")
    assert "is unspecified" in ec("-getPolicy", "-path", "/d/e")
    ec("-unsetPolicy", "-path", "/d/e")
    assert ec("-getPolicy", "-path", "/d/e").strip().endswith("RS-6-3-1024k")
    refused = ec("-setPolicy", "-path", "/d", "-policy", "XOR-2-1-1024k", status=3)
    assert "does not match any enabled erasure coding policies: [RS-6-3-1024k]" in refused
    assert "9 DataNodes are required" in ec("-verifyClusterSetup", status=2)
