"""Hadoop's namenodes write their log to our journal nodes, and recover it there; a node of
either kind goes on where one of the other kind ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah.journalnode.state.formats import LEASE
from howdah.storage.segments import list_segments, scan_segment
from howdah.testing.waiting import wait_until
from tests.support.hadoop.mixed import MixedCluster

NAMENODES = ("namenode0", "namenode1")
CONTROLLERS = ("zkfc0", "zkfc1")
TIMEOUT_S = 90.0


def journal_of(cluster: MixedCluster, name: str) -> Path:
    (found,) = cluster.dir.glob(f"{name}/**/current/VERSION")
    return found.parent


def files(current: Path) -> dict[str, object]:
    """What a journal consists of; but for the time in VERSION, the fill of a segment, the
    committed transaction, which comes with the next call, and the lease, which is ours alone."""
    found: dict[str, object] = {}
    for path in current.iterdir():
        if path.name == LEASE:
            continue
        if path.name == "VERSION":
            found[path.name] = path.read_text().splitlines()[1:]
        elif path.name.startswith("edits_inprogress"):
            found[path.name] = path.read_bytes().rstrip(b"\xff")
        else:
            is_told = path.is_file() and path.name != "committed-txid"
            found[path.name] = path.read_bytes() if is_told else None
    return found


def last_txids(cluster: MixedCluster) -> list[int]:
    """How far each node's log goes."""
    found = []
    for number in range(3):
        segments = list_segments(journal_of(cluster, f"journalnode{number}"))
        newest = max(segments, key=lambda segment: segment.first_txid)
        found.append(newest.last_txid or scan_segment(newest).last_txid or newest.first_txid - 1)
    return found


@pytest.mark.req("FS-060", "FS-061")
def test_hadoops_namenodes_write_to_our_journal_nodes_and_recover_there(
    hadoop_classpath: str,
) -> None:
    hadoops = {*NAMENODES, *CONTROLLERS}
    with MixedCluster(hadoop_classpath, hadoops) as cluster:
        first = cluster.active(timeout_s=TIMEOUT_S)
        with cluster.connect() as fs:
            fs.mkdirs("/all-three")
            cluster.kill("journalnode0")
            fs.mkdirs("/two-of-three")
        cluster.kill(first)
        second = cluster.active(but=first, timeout_s=TIMEOUT_S)
        with cluster.connect() as fs:
            # The node that was away missed the end of a segment and the beginning of another.
            cluster.start("journalnode0")
            fs.mkdirs("/recovered")
            assert fs.exists("/all-three")
            assert fs.exists("/two-of-three")
        cluster.start(first)
        cluster.kill(second)
        assert cluster.active(but=second, timeout_s=TIMEOUT_S) == first
        with cluster.connect() as fs:
            assert fs.exists("/recovered")
            fs.mkdirs("/all-again")
            wait_until(lambda: len(set(last_txids(cluster))) == 1, TIMEOUT_S)


@pytest.mark.req("FS-060", "LM-015")
def test_a_journal_node_takes_the_place_of_one_of_the_other_kind(hadoop_classpath: str) -> None:
    with MixedCluster(hadoop_classpath, {"journalnode0"}) as cluster:
        cluster.active(timeout_s=TIMEOUT_S)
        with cluster.connect() as fs:
            fs.mkdirs("/before")
            theirs, ours = (journal_of(cluster, f"journalnode{number}") for number in (0, 1))
            wait_until(lambda: files(theirs) == files(ours), TIMEOUT_S)
            for name, is_hadoops in (("journalnode0", False), ("journalnode1", True)):
                cluster.exchange(name, is_hadoops=is_hadoops)
                fs.mkdirs(f"/{name}")
                # It takes part again from the next segment on; until then two have to do.
                wait_until(lambda: len(set(last_txids(cluster))) == 1, TIMEOUT_S)
            active = cluster.active(timeout_s=TIMEOUT_S)
            fs.mkdirs("/exchanged")
            cluster.kill("journalnode2")
            cluster.kill(active)
            cluster.active(but=active, timeout_s=TIMEOUT_S)
            assert fs.exists("/before")
            assert fs.exists("/exchanged")
            fs.mkdirs("/after")
