"""Java's client of WebHDFS under a logical name, while our namenodes fail over: over HTTP and over
TLS, at once.

Hadoop's TestWebHDFSForHA, which is among the suites of `contract`, sets their states by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from howdah.local import certificates
from howdah.testing import MiniCluster
from tests.support.failover import server_faults
from tests.support.failover.java_client import JavaClient

PROGRAM = Path(__file__).with_name("FailoverClient.java")
SCHEMES = ("webhdfs", "swebhdfs")

pytestmark = [pytest.mark.torture, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    # Java's client asks ten times, without a pause, and gives up: while no namenode is active,
    # which it would be told by Hadoop's too, it needs more.
    conf = {"dfs.http.client.retry.max.attempts": "1000000"}
    with MiniCluster(datanodes=1, namenodes=2, https=True, conf=conf) as cluster:
        # Where Java looks for it.
        certificates.lay_beside(cluster.dir / "tls", cluster.conf_dir, for_server=False)
        yield cluster


@pytest.mark.req("FS-216", "FS-218", "FS-291", "FS-057")
def test_javas_client_goes_on_over_http_through_failovers(
    cluster: MiniCluster, tmp_path: Path, hadoop_classpath: str
) -> None:
    # PySpark's jars lack what Java's client writes addresses with.
    name = cluster.uri.partition("://")[2]
    with ExitStack() as ending:
        clients = {}
        for scheme in SCHEMES:
            output = tmp_path / scheme
            uri = f"{scheme}://{name}/{scheme}"
            clients[scheme] = JavaClient(cluster, PROGRAM, uri, output, hadoop_classpath)
            ending.callback(clients[scheme].kill)
        for client in clients.values():
            client.wait_for(3)
        # What was opened before a failover is written and closed behind it: the file `log`.
        for how in (
            server_faults.fail_over,
            server_faults.kill_active,
            server_faults.freeze_active,
        ):
            how(cluster)
            for client in clients.values():
                client.wait_for(3)
        for client in clients.values():
            client.finish()
    with cluster.connect() as fs:
        for scheme, client in clients.items():
            names = {status.name for status in fs.list_status(f"/{scheme}")}
            assert names == {"log", *(f"file-{number}" for number in range(client.rounds))}
