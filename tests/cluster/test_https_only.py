"""Several namenodes that answer nothing but HTTP over TLS: how servers reach each other."""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import howdah
from howdah.cli.main import main
from howdah.runtime.tls.client import ClientTls
from howdah.runtime.tls.http_policy import Place
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = [pytest.mark.req("FS-292"), pytest.mark.kind("hdfs")]
TIMEOUT_S = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    conf = {
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.ha.automatic-failover.enabled": "false",
        # Finished segments alone are tailed, which journal nodes hand out over HTTP where they do
        # not have them in memory.
        "dfs.ha.tail-edits.in-progress": "false",
        "dfs.journalnode.edit-cache-size.bytes": "64",
        "dfs.ha.log-roll.period": "1",
        "dfs.namenode.checkpoint.txns": "10",
        "dfs.namenode.checkpoint.check.period": "1",
    }
    with MiniCluster(datanodes=1, namenodes=2, conf=conf, https=True) as made:
        with made.connect() as fs:
            for number in range(20):
                fs.mkdirs(f"/d{number}")
        yield made


def images(cluster: MiniCluster, name: str) -> list[str]:
    current = cluster.data_dirs(name)[0] / "current"
    # Beside them are their sums, and what is not finished yet.
    names = (path.name for path in current.iterdir())
    return [name for name in names if re.fullmatch(r"fsimage_\d+", name)]


def has_image_of_standby(cluster: MiniCluster, active: str) -> None:
    wait_until(
        lambda: any(int(name.rpartition("_")[2]) > 10 for name in images(cluster, active)),
        TIMEOUT_S,
        "the active namenode has an image of the standby",
    )


def page(cluster: MiniCluster, path: str) -> str:
    host, _, port = cluster.process(cluster.active()).addresses["https"].partition(":")
    connection = ClientTls(cluster.conf).http(Place(True, host, int(port)), TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_nothing_is_served_without_tls(cluster: MiniCluster) -> None:
    for name in ("namenode0", "namenode1", "datanode0", "journalnode0"):
        addresses = cluster.process(name).addresses
        assert "https" in addresses
        assert "http" not in addresses
    assert cluster.http.startswith("https://")


@pytest.mark.req("FS-291")
def test_swebhdfs_finds_the_active_one_by_the_nameservice(cluster: MiniCluster) -> None:
    uri = cluster.uri.replace("hdfs", "swebhdfs")
    with howdah.connect(uri, conf=cluster.conf) as fs:
        with fs.create("/by-name") as out:
            out.write(b"found")
        with fs.open("/by-name") as file:
            assert file.read() == b"found"


def test_a_standby_tails_from_journal_nodes_and_sends_its_image(cluster: MiniCluster) -> None:
    active = cluster.active()

    def sent_by_journal_nodes() -> bool:
        logs = (cluster.log(f"journalnode{number}") for number in range(3))
        return any(re.search(r"sent \S*edits_\S+, \d+ bytes", log) for log in logs)

    wait_until(sent_by_journal_nodes, TIMEOUT_S, "a segment was fetched")
    has_image_of_standby(cluster, active)


def test_commands_ask_over_tls(
    cluster: MiniCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = ["--conf", str(cluster.conf_dir)]
    assert main(["fsck", *conf, "/"]) == 0
    said = capsys.readouterr()
    assert "is HEALTHY" in said.out
    assert "https://" in said.out + said.err
    assert main(["dfsadmin", *conf, "-fetchImage", str(tmp_path)]) == 0
    assert {path.name[:8] for path in tmp_path.iterdir()} == {"VERSION", "fsimage_", "seen_txi"}


def test_pages_link_and_ask_over_tls(cluster: MiniCluster) -> None:
    known = page(cluster, "/cluster")
    assert "does not answer" not in known
    assert len(re.findall(r'href="https://127.0.0.1:\d+/"', known)) == 2
    secure = cluster.process("datanode0").addresses["https"]
    assert f'href="https://{secure}/"' in page(cluster, "/nodes")


def test_passwords_are_on_no_page_and_in_no_log(
    cluster: MiniCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    described = (cluster.dir / "tls" / "ssl-server.xml").read_text()
    (password,) = set(
        re.findall(r"keystore\.(?:key)?password</name>\s*<value>([^<]+)</value>", described)
    )
    for path in ("/conf", "/jmx", "/logs/"):
        assert password not in page(cluster, path)
    for name in cluster.names:
        assert password not in cluster.log(name)
    conf = ["--conf", str(cluster._cluster.layout.server_conf_dir("namenode0"))]
    main(["getconf", *conf, "-confKey", "ssl.server.keystore.password"])
    main(["getconf", *conf, "-confKey", "dfs.https.server.keystore.resource"])
    said = capsys.readouterr()
    assert password not in said.out + said.err


def test_a_new_standby_fetches_its_image_over_tls(cluster: MiniCluster) -> None:
    active = cluster.active()
    standby = "namenode1" if active == "namenode0" else "namenode0"
    has_image_of_standby(cluster, active)
    cluster.stop(standby)
    shutil.rmtree(cluster.data_dirs(standby)[0])
    conf = str(cluster._cluster.layout.server_conf_dir(standby))
    done = subprocess.run(
        [sys.executable, "-m", "howdah", "namenode", "--conf", conf, "-bootstrapStandby"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    assert any(int(name.rpartition("_")[2]) > 0 for name in images(cluster, standby))
    cluster.start(standby)
    cluster.wait_ready(TIMEOUT_S)


def test_a_plain_request_of_the_secure_port_is_answered(cluster: MiniCluster) -> None:
    connection = http.client.HTTPConnection(
        cluster.process("journalnode0").addresses["https"], timeout=TIMEOUT_S
    )
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.status == 400
    assert b"HTTPS" in answer.read()
    connection.close()
