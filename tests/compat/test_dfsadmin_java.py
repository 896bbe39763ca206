"""Hadoop's own `hdfs dfsadmin` on our cluster, and ours beside it: the same lines, and the
same exit codes. One Java runs all of its commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from howdah.cli.main import main
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = pytest.mark.timeout(700)

SAME_OUTPUT = (
    "-report",
    "-report -dead -slownodes",
    "-report -decommissioning",
    "-report -enteringmaintenance -inmaintenance",
    "-safemode get",
    "-saveNamespace",
    "-safemode enter",
    "-saveNamespace",
    "-saveNamespace -beforeShutdown",
    "-rollEdits",
    "-safemode leave",
    "-safemode wait",
    "-safemode forceExit",
    "-rollEdits",
    "-restoreFailedStorage check",
    "-restoreFailedStorage maybe",
    "-refreshNodes",
    "-printTopology",
    "-listOpenFiles",
    "-listOpenFiles -path /nowhere",
    "-listOpenFiles -blockingDecommission",
    "-metasave dump.txt",
    "-metasave ../dump.txt",
    "-setBalancerBandwidth 104857600",
    "-setBalancerBandwidth -1",
    "-getBalancerBandwidth DATANODE",
    "-getDatanodeInfo DATANODE",
    "-getVolumeReport DATANODE",
    "-triggerBlockReport DATANODE",
    "-triggerBlockReport -incremental DATANODE",
    "-evictWriters DATANODE",
    "-deleteBlockPool DATANODE BP-nowhere",
    "-reconfig datanode DATANODE start",
    "-reconfig datanode DATANODE properties",
    "-reconfig namenode NAMENODE properties",
    "-reconfig namenode NAMENODE start",
    "-reconfig datanode decomnodes start",
    "-reconfig datanode livenodes properties",
    "-refreshServiceAcl",
    "-refreshUserToGroupsMappings",
    "-refreshSuperUserGroupsConfiguration",
    "-refreshCallQueue",
    "-refreshNamenodes DATANODE",
    "-upgrade query",
    "-finalizeUpgrade",
    "-rollingUpgrade query",
    "-rollingUpgrade prepare",
    "-safemode enter",
    "-rollingUpgrade prepare",
    "-rollingUpgrade",
    "-rollingUpgrade QUERY",
    "-rollingUpgrade finalize",
    "-rollingUpgrade finalize",
    "-rollingUpgrade nonsense",
    "-setQuota 1000 /",
    "-setQuota 1000 /nowhere",
    "-setSpaceQuota 10g /",
    "-clrQuota /nowhere",
    "-setQuota 1000 /sna*",
    "-setSpaceQuota 10g /{f,sna*}",
    "-clrQuota /sna*",
    "-clrSpaceQuota /sna*",
    "-clrSpaceQuota /",
    "-allowSnapshot /snapped",
    "-provisionSnapshotTrash /snapped",
    "-provisionSnapshotTrash /snapped",
    "-provisionSnapshotTrash -all",
    "-provisionSnapshotTrash /nowhere",
    "-provisionSnapshotTrash /",
    "-allowSnapshot /nowhere",
    "-disallowSnapshot /snapped",
    "-disallowSnapshot /nowhere",
)
NUMBERS_DIFFER = re.compile(r"\d+|\(\d+(\.\d+)? [KMGT]?B\)|[A-Z][a-z]{2} [A-Z][a-z]{2} .*")
"""Room, times and transactions go on while the two are asked."""


def test_the_lines_and_exit_codes_are_those_of_hadoop(
    hadoop_run: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = tmp_path / "hosts.json"
    hosts.write_text("[]")
    conf = {
        "dfs.hosts": str(hosts),
        "dfs.namenode.hosts.provider.classname": "CombinedHostFileManager",
    }
    with (
        MiniCluster(datanodes=3, racks=["/a", "/b"], conf=conf) as cluster,
        cluster.connect() as fs,
    ):
        with fs.create("/f", replication=3) as out:
            out.write(bytes(5000))
        # The file is whole with the first of them; a node without blocks may leave.
        wait_until(lambda: len(fs.block_locations("/f")[0].hosts) == 3)
        # One can't leave, as there is no room elsewhere; one rests, at once.
        ips = [cluster.process(f"datanode{n}").addresses["data"].split(":")[0] for n in range(3)]
        states = ("NORMAL", "DECOMMISSIONED", "IN_MAINTENANCE")
        hosts.write_text(
            json.dumps(
                [
                    {"hostName": ip, "adminState": state, "upgradeDomain": f"ud-{state}"}
                    for ip, state in zip(ips, states, strict=True)
                ]
            )
        )
        assert main(["dfsadmin", "-fs", cluster.uri, "-refreshNodes"]) == 0
        wait_until(
            lambda: (
                sorted(node.admin_state for node in fs.datanode_report("all"))
                == ["DECOMMISSION_INPROGRESS", "IN_MAINTENANCE", "NORMAL"]
            )
        )
        capsys.readouterr()
        fs.mkdirs("/snapped")
        # Nothing but an open file, without a block: no write is there to be evicted.
        still_open = fs.create("/open")
        datanode = cluster.process("datanode0").addresses["ipc"]
        namenode = cluster.uri.removeprefix("hdfs://")
        commands = [
            command.replace("DATANODE", datanode).replace("NAMENODE", namenode).split()
            for command in SAME_OUTPUT
        ]
        answered = hadoop_run(
            Path(__file__).with_name("AdminCommands.java"),
            *("\t".join(["dfsadmin", "-fs", cluster.uri, *words]) for words in commands),
            cwd=tmp_path,
        )
        theirs = [part.split("\2") for part in answered.split("\1")[1:]]
        assert len(theirs) == len(commands)
        for words, (code, said, complained) in zip(commands, theirs, strict=True):
            ours = main(["dfsadmin", "-fs", cluster.uri, *words])
            captured = capsys.readouterr()
            assert (words, ours) == (words, int(code))
            assert sorted(_comparable(captured.out)) == sorted(_comparable(said))
            assert _comparable(captured.err) == _comparable(complained)
        still_open.close()


def _comparable(text: str) -> list[str]:
    text = text.replace("hdfs dfsadmin", "howdah dfsadmin")
    lines = [line for line in text.splitlines() if not line.startswith("log4j:")]
    return [NUMBERS_DIFFER.sub("#", line) for line in lines]
