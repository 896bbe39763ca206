"""WebHDFS against a cluster: the requests of Hadoop's documentation and what they answer."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

USER = "user.name"
DATA = bytes(range(256)) * 5000


@dataclass
class Web:
    """A client over HTTP, as simple as curl, and the cluster's own."""

    cluster: MiniCluster
    fs: HdfsFileSystem

    @property
    def address(self) -> str:
        return self.cluster.http.partition("//")[2].rstrip("/")

    def send(
        self, method: str, address: str, target: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = http.client.HTTPConnection(address, timeout=60)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, query: str, user: str | None = None) -> tuple[int, Any]:
        """Status and what the JSON says, at the namenode."""
        who = self.fs.user if user is None else user
        target = f"/webhdfs/v1{quote(path)}?op={query}&user.name={who}"
        status, _, body = self.send(method, self.address, target)
        return status, json.loads(body) if body else None

    def follow(
        self, method: str, path: str, query: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """What the datanode answers to which the namenode sends."""
        target = f"/webhdfs/v1{quote(path)}?op={query}&user.name={self.fs.user}"
        status, found, said = self.send(method, self.address, target)
        assert status == 307, said
        location = urlsplit(found["Location"])
        return self.send(
            method, location.netloc, f"{location.path}?{location.query}", body, **headers
        )


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    conf = {"dfs.namenode.acls.enabled": "true", "dfs.blocksize": "1m", "dfs.ls.limit": "3"}
    with MiniCluster(datanodes=2, conf=conf) as cluster, cluster.connect() as fs:
        yield Web(cluster, fs)


def write(web: Web, path: str, data: bytes = b"hello", query: str = "") -> None:
    status, headers, _ = web.follow("PUT", path, f"CREATE{query}", data)
    assert status == 201
    assert headers["Location"] == f"{web.cluster.uri}{quote(path, safe='/+')}"


# Names: a table of what is asked and what is answered.

TRUE = {"boolean": True}
FALSE = {"boolean": False}
NAMES: list[tuple[str, str, str, int, Any]] = [
    ("PUT", "/t/a/b", "MKDIRS", 200, TRUE),
    ("PUT", "/t/m", "MKDIRS&permission=1711", 200, TRUE),
    ("GET", "/t/m", "GETFILESTATUS", 200, {"FileStatus": {"permission": "1711"}}),
    ("PUT", "/t/m", "SETPERMISSION&permission=700", 200, None),
    ("PUT", "/t/m", "SETOWNER&owner=ann&group=staff", 200, None),
    ("PUT", "/t/m", "SETOWNER", 400, "IllegalArgumentException: Both owner and group are empty."),
    ("PUT", "/t/m", "SETTIMES&modificationtime=1000", 200, None),
    (
        *("GET", "/t/m", "GETFILESTATUS", 200),
        {
            "FileStatus": {
                "permission": "700",
                "owner": "ann",
                "group": "staff",
                "type": "DIRECTORY",
                "modificationTime": 1000,
                "length": 0,
                "blockSize": 0,
                "replication": 0,
                "childrenNum": 0,
                "pathSuffix": "",
            }
        },
    ),
    ("GET", "/t/x", "GETFILESTATUS", 404, "FileNotFoundException: File does not exist: /t/x"),
    ("GET", "/t/x", "LISTSTATUS", 404, "FileNotFoundException: File /t/x does not exist."),
    ("PUT", "/t/a", "RENAME&destination=/t/c", 200, TRUE),
    ("PUT", "/t/a", "RENAME&destination=/t/d", 200, FALSE),
    ("PUT", "/t/c", "RENAME&destination=/t/a&renameoptions=OVERWRITE", 200, None),
    ("PUT", "/t/c", "RENAME&destination=/t/d&renameoptions=NONE", 404, "FileNotFoundException"),
    ("DELETE", "/t/a", "DELETE", 403, "PathIsNotEmptyDirectoryException"),
    ("DELETE", "/t/a", "DELETE&recursive=true", 200, TRUE),
    ("DELETE", "/t/a", "DELETE&recursive=true", 200, FALSE),
    ("GET", "/t", "GETCONTENTSUMMARY", 200, {"ContentSummary": {"directoryCount": 2}}),
    ("PUT", "/t", "SETQUOTA&namespacequota=100", 200, None),
    ("GET", "/t", "GETQUOTAUSAGE", 200, {"QuotaUsage": {"quota": 100, "spaceQuota": -1}}),
    ("PUT", "/t", "SETQUOTABYSTORAGETYPE&storagetype=SSD&storagespacequota=500", 200, None),
    (
        *("GET", "/t", "GETQUOTAUSAGE", 200),
        {"QuotaUsage": {"typeQuota": {"SSD": {"consumed": 0, "quota": 500}}}},
    ),
    ("PUT", "/t", "SETQUOTABYSTORAGETYPE&storagetype=TAPE", 400, "IllegalArgumentException"),
    # ACLs and attributes.
    ("PUT", "/t/m", "MODIFYACLENTRIES&aclspec=user:bob:r--,default:group:staff:r-x", 200, None),
    (
        *("GET", "/t/m", "GETACLSTATUS", 200),
        {
            "AclStatus": {
                "entries": [
                    "user:bob:r--",
                    "group::---",
                    "default:user::rwx",
                    "default:group::---",
                    "default:group:staff:r-x",
                    "default:mask::r-x",
                    "default:other::---",
                ]
            }
        },
    ),
    ("GET", "/t/m", "GETFILESTATUS", 200, {"FileStatus": {"aclBit": True}}),
    ("PUT", "/t/m", "REMOVEACLENTRIES&aclspec=user:bob:", 200, None),
    ("PUT", "/t/m", "REMOVEDEFAULTACL", 200, None),
    ("PUT", "/t/m", "REMOVEACL", 200, None),
    ("GET", "/t/m", "GETACLSTATUS", 200, {"AclStatus": {"entries": [], "stickyBit": False}}),
    ("PUT", "/t/m", "SETACL&aclspec=user::rwx,group::r-x,other::---", 200, None),
    ("PUT", "/t/m", "SETACL&aclspec=dog:x:rwx", 400, "does not belong to the domain"),
    ("PUT", "/t/m", "SETXATTR&xattr.name=user.a&xattr.value=%22v%22&flag=CREATE", 200, None),
    ("PUT", "/t/m", "SETXATTR&xattr.name=user.a&xattr.value=0x01&flag=CREATE", 403, "IOException"),
    ("PUT", "/t/m", "SETXATTR&xattr.name=user.b&xattr.value=0x0102&flag=CREATE", 200, None),
    (
        *("GET", "/t/m", "GETXATTRS&encoding=hex&xattr.name=user.b", 200),
        {"XAttrs": [{"name": "user.b", "value": "0x0102"}]},
    ),
    (
        *("GET", "/t/m", "GETXATTRS&encoding=text&xattr.name=user.a", 200),
        {"XAttrs": [{"name": "user.a", "value": '"v"'}]},
    ),
    ("GET", "/t/m", "LISTXATTRS", 200, {"XAttrNames": '["user.b","user.a"]'}),
    ("PUT", "/t/m", "REMOVEXATTR&xattr.name=user.a", 200, None),
    ("GET", "/t/m", "CHECKACCESS&fsaction=r-x", 200, None),
    # Snapshots.
    ("PUT", "/t/m", "CREATESNAPSHOT&snapshotname=s1", 403, "SnapshotException"),
    ("PUT", "/t/m", "ALLOWSNAPSHOT", 200, None),
    ("PUT", "/t/m", "CREATESNAPSHOT&snapshotname=s1", 200, {"Path": "/t/m/.snapshot/s1"}),
    ("PUT", "/t/m/new", "MKDIRS", 200, TRUE),
    ("PUT", "/t/m", "CREATESNAPSHOT&snapshotname=s2", 200, {"Path": "/t/m/.snapshot/s2"}),
    (
        *("GET", "/t/m", "GETSNAPSHOTDIFF&oldsnapshotname=s1&snapshotname=s2", 200),
        {
            "SnapshotDiffReport": {
                "snapshotRoot": "/t/m",
                "fromSnapshot": "s1",
                "toSnapshot": "s2",
                "diffList": [
                    {"type": "MODIFY", "sourcePath": ""},
                    {"type": "CREATE", "sourcePath": "new"},
                ],
            }
        },
    ),
    (
        *("GET", "/t/m", "GETSNAPSHOTDIFFLISTING&oldsnapshotname=s1&snapshotname=s2", 200),
        {"SnapshotDiffReportListing": {"lastPath": "", "lastIndex": -1, "deleteList": []}},
    ),
    ("PUT", "/t/m", "RENAMESNAPSHOT&oldsnapshotname=s2&snapshotname=s3", 200, None),
    ("GET", "/t/m", "GETFILESTATUS", 200, {"FileStatus": {"snapshotEnabled": True}}),
    ("DELETE", "/t/m", "DELETESNAPSHOT&snapshotname=s3", 200, None),
    ("DELETE", "/t/m", "DELETESNAPSHOT&snapshotname=s1", 200, None),
    ("PUT", "/t/m", "DISALLOWSNAPSHOT", 200, None),
    ("GET", "/", "GETSNAPSHOTTABLEDIRECTORYLIST", 200, {"SnapshottableDirectoryList": None}),
    # Storage policies, erasure coding.
    ("PUT", "/t/m", "SETSTORAGEPOLICY&storagepolicy=COLD", 200, None),
    (
        *("GET", "/t/m", "GETSTORAGEPOLICY", 200),
        {"BlockStoragePolicy": {"name": "COLD", "id": 2, "storageTypes": ["ARCHIVE"]}},
    ),
    ("POST", "/t/m", "UNSETSTORAGEPOLICY", 200, None),
    ("PUT", "/t/m", "SETSTORAGEPOLICY", 400, "Storage policy name is empty."),
    ("GET", "/t/m", "GETECPOLICY", 200, None),
    ("PUT", "/t/m", "SETECPOLICY&ecpolicy=RS-6-3-1024k", 200, None),
    ("GET", "/t/m", "GETECPOLICY", 200, {"name": "RS-6-3-1024k", "id": 1}),
    ("POST", "/t/m", "UNSETECPOLICY", 200, None),
    ("PUT", "/t/m", "SETECPOLICY&ecpolicy=XOR-2-1-1024k", 400, "does not match any enabled"),
    # The filesystem and its users.
    ("GET", "/", "GETHOMEDIRECTORY", 200, {"Path": f"/user/{USER}"}),
    ("GET", "/t/m", "GETTRASHROOT", 200, {"Path": f"/user/{USER}/.Trash"}),
    ("GET", "/", "GETTRASHROOTS&allusers=true", 200, {"Paths": None}),
    ("GET", "/", "GETDELEGATIONTOKEN", 200, {"Token": None}),
    ("PUT", "/", "RENEWDELEGATIONTOKEN&token=x", 400, "RENEWDELEGATIONTOKEN is not supported"),
    ("PUT", "/", "CANCELDELEGATIONTOKEN&token=x", 400, "CANCELDELEGATIONTOKEN is not supported"),
    ("GET", "/", "LISTSTATUS&delegation=x", 400, "no delegation tokens"),
    ("GET", "/", "LISTSTATUS&doas=bob", 403, "is not allowed to impersonate bob"),
    ("GET", "/", "FOO", 400, "FOO is not a valid GET operation."),
    ("PUT", "/t/../x", "MKDIRS", 400, "InvalidPathException"),
]


def matches(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and matches(found[name], value) for name, value in wanted.items()
        )
    return bool(found == wanted)


@pytest.mark.req("FS-216")
def test_requests_of_the_documentation_have_their_answers(web: Web) -> None:
    for method, path, query, status, wanted in NAMES:
        got, found = web.ask(method, path, query)
        if isinstance(wanted, str):
            told = found["RemoteException"]
            said = f"{told['exception']}: {told['message']}"
            assert (got, wanted in said) == (status, True), (query, got, said)
        else:
            expected = json.loads(json.dumps(wanted).replace(USER, web.fs.user))
            assert (got, matches(found, expected)) == (status, True), (query, got, found)


@pytest.mark.req("FS-217")
def test_permissions_are_checked_as_over_rpc(web: Web) -> None:
    web.fs.mkdirs("/closed", 0o700)
    status, found = web.ask("GET", "/closed/x", "GETFILESTATUS", user="bob")
    assert status == 403
    assert found["RemoteException"]["javaClassName"] == (
        "org.apache.hadoop.security.AccessControlException"
    )
    assert web.ask("PUT", "/closed/d", "MKDIRS", user="bob")[0] == 403
    status, _, body = web.send("GET", web.address, "/webhdfs/v1/?op=GETHOMEDIRECTORY")
    assert (status, json.loads(body)) == (200, {"Path": "/user/dr.who"})


# Bytes.


@pytest.mark.req("FS-218")
def test_file_is_written_read_and_appended_to(web: Web) -> None:
    write(web, "/f/ü +%.bin", DATA, "&permission=640&replication=1&blocksize=1048576")
    path = "/f/ü +%.bin"
    status = web.fs.get_file_status(path)
    assert (status.length, status.permission & 0o777, status.replication) == (len(DATA), 0o640, 1)
    assert web.follow("GET", path, "OPEN")[2] == DATA
    assert web.follow("GET", path, "OPEN&offset=1048570&length=20")[2] == DATA[1048570:1048590]
    got, headers, body = web.follow("GET", path, f"OPEN&offset={len(DATA) - 3}&length=99")
    assert (got, headers["Content-Type"], body) == (200, "application/octet-stream", DATA[-3:])
    assert web.follow("POST", path, "APPEND", b"more")[0] == 200
    with web.fs.open(path) as stream:
        assert stream.read() == DATA + b"more"


def test_empty_file_and_nothing_of_a_file(web: Web) -> None:
    write(web, "/f/empty", b"")
    assert web.follow("GET", "/f/empty", "OPEN")[2] == b""
    assert web.follow("GET", "/f/empty", "OPEN&length=0")[2] == b""


def test_existing_file_is_replaced_only_if_asked(web: Web) -> None:
    write(web, "/f/once", b"first")
    got, _, body = web.follow("PUT", "/f/once", "CREATE", b"second")
    assert got == 403
    assert json.loads(body)["RemoteException"]["exception"] == "FileAlreadyExistsException"
    write(web, "/f/once", b"second", "&overwrite=true")
    assert web.follow("GET", "/f/once", "OPEN")[2] == b"second"


def test_refusal_comes_before_a_body_that_waits(web: Web) -> None:
    """With `Expect: 100-continue` a client sends nothing that nobody wants."""
    write(web, "/f/there", b"first")
    target = f"/webhdfs/v1/f/there?op=CREATE&user.name={web.fs.user}"
    _, headers, _ = web.send("PUT", web.address, target)
    location = urlsplit(headers["Location"])
    host, _, port = location.netloc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(
            f"PUT {location.path}?{location.query} HTTP/1.1\r\nHost: {location.netloc}\r\n"
            "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 403 Forbidden\r\n")


def test_body_that_breaks_off_is_not_confirmed_and_the_file_is_closed(web: Web) -> None:
    target = f"/webhdfs/v1/f/torn?op=CREATE&user.name={web.fs.user}"
    _, headers, _ = web.send("PUT", web.address, target)
    location = urlsplit(headers["Location"])
    host, _, port = location.netloc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(
            f"PUT {location.path}?{location.query} HTTP/1.1\r\nHost: {location.netloc}\r\n"
            "Content-Length: 500\r\n\r\nonly this".encode()
        )
        connection.shutdown(socket.SHUT_WR)
        assert b"201" not in connection.recv(4096)[:20]
    wait_until(lambda: web.fs.exists("/f/torn") and web.fs.is_file_closed("/f/torn"), timeout_s=60)


def test_checksum_is_the_one_of_the_filesystem(web: Web) -> None:
    write(web, "/f/sum", DATA)
    got, _, body = web.follow("GET", "/f/sum", "GETFILECHECKSUM")
    told = json.loads(body)["FileChecksum"]
    wanted = web.fs.get_file_checksum("/f/sum")
    assert wanted is not None
    assert (got, told) == (
        200,
        {"algorithm": wanted.algorithm, "bytes": wanted.hex(), "length": 28},
    )


def test_location_can_be_asked_for(web: Web) -> None:
    write(web, "/f/where")
    for method, query in (
        ("GET", "OPEN"),
        ("GET", "GETFILECHECKSUM"),
        ("PUT", "CREATE"),
        ("POST", "APPEND"),
    ):
        status, found = web.ask(method, "/f/where", f"{query}&noredirect=true")
        assert status == 200
        assert re.match(r"http://127[.0-9]+:\d+/webhdfs/v1/f/where\?op=", found["Location"])


@pytest.mark.req("FS-218")
def test_redirects_go_to_a_datanode_that_has_the_block_and_is_not_excluded(web: Web) -> None:
    write(web, "/f/one", b"x", "&replication=1")
    status, found = web.ask("GET", "/f/one", "GET_BLOCK_LOCATIONS")
    (holder,) = found["LocatedBlocks"]["locatedBlocks"][0]["locations"]
    _, told = web.ask("GET", "/f/one", "OPEN&noredirect=true")
    assert urlsplit(told["Location"]).port == holder["infoPort"]
    status, told = web.ask("GET", "/f/one", f"OPEN&excludedatanodes={holder['name']}")
    assert (status, told["RemoteException"]["exception"]) == (403, "IOException")
    _, told = web.ask("PUT", "/f/new", f"CREATE&noredirect=true&excludedatanodes={holder['name']}")
    assert urlsplit(told["Location"]).port != holder["infoPort"]


@pytest.mark.parametrize(
    ("query", "status", "exception"),
    [
        ("OPEN&offset=99", 403, "IOException"),
        ("OPEN&offset=-1", 400, "IllegalArgumentException"),
    ],
)
def test_offset_behind_the_end_is_refused(
    web: Web, query: str, status: int, exception: str
) -> None:
    write(web, "/f/short", b"x", "&overwrite=true")
    got, found = web.ask("GET", "/f/short", query)
    assert (got, found["RemoteException"]["exception"]) == (status, exception)


def test_files_are_joined_cut_and_located(web: Web) -> None:
    for name in "abc":
        write(web, f"/j/{name}", name.encode() * 1000)
    assert web.ask("POST", "/j/a", "CONCAT&sources=/j/b,/j/c")[0] == 200
    assert web.follow("GET", "/j/a", "OPEN")[2] == b"a" * 1000 + b"b" * 1000 + b"c" * 1000
    _, found = web.ask("GET", "/j/a", "GETFILEBLOCKLOCATIONS&offset=500&length=1000")
    assert [each["offset"] for each in found["BlockLocations"]["BlockLocation"]] == [0, 1000]
    assert web.ask("POST", "/j/a", "TRUNCATE&newlength=1000") == (200, TRUE)
    assert web.ask("PUT", "/j/a", "SETREPLICATION&replication=1") == (200, TRUE)
    assert web.ask("PUT", "/j", "SETREPLICATION&replication=1") == (200, FALSE)


@pytest.mark.req("FS-216", "FS-258")
def test_long_directories_are_listed_whole_and_in_batches(web: Web) -> None:
    """With three names a page."""
    names = [f"d{number}" for number in range(8)]
    for name in names:
        web.fs.mkdirs(f"/l/{name}")
    _, found = web.ask("GET", "/l", "LISTSTATUS")
    assert [each["pathSuffix"] for each in found["FileStatuses"]["FileStatus"]] == names
    target = f"/webhdfs/v1/l?op=LISTSTATUS&user.name={web.fs.user}"
    status, headers, body = web.send(
        "GET", web.address, target, None, **{"Accept-Encoding": "gzip"}
    )
    assert (status, headers["Transfer-Encoding"]) == (200, "chunked")
    assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert json.loads(gzip.decompress(body)) == found
    status, headers, body = web.send("HEAD", web.address, target)
    assert (status, headers["Content-Type"], body) == (200, "application/json", b"")
    _, found = web.ask("GET", "/l", "LISTSTATUS_BATCH&startafter=d2")
    page = found["DirectoryListing"]
    entries = page["partialListing"]["FileStatuses"]["FileStatus"]
    assert [each["pathSuffix"] for each in entries] == ["d3", "d4", "d5"]
    assert page["remainingEntries"] == 2


def test_no_datanode_is_left_to_take_a_file(web: Web) -> None:
    names = ",".join(node.ip for node in web.fs.datanode_report())
    status, told = web.ask("PUT", "/f/nobody", f"CREATE&excludedatanodes={names}")
    assert status == 403
    assert "Failed to find datanode" in told["RemoteException"]["message"]


def test_datanode_asks_only_namenodes_that_it_is_configured_with(web: Web) -> None:
    write(web, "/f/own")
    _, told = web.ask("GET", "/f/own", "OPEN&noredirect=true")
    location = urlsplit(told["Location"])
    elsewhere = re.sub(r"namenoderpcaddress=[^&]*", "namenoderpcaddress=evil:1", location.query)
    nowhere = re.sub(r"&namenoderpcaddress=[^&]*", "", location.query)
    for query in (elsewhere, nowhere, location.query.replace("OPEN", "LISTSTATUS")):
        status, _, body = web.send("GET", location.netloc, f"{location.path}?{query}")
        assert (status, json.loads(body)["RemoteException"]["exception"]) == (
            400,
            "IllegalArgumentException",
        )


def test_many_write_and_read_at_once(web: Web) -> None:
    failed: list[object] = []

    def work(number: int) -> None:
        data = bytes([number]) * 300_000
        try:
            write(web, f"/many/{number}", data)
            assert web.follow("GET", f"/many/{number}", "OPEN")[2] == data
        except BaseException as error:  # noqa: BLE001 - the test says which
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []


def test_no_port_answers_by_the_name_of_a_stranger(web: Web) -> None:
    """As a page asks whose own name was led to this machine."""
    query = f"user.name={web.fs.user}"
    nodes = web.fs.datanode_report("live")
    ports = [web.address, *(f"{node.ip}:{node.info_port}" for node in nodes)]
    assert len(ports) > 1
    for port in ports:
        for host in ("attacker.example", f"attacker.example:{port.rpartition(':')[2]}"):
            target = f"/webhdfs/v1/rebound?op=MKDIRS&{query}"
            status, _, body = web.send("PUT", port, target, Host=host)
            assert (status, b"howdah.http.hosts" in body) == (403, True)
            for path in ("/", "/jmx", "/conf", "/prom", "/ready"):
                assert web.send("GET", port, path, Host=host)[0] == 403
        for host in ("localhost", socket.gethostname(), "10.1.2.3:1"):
            assert web.send("GET", port, "/jmx", Host=host)[0] == 200
    assert not web.fs.exists("/rebound")


def test_the_pages_bytes_go_through_the_server_that_shows_it(web: Web) -> None:
    """As by a forwarded port: no datanode is reached, and the address is none that is known."""
    query = f"user.name={web.fs.user}&relay=true"
    here = "localhost:1234"
    headers = {"Host": here, "Origin": f"http://{here}", "X-XSRF-HEADER": "1"}
    target = "/webhdfs/v1/relayed?overwrite=false"
    status, found, _ = web.send("PUT", web.address, f"{target}&op=CREATE&{query}", DATA, **headers)
    assert (status, found.get("Location")) == (201, web.fs.uri + "/relayed")
    assert web.fs.read_bytes("/relayed") == DATA
    path = f"/webhdfs/v1/relayed?op=OPEN&{query}"
    assert web.send("GET", web.address, path, None, **headers)[::2] == (200, DATA)
    part = f"{path}&offset=10&length=20"
    status, found, body = web.send("GET", web.address, part, None, **headers)
    assert (status, found["Content-Length"], body) == (200, "20", DATA[10:30])
    status, found, body = web.send("HEAD", web.address, path, None, **headers)
    assert (status, found["Content-Length"], body) == (200, str(len(DATA)), b"")
    past = f"{path}&offset={2 * len(DATA)}"
    status, found, body = web.send("HEAD", web.address, past, None, **headers)
    assert (status, body) == (403, b"")
    again = web.send("PUT", web.address, f"{target}&op=CREATE&{query}", DATA, **headers)
    assert again[0] == 403
    assert json.loads(again[2])["RemoteException"]["exception"] == "FileAlreadyExistsException"
    elsewhere = {**headers, "Origin": "http://attacker.example"}
    assert web.send("PUT", web.address, f"{target}&op=CREATE&{query}", b"", **elsewhere)[0] == 403
    nowhere = f"/webhdfs/v1/nowhere?op=OPEN&{query}"
    lost = web.send("GET", web.address, nowhere, None, **headers)
    assert lost[0] == 404
    web.fs.delete("/relayed")
