"""All namenodes are asked, and a sick one costs the others nothing."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest

from howdah.config import Configuration
from howdah.errors import AuthenticationFailed
from howdah.runtime.tls.http_policy import Place
from howdah.security.http import Proof
from howdah.security.page_proofs import PageProofs
from howdah.web.http import Request, Response, answer
from howdah.web.pages import cluster_reading
from howdah.web.pages.cluster_reading import ClusterReader
from howdah.web.server import HttpServer


def healthy(request: Request) -> Response:
    bean = {
        "name": "x",
        "State": "active",
        "FilesTotal": 7,
        "Safemode": "",
        "SoftwareVersion": "1",
        "ClusterId": "CID",
    }
    return answer(200, json.dumps({"beans": [bean]}).encode(), "application/json")


def endless(request: Request) -> Response:
    return answer(200, b"x" * (cluster_reading.MOST_BYTES + 1), "application/json")


def no_sense(request: Request) -> Response:
    return answer(200, b'{"beans": [{"State": ["a"], "FilesTotal": "many"}]}', "application/json")


def refusing(request: Request) -> Response:
    return answer(403, b"", "text/plain")


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.req("FS-284")
def test_a_sick_namenode_is_shown_as_sick(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_reading, "TIMEOUT_S", 2.0)
    handlers: dict[str, Callable[[Request], Response]] = {
        "good": healthy,
        "endless": endless,
        "nonsense": no_sense,
        "refusing": refusing,
    }
    servers = {name: HttpServer(handler, timeout_s=20) for name, handler in handlers.items()}
    ports = {name: server.start("127.0.0.1", 0) for name, server in servers.items()}
    ports["silent"] = silent
    names = [*ports, "unset"]
    conf = Configuration(
        {
            "dfs.nameservices": ",".join(names),
            **{f"dfs.namenode.http-address.{n}": f"127.0.0.1:{p}" for n, p in ports.items()},
            **{f"dfs.namenode.rpc-address.{n}": "127.0.0.1:1" for n in ports},
        }
    )
    reader = ClusterReader(conf)
    try:
        found = {member.nameservice: member for member in reader.read()}
    finally:
        for server in servers.values():
            server.stop()
    assert list(found) == names
    assert (found["good"].trouble, found["good"].state, found["good"].files) == ("", "active", 7)
    assert "more than" in found["endless"].trouble
    assert "no sense" in found["nonsense"].trouble
    assert "403" in found["refusing"].trouble
    assert "no answer within" in found["silent"].trouble or "timed out" in found["silent"].trouble
    assert "no address" in found["unset"].trouble


@pytest.mark.req("FS-284")
def test_a_crowd_asks_no_more_often_than_one() -> None:
    asked = []

    def counted(request: Request) -> Response:
        asked.append(request.target)
        return healthy(request)

    server = HttpServer(counted, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    conf = Configuration(
        {"dfs.namenode.http-address": f"127.0.0.1:{port}", "fs.defaultFS": "hdfs://a:1"}
    )
    reader = ClusterReader(conf)
    first = reader.read()
    count = len(asked)
    viewers = [threading.Thread(target=reader.read) for _ in range(20)]
    for viewer in viewers:
        viewer.start()
    for viewer in viewers:
        viewer.join()
    server.stop()
    assert first[0].state == "active"
    assert count == 5
    # Whatever time the crowd took, it was asked anew a few times at most, not twenty times.
    assert len(asked) < 20 * count


class Tickets(PageProofs):
    """Shows what its server takes for a ticket."""

    def __init__(self) -> None:
        super().__init__(None)
        self.shown = 0

    def proof(self, place: Place, *, fresh: bool = False) -> Proof:
        self.shown += 1
        return Proof((), {"Authorization": f"Negotiate {self.shown}"})

    def wants_another(self, place: Place, proof: Proof | None, status: int) -> bool:
        return status == 401 and proof is None

    def check(
        self, place: Place, proof: Proof | None, status: int, headers: Mapping[str, str]
    ) -> None:
        if status == 401:
            raise AuthenticationFailed("it takes no ticket")


@pytest.mark.parametrize(
    ("wanted", "state", "tickets"), [(None, "active", 0), ("1", "active", 5), ("no", "", 1)]
)
def test_a_ticket_is_shown_to_who_asks_for_one(
    wanted: str | None, state: str, tickets: int
) -> None:
    def asking(request: Request) -> Response:
        if wanted is not None and request.headers.get("authorization", "")[10:11] < wanted:
            return answer(401, b"", "text/plain", {"WWW-Authenticate": "Negotiate"})
        return healthy(request)

    server = HttpServer(asking, timeout_s=20)
    port = server.start("127.0.0.1", 0)
    conf = Configuration(
        {"dfs.namenode.http-address": f"127.0.0.1:{port}", "fs.defaultFS": "hdfs://a:1"}
    )
    reader = ClusterReader(conf)
    reader._proofs = proofs = Tickets()
    try:
        (found,) = reader.read()
    finally:
        server.stop()
    assert found.state == state, found.trouble
    assert proofs.shown == tickets
