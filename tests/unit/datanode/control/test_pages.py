"""What a datanode answers over HTTP, and who makes what answers WebHDFS."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.control.pages import Pages, monitoring
from howdah.web.channel import Channel
from howdah.web.http import Request, Response, text_response

WATCH = monitoring(lambda: True, lambda: [("ns", "nn:8020", True)])


class Files:
    """Answers with the path."""

    def __init__(self) -> None:
        self.path = ""

    def answer(self, request: Request) -> Files:
        self.path = request.path
        return self

    def run(self, channel: Channel) -> None:
        """Nothing."""

    def close(self) -> None:
        self.path = "closed"

    def done(self) -> Response:
        return text_response(200, self.path)


def at(port: int) -> Configuration:
    return Configuration({"dfs.datanode.http.address": f"127.0.0.1:{port}"})


@contextmanager
def served(pages: Pages) -> Iterator[http.client.HTTPConnection]:
    port = pages.start(at(0)).first[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        yield connection
    finally:
        connection.close()
        pages.stop()


def asked(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> Any:
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_webhdfs_is_made_at_its_first_request_and_once() -> None:
    made: list[Files] = []

    def make() -> Files:
        made.append(Files())
        return made[-1]

    with served(
        Pages(Configuration(), lambda: [{"name": "a:b=c"}], make, watch=WATCH)
    ) as connection:
        assert b'"a:b=c"' in asked(connection, "/jmx")[1]
        assert made == []
        for _ in range(2):
            assert asked(connection, "/webhdfs/v1/x") == (200, b"/webhdfs/v1/x\n")
        assert len(made) == 1
        assert asked(connection, "/webhdfs/v10")[0] == 404
    assert made[0].path == "closed"


def test_without_webhdfs_there_is_none() -> None:
    with served(Pages(Configuration(), list, watch=WATCH)) as connection:
        assert asked(connection, "/webhdfs/v1/x")[0] == 404
        assert asked(connection, "/jmx", "POST")[0] == 405


def test_port_that_is_taken_is_said() -> None:
    first = Pages(Configuration(), list, watch=WATCH)
    port = first.start(at(0)).first[1]
    try:
        with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.datanode\.http\.address"):
            Pages(Configuration(), list, watch=WATCH).start(at(port))
    finally:
        first.stop()


@pytest.mark.req("FS-262")
def test_datanode_is_ready_once_a_namenode_has_registered_it() -> None:
    namenodes = [("ns", "a:8020", False), ("ns", "b:8020", False)]
    lives = [True]
    watch = monitoring(lambda: lives[0], lambda: namenodes)
    with served(Pages(Configuration(), list, watch=watch)) as connection:
        assert asked(connection, "/health")[0] == 200
        status, body = asked(connection, "/ready")
        assert (status, json.loads(body)["waits_for"]) == (503, ["a:8020", "b:8020"])
        namenodes[1] = ("ns", "b:8020", True)
        status, body = asked(connection, "/ready")
        assert (status, json.loads(body)["namenodes"]) == (200, ["b:8020"])
        lives[0] = False
        assert asked(connection, "/health")[0] == asked(connection, "/ready")[0] == 503
