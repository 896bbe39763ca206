"""HTTP over TLS of a cluster: namenode, datanodes, swebhdfs."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import howdah
from howdah.cli.main import main
from howdah.config import Configuration
from howdah.fsspec import HowdahSWebHdfsFileSystem
from howdah.local import certificates
from howdah.runtime.tls.client import ClientTls, NotTrusted
from howdah.runtime.tls.http_policy import Place
from howdah.testing import MiniCluster
from howdah.testing.contract import (
    Check,
    Subject,
    Traits,
    check_filesystem,
    contract_parameters,
    run,
)
from howdah.testing.waiting import wait_until
from tests.support.routers import Routers
from tests.support.started import gateway, server

pytestmark = [pytest.mark.req("FS-291"), pytest.mark.kind("hdfs")]


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


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
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


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
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
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        received = b""
        while piece := connection.recv(4096):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"https://" in received


# The contract of streams: a part here, all of it behind torture.

PART = ("closing", "reading")


@pytest.fixture(scope="module")
def subject(cluster: MiniCluster, uri: str) -> Iterator[Subject]:
    traits = Traits(flush_shows_nothing=True, exact_length=False, several_clients=True)
    with (
        howdah.connect(uri, conf=cluster.conf) as fs,
        howdah.connect(uri, conf=cluster.conf) as other,
    ):
        fs.mkdirs("/contract")
        yield Subject(fs, "/contract", other=other, traits=traits)


@pytest.mark.torture
@pytest.mark.parametrize("check", contract_parameters())
def test_contract(check: Check, subject: Subject) -> None:
    run(check, subject)


def test_part_of_the_contract(subject: Subject) -> None:
    report = check_filesystem(
        subject.fs, "/part-of-contract", other=subject.other, traits=subject.traits, only=PART
    )
    assert report.results


def test_fsspec_and_the_shell_take_swebhdfs(
    cluster: MiniCluster, uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fs = HowdahSWebHdfsFileSystem(
        host=uri.partition("://")[2].partition(":")[0],
        port=int(uri.rpartition(":")[2]),
        conf=dict(cluster.conf.items()),
    )
    fs.pipe("/fsspec", b"piped")
    assert fs.cat("/fsspec") == b"piped"
    assert main(["dfs", "--conf", str(cluster.conf_dir), "-cat", f"{uri}/fsspec"]) == 0
    assert capsys.readouterr().out == "piped"


def test_a_gateway_speaks_tls_and_sends_uploads_to_itself(cluster: MiniCluster) -> None:
    options = ["-D", "httpfs.ssl.enabled=true"]
    options += ["-D", f"hadoop.ssl.server.conf={cluster.dir}/tls/ssl-server.xml"]
    with gateway(cluster, *options) as address:
        with howdah.connect(f"swebhdfs://{address}", conf=cluster.conf) as fs:
            with fs.create("/by-gateway") as out:
                out.write(b"passed through")
            with fs.open("/by-gateway") as file:
                assert file.read() == b"passed through"


def test_a_long_file_goes_over_tls_in_pieces(cluster: MiniCluster, uri: str) -> None:
    data = bytes(range(256)) * 100_000
    with howdah.connect(uri, conf=cluster.conf) as fs:
        with fs.create("/long") as out:
            out.write(data)
        with fs.append("/long") as out:
            out.write(b"end")
        with fs.open("/long") as file:
            assert file.read() == data + b"end"
            file.seek(12_345_678)
            assert file.read(1000) == data[12_345_678:12_346_678]


@pytest.mark.req("FS-294")
def test_rpc_goes_on_while_handshakes_hang(cluster: MiniCluster, uri: str) -> None:
    host, _, port = uri.partition("://")[2].partition(":")
    hanging = [socket.create_connection((host, int(port)), timeout=20) for _ in range(300)]
    try:
        for number, connection in enumerate(hanging):
            connection.sendall(b"\x16\x03\x01\x02\x00"[: number % 6])
        with cluster.connect() as fs:
            for number in range(100):
                fs.mkdirs(f"/while/{number}")
        with howdah.connect(uri, conf=cluster.conf) as web:
            assert len(web.list_status("/while")) == 100
    finally:
        for connection in hanging:
            connection.close()


@pytest.mark.parametrize("version", ["-tls1", "-tls1_1"])
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_gets_no_old_version(cluster: MiniCluster, uri: str, version: str) -> None:
    at = uri.partition("://")[2]
    done = subprocess.run(
        ["openssl", "s_client", "-connect", at, version, "-cipher", "DEFAULT:@SECLEVEL=0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert b"Cipher is TLS" not in done.stdout
    assert b"Cipher is (NONE)" in done.stdout or not done.stdout, "some know no such option"


# -- servers with pages of their own ---------------------------------------------------------------


def secure(cluster: MiniCluster, more: dict[str, str]) -> dict[str, str]:
    """The settings of a server that answers over TLS and no other way."""
    return {
        **dict(cluster.conf.items()),
        **certificates.settings(cluster.dir / "tls"),
        "dfs.http.policy": "HTTPS_ONLY",
        **more,
    }


def fetched(cluster: MiniCluster, place: str, path: str) -> tuple[int, str]:
    host, _, port = place.partition(":")
    connection = ClientTls(cluster.conf).http(Place(True, host, int(port)), 60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_a_router_has_its_pages_over_tls(cluster: MiniCluster, tmp_path: Path) -> None:
    values = {
        **Routers(tmp_path, {"only": cluster}).values,
        **certificates.settings(cluster.dir / "tls"),
        "dfs.http.policy": "HTTPS_ONLY",
        "dfs.federation.router.https-address": "127.0.0.1:0",
    }
    with server("router", values, tmp_path) as told:
        assert told["http"] is None
        for path in ("/", "/jmx", "/prom", "/health"):
            assert fetched(cluster, told["https"], path)[0] == 200, path
        with pytest.raises(NotTrusted):
            ClientTls(Configuration({})).http(
                Place(True, "127.0.0.1", int(told["https"].rpartition(":")[2])), 60
            ).request("GET", "/health")


def test_a_secondary_has_its_pages_and_moves_its_images_over_tls(
    cluster: MiniCluster, tmp_path: Path
) -> None:
    values = secure(
        cluster,
        {
            "dfs.namenode.secondary.https-address": "127.0.0.1:0",
            "dfs.namenode.checkpoint.dir": (tmp_path / "2nn").as_uri(),
            "dfs.namenode.checkpoint.check.period": "100ms",
        },
    )
    with server("secondarynamenode", values, tmp_path) as told:
        assert "http" not in told
        place = told["https"]
        wait_until(
            lambda: json.loads(fetched(cluster, place, "/health")[1])["last_checkpoint_ms"],
            timeout_s=60,
        )
        for path in ("/", "/jmx", "/prom", "/ready"):
            assert fetched(cluster, place, path)[0] == 200, path
