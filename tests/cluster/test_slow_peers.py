"""A datanode that is slow to take packets is found by those before it, and told of."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from howdah.cli.main import main
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

MIB = 1 << 20
DATA = random.Random(1).randbytes(16 * MIB)
CONF: dict[str, Any] = {
    "dfs.blocksize": 16 * MIB,
    # The sockets of loopback hold what a client sends before it waits for an ack.
    "dfs.client.write.max-packets-in-flight": 1000,
    "dfs.datanode.peer.stats.enabled": True,
    "dfs.datanode.outliers.report.interval": "1s",
    "dfs.datanode.peer.metrics.min.outlier.detection.samples": 20,
    "dfs.datanode.min.outlier.detection.nodes": 3,
    "dfs.datanode.slowpeer.low.threshold.ms": 1,
}


@contextmanager
def slowed_down(pid: int) -> Iterator[None]:
    """The process has a small part of the time: it stands still, and goes on for a moment."""
    done = threading.Event()

    def stop_and_go() -> None:
        while not done.is_set():
            os.kill(pid, signal.SIGSTOP)
            done.wait(0.3)
            os.kill(pid, signal.SIGCONT)
            done.wait(0.015)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def data_process_of(cluster: MiniCluster, name: str) -> int:
    pid = cluster.process(name).pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    (child,) = map(int, children)
    return child


def slow_peers(cluster: MiniCluster) -> list[Any]:
    url = f"{cluster.http}/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus"
    with urllib.request.urlopen(url, timeout=30) as answer:
        (bean,) = json.load(answer)["beans"]
    return list(json.loads(bean["SlowPeersReport"]))


def test_a_datanode_that_takes_packets_slowly_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with MiniCluster(datanodes=4, conf=CONF) as cluster, cluster.connect() as fs:
        addresses = [cluster.process(f"datanode{n}").addresses["data"] for n in range(4)]
        slow = addresses[3]

        def found() -> list[Any]:
            # Each of the first three is the last of a pipeline behind each of the others.
            for last in addresses:
                for first in addresses[:3]:
                    if first != last:
                        out = (
                            fs.create_file("/f")
                            .overwrite(True)
                            .replication(2)
                            .favored_nodes([first, last])
                            .build()
                        )
                        with out:
                            out.write(DATA)
            return slow_peers(cluster)

        with slowed_down(data_process_of(cluster, "datanode3")):
            wait_until(
                lambda: slow in {each["SlowNode"] for each in found()},
                120,
                "somebody finds the datanode slow",
            )
            report = {each["SlowNode"]: each for each in slow_peers(cluster)}
        reports = report[slow]["SlowPeerLatencyWithReportingNodes"]
        assert {each["ReportingNode"] for each in reports} <= set(addresses[:3])
        assert all(each["ReportedLatency"] > each["UpperLimitLatency"] for each in reports)
        assert main(["dfsadmin", "-fs", cluster.uri, "-report", "-slownodes"]) == 0
        said = capsys.readouterr().out
        assert "Slow datanodes (" in said
        assert f"Name: {slow}" in said
        logs = "".join(cluster.log(f"datanode{n}") for n in range(3))
        # As in Hadoop it is named by the place of its pages.
        named = cluster.process("datanode3").addresses["http"]
        assert f"datanode {named} is slow: it takes a packet in" in logs
