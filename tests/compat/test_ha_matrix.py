"""Every server of a highly available cluster may be Hadoop's or ours.

A cell of the matrix says which are Hadoop's. In each one namenode is active first and the other
one then, so a cell with one of either kind has both as active and as standby. Two cells
are run with all tests, the rest behind torture.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import pytest

from tests.support.failover import server_faults
from tests.support.hadoop.mixed import MixedCluster

HADOOP, OURS, BOTH = "hadoop", "ours", "both"
TIMEOUT_S = 90.0


@dataclass(frozen=True, slots=True)
class Cell:
    """Whose servers are which; BOTH is one of Hadoop's beside ours."""

    namenodes: str
    journalnodes: str
    controllers: str
    datanodes: str

    @property
    def hadoops(self) -> set[str]:
        """The names of the servers that are Hadoop's."""
        counts = {"journalnode": 3, "namenode": 2, "zkfc": 2, "datanode": 2}
        kinds = {
            "journalnode": self.journalnodes,
            "namenode": self.namenodes,
            "zkfc": self.controllers,
            "datanode": self.datanodes,
        }
        return {
            f"{role}{number}"
            for role, kind in kinds.items()
            for number in range({HADOOP: counts[role], OURS: 0, BOTH: 1}[kind])
        }

    def __str__(self) -> str:
        kinds = (self.namenodes, self.journalnodes, self.controllers, self.datanodes)
        return ".".join(map("-".join, zip(("nn", "jn", "zkfc", "dn"), kinds, strict=True)))


ALL = [
    Cell(*kinds)
    for kinds in product((OURS, BOTH, HADOOP), (OURS, BOTH, HADOOP), (OURS, HADOOP), (OURS, HADOOP))
]
# Both kinds of each role.
USUAL = [
    Cell(BOTH, BOTH, OURS, HADOOP),
    Cell(OURS, HADOOP, HADOOP, OURS),
]
CELLS = [
    pytest.param(cell, id=str(cell), marks=() if cell in USUAL else pytest.mark.torture)
    for cell in sorted(ALL, key=lambda cell: cell not in USUAL)
]


@pytest.mark.req("FS-053", "FS-058", "FS-066")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("cell", CELLS)
def test_servers_of_hadoop_and_ours_fail_over_to_each_other(
    cell: Cell, hadoop_classpath: str
) -> None:
    with MixedCluster(hadoop_classpath, cell.hadoops, datanodes=2) as cluster:
        written = []

        def write(path: str) -> None:
            with cluster.connect() as fs, fs.create(path, replication=2) as out:
                out.write(path.encode() * 1000)
            written.append(path)

        first = cluster.active(timeout_s=TIMEOUT_S)
        write("/first")
        second = server_faults.fail_over(cluster).new
        assert second != first
        write("/second")
        done = cluster.hadoops_haadmin("-failover", second, first)
        assert done.returncode == 0, done.stdout + done.stderr
        assert cluster.active(but=second, timeout_s=TIMEOUT_S) == first
        write("/third")
        assert server_faults.kill_active(cluster).new == second
        write("/fourth")
        assert server_faults.kill_active(cluster).new == first
        with cluster.connect() as fs:
            for path in written:
                with fs.open(path) as stream:
                    assert stream.read() == path.encode() * 1000


@pytest.mark.req("FS-052")
def test_haadmin_of_hadoop_and_ours_say_the_same(hadoop_classpath: str) -> None:
    with MixedCluster(hadoop_classpath, ["namenode1"]) as cluster:
        for arguments in (
            ["-getAllServiceState"],
            ["-getServiceState", "namenode0"],
            ["-getServiceState", "namenode1"],
            ["-checkHealth", "namenode0"],
            ["-checkHealth", "namenode1"],
        ):
            theirs = cluster.hadoops_haadmin(*arguments)
            status, told = server_faults.haadmin(cluster, *arguments)
            # Hadoop's looks up the names of addresses.
            words = theirs.stdout.replace("localhost", "127.0.0.1").split()
            assert (status, told.split()) == (theirs.returncode, words)
