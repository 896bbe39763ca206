"""Delegation tokens of two key servers over one file, by their REST, as curl would ask."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from howdah.formats.tokens.token import KMS_DELEGATION, Token
from tests.support.key_server import KEY_ACCESS, KeyServerProcess, key_servers

pytestmark = pytest.mark.timeout(120)

HEADER = "X-Hadoop-Delegation-Token"


@dataclass(frozen=True)
class Scene:
    servers: list[KeyServerProcess]

    def ask(
        self, server: int, method: str, shown: str = "", path: str = "/", **fields: str
    ) -> tuple[int, Any]:
        """The status, and what is answered in JSON."""
        host = ("127.0.0.1", "127.0.0.2")[server]
        query = f"?{urlencode(fields)}" if fields else ""
        url = f"http://{host}:{self.servers[server].port}/kms/v1{path}{query}"
        request = urllib.request.Request(url, method=method)
        if shown:
            request.add_header(HEADER, shown)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, body = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        return status, json.loads(body) if body.startswith((b"{", b"[")) else body

    def issued(self, **fields: str) -> str:
        status, answer = self.ask(0, "GET", op="GETDELEGATIONTOKEN", **fields)
        assert status == 200, answer
        return str(answer["Token"]["urlString"])


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("kms")
    settings = {
        **KEY_ACCESS,
        "hadoop.kms.acl.GET_KEYS": "anna",
        "hadoop.kms.proxyuser.oozie.users": "anna",
        "hadoop.kms.proxyuser.oozie.hosts": "*",
    }
    with key_servers(directory, settings, ["127.0.0.1", "127.0.0.2"]) as (_, servers):
        yield Scene(servers)


def test_a_token_of_one_server_is_good_at_the_other_and_after_kills(scene: Scene) -> None:
    token = scene.issued(**{"user.name": "anna", "renewer": "yarn", "service": "here"})
    decoded = Token.from_url_string(token)
    assert (decoded.kind, decoded.service) == (KMS_DELEGATION, "here")
    names = {"path": "/keys/names"}
    assert scene.ask(1, "GET", token, **names) == (200, [])
    assert scene.ask(1, "GET", delegation=token, **names) == (200, [])
    for server in scene.servers:
        server.kill()
        server.start()
    assert scene.ask(1, "GET", token, **names) == (200, [])
    status, answer = scene.ask(
        1, "PUT", op="RENEWDELEGATIONTOKEN", token=token, **{"user.name": "yarn"}
    )
    assert status == 200, answer
    assert answer["long"] > 1_700_000_000_000
    assert scene.ask(1, "PUT", op="CANCELDELEGATIONTOKEN", token=token) == (200, b"")
    for number in (0, 1):
        status, answer = scene.ask(number, "GET", token, **names)
        assert status == 403
        assert answer["RemoteException"]["exception"] == "AuthenticationException"


def test_a_token_has_the_rights_of_its_owner_and_no_others(scene: Scene) -> None:
    bobs = scene.issued(**{"user.name": "bob", "renewer": "bob"})
    status, answer = scene.ask(0, "GET", bobs, path="/keys/names")
    assert status == 403
    assert "User:bob not allowed to do 'GET_KEYS'" in answer["RemoteException"]["message"]
    # Whatever name comes beside it.
    assert scene.ask(0, "GET", bobs, path="/keys/names", **{"user.name": "anna"})[0] == 403
    # Who may act for another may have a token for him, and nobody else.
    annas = scene.issued(**{"user.name": "oozie", "doas": "anna", "renewer": "oozie"})
    assert scene.ask(1, "GET", annas, path="/keys/names") == (200, [])
    refused = scene.ask(
        0, "GET", op="GETDELEGATIONTOKEN", **{"user.name": "bob", "doas": "anna", "renewer": "bob"}
    )
    assert refused[0] == 403


def test_calls_about_tokens_are_refused_as_hadoop_refuses_them(scene: Scene) -> None:
    token = scene.issued(**{"user.name": "anna", "renewer": "yarn"})
    wrong_method = scene.ask(0, "PUT", op="GETDELEGATIONTOKEN", **{"user.name": "anna"})
    assert wrong_method[0] == 400
    assert "Wrong HTTP method [PUT]" in wrong_method[1]["RemoteException"]["message"]
    without = scene.ask(0, "PUT", op="RENEWDELEGATIONTOKEN", **{"user.name": "anna"})
    assert without[0] == 400
    assert "requires the parameter [token]" in without[1]["RemoteException"]["message"]
    renewed = scene.ask(0, "PUT", op="RENEWDELEGATIONTOKEN", token=token, **{"user.name": "anna"})
    assert renewed[0] == 403
    # By a token nobody gets another one.
    assert scene.ask(0, "GET", token, op="GETDELEGATIONTOKEN")[0] == 401
    assert scene.ask(0, "GET", "nonsense", path="/keys/names")[0] == 403
