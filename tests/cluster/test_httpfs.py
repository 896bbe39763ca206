"""`howdah httpfs`: the API of WebHDFS at one port, in front of a cluster."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

import howdah
from howdah import errors
from howdah.config import Configuration
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.gateway.httpfs import HttpFs
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until
from howdah.web.server import HttpServer
from tests.support.started import gateway

DATA = bytes(range(256)) * 10_000
TYPE = {"Content-Type": "application/octet-stream"}


@dataclass
class Front:
    address: str
    fs: HdfsFileSystem

    def send(
        self, method: str, target: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, target, body, given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, query: str) -> tuple[int, Any]:
        target = f"/webhdfs/v1{path}?op={query}&user.name={self.fs.user}"
        status, _, body = self.send(method, target)
        return status, json.loads(body) if body.startswith(b"{") else body


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with MiniCluster(datanodes=1, conf={"dfs.blocksize": "1m", "dfs.ls.limit": 3}) as cluster:
        with cluster.connect() as fs, gateway(cluster) as address:
            assert isinstance(fs, HdfsFileSystem)
            yield Front(address, fs)


@pytest.mark.req("FS-255")
def test_uploads_are_sent_to_the_gateway_itself(front: Front) -> None:
    for method, query in (("PUT", "CREATE"), ("POST", "APPEND")):
        target = f"/webhdfs/v1/up?op={query}&user.name={front.fs.user}"
        status, headers, _ = front.send(method, target)
        assert status == 307
        assert headers["Location"].startswith(f"http://{front.address}/webhdfs/v1/up?")
        assert "data=true" in headers["Location"]
        where = headers["Location"].partition(front.address)[2]
        status, _, body = front.send(method, where, DATA)
        assert status == 400
        assert b"must have content-type set to 'application/octet-stream'" in body
        status, headers, _ = front.send(method, where, DATA, Content_Type=TYPE["Content-Type"])
        assert status == (201 if method == "PUT" else 200)
    assert front.fs.open("/up").read() == DATA * 2
    status, _, body = front.send(
        "GET", f"/webhdfs/v1/up?op=OPEN&offset=100&length=50&user.name={front.fs.user}"
    )
    assert (status, body) == (200, DATA[100:150])
    status, told = front.ask("GET", "/up", "OPEN&noredirect=true")
    assert status == 200
    assert told["Location"].startswith(f"http://{front.address}/webhdfs/v1/up?op=OPEN")


@pytest.mark.req("FS-255")
def test_statuses_are_those_of_httpfs(front: Front) -> None:
    status, told = front.ask("GET", "/none", "GETFILESTATUS")
    assert (status, told["RemoteException"]["exception"]) == (404, "FileNotFoundException")
    assert front.ask("PUT", "/d/e", "MKDIRS") == (200, {"boolean": True})
    status, told = front.ask("DELETE", "/d", "DELETE")
    assert (status, told["RemoteException"]["exception"]) == (
        500,
        "PathIsNotEmptyDirectoryException",
    )
    status, told = front.ask("GET", "/d", "NOTHING")
    assert (status, told["RemoteException"]["exception"]) == (400, "IllegalArgumentException")
    assert front.send("GET", "/webhdfs/v1/?op=LISTSTATUS")[0] == 401
    assert front.send("GET", "/none")[0] == 404
    status, told = front.ask("GET", "/d", "LISTSTATUS&doas=somebody")
    assert told["RemoteException"]["exception"] == "AuthorizationException"


@pytest.mark.req("FS-255", "FS-258")
def test_a_long_directory_is_listed_page_by_page(front: Front) -> None:
    """With three names a page."""
    names = [f"d{number}" for number in range(8)]
    for name in names:
        front.fs.mkdirs(f"/long/{name}")
    status, found = front.ask("GET", "/long", "LISTSTATUS")
    assert status == 200
    assert [each["pathSuffix"] for each in found["FileStatuses"]["FileStatus"]] == names


@pytest.mark.req("FS-255")
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("part-*", ["part-0", "part-1", "part-2", "part-3"]),
        ("{a,*-[^12]}", ["a", "part-0", "part-3"]),
        ("none", []),
        ("_?", ["_1", "_2", "_3", "_4"]),
    ],
)
def test_a_directory_is_listed_by_a_pattern_of_names(
    front: Front, pattern: str, found: list[str]
) -> None:
    """With three names a page."""
    for name in ("_1", "_2", "_3", "_4", "a", "part-0", "part-1", "part-2", "part-3", "z"):
        front.fs.mkdirs(f"/filtered/{name}")
    status, told = front.ask("GET", "/filtered", f"LISTSTATUS&filter={quote(pattern)}")
    assert status == 200
    assert [each["pathSuffix"] for each in told["FileStatuses"]["FileStatus"]] == found


@pytest.mark.req("FS-255")
def test_a_pattern_that_is_none_is_refused(front: Front) -> None:
    status, told = front.ask("GET", "/", "LISTSTATUS&filter=%5Ba")
    assert (status, told["RemoteException"]["exception"]) == (400, "IllegalArgumentException")


@pytest.mark.req("FS-255")
def test_a_file_is_listed_if_its_name_matches(front: Front) -> None:
    front.fs.create("/one.csv").close()
    for pattern, names in (("*.csv", [""]), ("*.txt", [])):
        _, told = front.ask("GET", "/one.csv", f"LISTSTATUS&filter={pattern}")
        assert [each["pathSuffix"] for each in told["FileStatuses"]["FileStatus"]] == names


@pytest.mark.req("FS-255")
def test_our_client_works_through_it(front: Front) -> None:
    with howdah.connect(f"webhdfs://{front.address}", conf=Configuration({})) as web:
        with web.create("/through/a") as out:
            out.write(DATA)
        with pytest.raises(errors.PathExists):
            web.create("/through/a")
        with web.append("/through/a") as out:
            out.write(b"more")
        with web.open("/through/a") as stream:
            assert stream.pread(1_000_000, 100) == DATA[1_000_000:1_000_100]
            assert stream.read() == DATA + b"more"
        assert web.get_file_checksum("/through/a") == front.fs.get_file_checksum("/through/a")
        assert web.list_status("/through") == front.fs.list_status("/through")
        assert web.delete("/through", recursive=True)


@pytest.mark.req("FS-255")
def test_the_mode_of_access_is_kept(front: Front) -> None:
    for mode, may_read, may_write in (("read-only", 200, 403), ("write-only", 403, 200)):
        conf = {"fs.defaultFS": front.fs.uri, "httpfs.access.mode": mode}
        served = HttpFs(Configuration(conf))
        server = HttpServer(served.answer, timeout_s=30)
        other = Front(f"127.0.0.1:{server.start('127.0.0.1', 0)}", front.fs)
        try:
            assert other.ask("GET", "/", "GETFILESTATUS")[0] == 200
            assert other.ask("GET", "/", "GETCONTENTSUMMARY")[0] == may_read
            assert other.ask("HEAD", "/", "GETCONTENTSUMMARY")[0] == may_read
            assert other.ask("PUT", f"/{mode}", "MKDIRS")[0] == may_write
        finally:
            server.stop()
            served.close()


@pytest.mark.req("FS-255")
def test_a_line_break_in_a_path_ends_no_line_of_the_audit_log(
    front: Front, caplog: pytest.LogCaptureFixture
) -> None:
    served = HttpFs(Configuration({"fs.defaultFS": front.fs.uri}))
    server = HttpServer(served.answer, timeout_s=30)
    other = Front(f"127.0.0.1:{server.start('127.0.0.1', 0)}", front.fs)
    try:
        with caplog.at_level("INFO", "httpfsaudit"):
            assert other.ask("PUT", "/a%0D%0Ab", "MKDIRS")[0] == 200
    finally:
        server.stop()
        served.close()
    (line,) = [each.getMessage() for each in caplog.records if each.name == "httpfsaudit"]
    assert line.endswith("MKDIRS /a\\r\\nb")


def test_a_gateway_needs_a_cluster() -> None:
    with pytest.raises(errors.InvalidConfiguration, match="needs hdfs://host:port"):
        HttpFs(Configuration({"fs.defaultFS": "file:///"}))


@pytest.mark.req("FS-255", "FS-260")
def test_a_gateway_has_the_pages_and_figures_of_every_server(front: Front) -> None:
    front.fs.write_bytes("/told", DATA)
    for _ in range(2):
        assert front.send("GET", f"/webhdfs/v1/told?op=OPEN&user.name={front.fs.user}")[0] == 200
    assert front.ask("GET", "/nowhere", "GETFILESTATUS")[0] == 404
    for path in ("/", "/conf", "/logs", "/logLevel", "/stacks", "/static/howdah.css"):
        status, _, body = front.send("GET", path, Accept="text/html")
        assert status == 200, path
        assert body
    status, _, page = front.send("GET", "/")
    assert b"The filesystem answers" in page
    status, _, body = front.send("GET", "/jmx?qry=Hadoop:service=HttpFSServer,*")
    beans = {bean["name"].rpartition("=")[2]: bean for bean in json.loads(body)["beans"]}
    activity = beans["ServerActivity-HttpFSServer"]
    assert activity["OpsOpen"] >= 2
    assert activity["BytesRead"] >= 2 * len(DATA)
    assert beans["JvmMetrics"]["MemHeapUsedM"] > 0
    for path in ("/prom", "/metrics"):
        told = front.send("GET", path)[2].decode()
        assert "howdah_gateway_filesystem_reached 1.0" in told
        assert 'operation="GETFILESTATUS",outcome="refused"' in told
    for path in ("/health", "/ready"):
        status, _, body = front.send("GET", path)
        assert (status, json.loads(body)["role"]) == (200, "gateway")
    assert front.send("PUT", "/conf", b"")[0] == 405
    assert front.send("GET", "/nothing")[0] == 404


@pytest.mark.req("FS-262")
def test_a_gateway_without_a_namenode_lives_and_is_not_ready() -> None:
    with MiniCluster(datanodes=1) as cluster, gateway(cluster) as address:
        fs = cluster.connect()
        assert isinstance(fs, HdfsFileSystem)
        front = Front(address, fs)
        assert front.send("GET", "/ready")[0] == 200
        cluster.kill("namenode")

        def is_ready() -> bool:
            return front.send("GET", "/ready")[0] == 200

        wait_until(lambda: not is_ready(), 60)
        assert front.send("GET", "/health")[0] == 200
        assert b"No namenode answers" in front.send("GET", "/")[2]
        told = front.send("GET", "/prom")[2].decode()
        assert "howdah_gateway_filesystem_reached 0.0" in told
        cluster.start("namenode")
        wait_until(is_ready, 60)
