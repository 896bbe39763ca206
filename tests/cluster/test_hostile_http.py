"""Bad company at the web ports of a namenode and a datanode: thousands of connections that say
nothing, drip, shout, lie or ask many things at once.

Each is answered or dropped, the processes grow by a bounded amount, and whoever asks properly is
answered meanwhile, over HTTP and over RPC.
"""

from __future__ import annotations

import contextlib
import json
import resource
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest

from howdah.testing import MiniCluster
from howdah.testing.waiting import wait_until

pytestmark = [pytest.mark.req("FS-219"), pytest.mark.kind("caller")]

FEW, MANY = 500, 10_000
MAY_GROW_BYTES: Final = 300 << 20
"""512 threads with a head of 64 KiB each are a tenth of it."""
PATIENCE_S: Final = 120.0
GET: Final = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
SAYINGS: Final = {
    "silent": b"",
    "dripping": b"GET / HT",
    "a head without end": b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000,
    "many headers": b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "hrpc": b"hrpc\x09\x00\x00" + bytes(40),
    "no version": b"GET /\r\n\r\n",
    "two lengths": b"PUT /webhdfs/v1/a?op=CREATE HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a body without end": b"POST /webhdfs/v1/a?op=APPEND HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 1000000000000\r\n\r\n" + b"b" * 10_000,
    "bad chunks": b"PUT /webhdfs/v1/a?op=CREATE HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a pipeline": GET * 50,
    "a pipeline that nobody reads": b"GET /jmx HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3,
}
ANSWERED: Final = frozenset(
    ("a head without end", "many headers", "no HTTP", "hrpc", "no version", "two lengths")
)
"""Of these each gets a word, unless another one's place was wanted first."""


@pytest.fixture
def fd_limit() -> Iterator[Callable[[int], None]]:
    """Raises the soft limit of open files, or skips where the hard one is lower."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def raise_to(wanted: int) -> None:
        if before[1] not in (resource.RLIM_INFINITY,) and before[1] < wanted:
            pytest.skip(f"the hard limit of open files is {before[1]}, and {wanted} are needed")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], wanted), before[1]))

    yield raise_to
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Crowd:
    """Connections to one port that have said what they had to say."""

    def __init__(self, address: tuple[str, int], number: int) -> None:
        self.open: list[tuple[str, socket.socket]] = []
        self.heard: dict[str, int] = dict.fromkeys(SAYINGS, 0)
        names = list(SAYINGS)
        for each in range(number):
            name = names[each % len(names)]
            connection = socket.create_connection(address, timeout=PATIENCE_S)
            connection.setblocking(False)
            # What does not fit into the buffer is not said: these don't wait.
            with contextlib.suppress(OSError):
                connection.send(SAYINGS[name])
            self.open.append((name, connection))

    def end(self) -> int:
        """Read what there is, and close; how many the server had not ended by then."""
        left = 0
        with selectors.DefaultSelector() as ready:
            for name, connection in self.open:
                ready.register(connection, selectors.EVENT_READ, name)
            deadline_s = time.monotonic() + PATIENCE_S
            while ready.get_map() and time.monotonic() < deadline_s:
                for key, _ in ready.select(1.0):
                    answered = key.fileobj
                    assert isinstance(answered, socket.socket)
                    try:
                        data = answered.recv(1 << 16)
                    except OSError:
                        data = b""
                    if data.startswith(b"HTTP/1.1 "):
                        self.heard[key.data] += 1
                    if not data:
                        ready.unregister(answered)
            left = len(ready.get_map())
        for _, connection in self.open:
            connection.close()
        return left


def resident_of(cluster: MiniCluster, server: str) -> int:
    """Bytes that a server's process takes."""
    pid = cluster.process(server).pid
    assert pid is not None
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(pid)


def web_addresses(cluster: MiniCluster) -> dict[str, tuple[str, int]]:
    with urlopen(f"{cluster.http}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo") as answer:
        (bean,) = json.load(answer)["beans"]
    (node,) = json.loads(bean["LiveNodes"]).values()
    found = {}
    for server, text in (
        ("namenode", cluster.http.partition("//")[2].rstrip("/")),
        ("datanode0", node["infoAddr"]),
    ):
        host, port = text.rsplit(":", 1)
        found[server] = (host, int(port))
    return found


def is_healthy(address: tuple[str, int]) -> bool:
    host, port = address
    with contextlib.suppress(OSError), urlopen(f"http://{host}:{port}/health", timeout=20) as got:
        return bool(got.status == 200)
    return False


def trouble(number: int, idle: str, *, at_both: bool) -> None:
    """`number` of bad connections to each server, one server after the other unless `at_both`.
    `idle`: how long a connection may say nothing between two requests."""
    conf = {"hadoop.http.idle_timeout.ms": idle}
    with MiniCluster(datanodes=1, conf=conf) as cluster, cluster.connect() as fs:
        fs.mkdirs("/there")
        wait_until(lambda: len(fs.datanode_report("live")) == 1, timeout_s=60)
        addresses = web_addresses(cluster)
        for servers in [list(addresses)] if at_both else [[each] for each in addresses]:
            before = {each: resident_of(cluster, each) for each in servers}
            crowds = {each: Crowd(addresses[each], number) for each in servers}
            # A caller and a browser are answered while all of them are there.
            assert fs.get_file_status("/there").is_directory
            for server in servers:
                wait_until(lambda: is_healthy(addresses[server]), timeout_s=60)  # noqa: B023
                assert resident_of(cluster, server) - before[server] < MAY_GROW_BYTES, server
            for server, crowd in crowds.items():
                assert crowd.end() == 0, f"{server} has ended not all"
                assert any(crowd.heard[name] for name in ANSWERED), crowd.heard
                assert crowd.heard["a pipeline"], crowd.heard
            assert fs.get_file_status("/there").is_directory
            for server in servers:
                wait_until(lambda: is_healthy(addresses[server]), timeout_s=60)  # noqa: B023
                assert resident_of(cluster, server) - before[server] < MAY_GROW_BYTES, server


@pytest.mark.timeout(300)
def test_hundreds_of_bad_connections_are_answered_or_dropped(
    fd_limit: Callable[[int], None],
) -> None:
    fd_limit(2 * FEW + 200)
    trouble(FEW, "10s", at_both=True)


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_ten_thousand_bad_connections_are_answered_or_dropped(
    fd_limit: Callable[[int], None],
) -> None:
    fd_limit(MANY + 500)
    trouble(MANY, "30s", at_both=False)
