"""HTTP over TLS of a cluster: namenode, datanodes, swebhdfs."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import howdah
from howdah.config import Configuration
from howdah.testing import MiniCluster
from howdah.tls.client import NotTrusted


@pytest.fixture(scope="module")
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster(datanodes=1, https=True) as made:
        yield made


@pytest.fixture(scope="module")
def uri(cluster: MiniCluster) -> str:
    return f"swebhdfs://{cluster.process('namenode').addresses['https']}"


def test_a_file_is_written_and_read_over_tls(cluster: MiniCluster, uri: str) -> None:
    with howdah.connect(uri, conf=cluster.conf) as fs:
        with fs.create("/a") as out:
            out.write(b"howdah" * 100_000)
        with fs.open("/a") as file:
            assert file.read() == b"howdah" * 100_000


def test_curl_believes_the_ca_and_follows_to_the_datanode_over_tls(
    cluster: MiniCluster, uri: str
) -> None:
    with cluster.connect() as fs:
        with fs.create("/curl") as out:
            out.write(b"over tls")
    url = uri.replace("swebhdfs", "https") + "/webhdfs/v1/curl?op=OPEN&user.name=me"
    ca = cluster.dir / "tls" / "ca.pem"
    done = subprocess.run(
        ["curl", "-sS", "-L", "--cacert", str(ca), "-w", " %{url_effective}", url],
        capture_output=True,
        timeout=60,
    )
    body, _, last = done.stdout.decode().rpartition(" ")
    assert body == "over tls"
    assert urlsplit(last).scheme == "https"
    assert urlsplit(last).port == int(cluster.process("datanode0").addresses["https"].split(":")[1])


def test_curl_without_the_ca_is_not_fooled(cluster: MiniCluster, uri: str) -> None:
    url = uri.replace("swebhdfs", "https") + "/jmx"
    done = subprocess.run(["curl", "-sS", url], capture_output=True, timeout=60)
    assert done.returncode == 60, done.stderr


def test_a_client_that_believes_nobody_of_ours_writes_nothing(
    cluster: MiniCluster, uri: str
) -> None:
    with howdah.connect(uri, conf=Configuration()) as fs:
        with pytest.raises(NotTrusted, match="is not believed"):
            fs.create("/not-trusted")


def test_plain_http_at_the_secure_port_is_told_so(cluster: MiniCluster, uri: str) -> None:
    host, _, port = uri.partition("://")[2].partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while piece := connection.recv(4096):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"https://" in received
