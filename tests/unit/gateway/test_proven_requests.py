"""Requests at a gateway whose users prove who they are, as far as no namenode is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import WEBHDFS_DELEGATION, Token
from howdah.gateway.httpfs import HttpFs
from howdah.gateway.security import Security, with_token_in_query
from howdah.gateway.tokens import TokensInMemory, TokenTimes
from howdah.protocol.rpc.proven import KERBEROS, Proven
from howdah.security.server_tokens import ServerTokens
from howdah.web.access.guard import ClosedGuard
from howdah.web.access.rules import AccessRules
from howdah.web.channel import Channel
from howdah.web.http import Response, request_of
from howdah.web.server import Exchange

CONF = {
    "fs.defaultFS": "hdfs://localhost:1",
    "httpfs.proxyuser.oozie.users": "bob",
    "httpfs.proxyuser.oozie.hosts": "*",
}
ALICE, OOZIE = (Proven(KERBEROS, name, f"{name}@R") for name in ("alice", "oozie"))


class NotBegun:
    has_begun = False


def short_name(principal: str) -> str:
    if principal.endswith("@ELSEWHERE"):
        raise errors.AuthenticationFailed(f"No rules applied to {principal}")
    return principal.partition("@")[0].partition("/")[0]


class Gateway:
    def __init__(
        self, mode: str = "read-write", *, most_of_one: int = 100, most: int = 100
    ) -> None:
        times = TokenTimes(100, 100, 100)
        tokens = ServerTokens(
            times,
            TokensInMemory(),
            WEBHDFS_DELEGATION,
            short_name,
            most_of_one=most_of_one,
            most=most,
        )
        closed = ClosedGuard("unused", AccessRules({}))
        security = Security(closed, tokens, short_name, None, None)
        self.httpfs = HttpFs(Configuration({**CONF, "httpfs.access.mode": mode}), security)

    def answer(
        self, who: Proven | None, method: str, query: str, headers: Mapping[str, str]
    ) -> Response:
        made = request_of(
            method.encode(),
            f"/webhdfs/v1/?op={query}".encode(),
            [(name.encode(), value.encode()) for name, value in headers.items()],
            "127.0.0.1",
        )
        assert made is not None
        exchange = self.httpfs.answer(with_token_in_query(replace(made, proven=who)))
        assert isinstance(exchange, Exchange)
        exchange.run(cast(Channel, NotBegun()))
        response = exchange.done()
        assert isinstance(response, Response)
        return response

    def ask(self, who: Proven | None, method: str, query: str) -> tuple[int, Any]:
        response = self.answer(who, method, query, {})
        body = response.body
        return response.status, json.loads(body) if body.startswith(b"{") else body.decode()

    def token(self, who: Proven, query: str = "") -> str:
        status, said = self.ask(who, "GET", f"GETDELEGATIONTOKEN{query}")
        assert status == 200, said
        return str(said["Token"]["urlString"])


def identifier(text: str) -> DelegationTokenIdentifier:
    return DelegationTokenIdentifier.decode(Token.from_url_string(text).identifier)


@pytest.mark.parametrize("mode", ["read-only", "write-only", "read-write"])
def test_tokens_are_had_in_every_mode_of_access(mode: str) -> None:
    gateway = Gateway(mode)
    text = gateway.token(ALICE)
    assert gateway.ask(ALICE, "PUT", f"RENEWDELEGATIONTOKEN&token={text}")[0] == 200
    assert gateway.ask(ALICE, "PUT", f"CANCELDELEGATIONTOKEN&token={text}")[0] == 200


def test_the_mode_of_access_holds_for_files() -> None:
    assert Gateway("read-only").ask(ALICE, "PUT", "MKDIRS")[0] == 403
    assert Gateway("write-only").ask(ALICE, "GET", "GETHOMEDIRECTORY")[0] == 403


def test_a_token_names_who_asked_and_for_whom() -> None:
    gateway = Gateway()
    own = identifier(gateway.token(ALICE, "&user.name=hdfs&renewer=rm"))
    assert (own.owner, own.renewer, own.real_user) == ("alice", "rm", "")
    others = identifier(gateway.token(OOZIE, "&doas=bob"))
    assert (others.owner, others.renewer, others.real_user) == ("bob", "bob", "oozie")
    status, said = gateway.ask(OOZIE, "GET", "GETDELEGATIONTOKEN&doas=alice")
    assert (status, said["RemoteException"]["exception"]) == (403, "AuthorizationException")


def test_who_is_acted_for_has_one_name_for_rules_and_tokens() -> None:
    gateway = Gateway()
    for name in ("bob/x", "bob@R"):
        text = gateway.token(OOZIE, f"&doas={name}")
        assert identifier(text).owner == "bob"
    for name in ("alice/x", "alice/bob"):
        status, said = gateway.ask(OOZIE, "GET", f"GETDELEGATIONTOKEN&doas={name}")
        assert (status, said["RemoteException"]["exception"]) == (403, "AuthorizationException")
        assert said["RemoteException"]["message"].endswith("not allowed to impersonate alice")
    status, said = gateway.ask(OOZIE, "GET", "GETDELEGATIONTOKEN&doas=bob@ELSEWHERE")
    assert (status, said["RemoteException"]["exception"]) == (400, "IllegalArgumentException")
    assert "Illegal principal name bob@ELSEWHERE: No rules" in said["RemoteException"]["message"]


@pytest.mark.parametrize(
    ("who", "query", "status"),
    [
        (None, "GETFILESTATUS&user.name=hdfs", 401),
        (None, "GETFILESTATUS&delegation=nonsense", 403),
        (None, "GETFILESTATUS&delegation=AAAAAA", 403),
        # A bad token is refused whoever shows it.
        (ALICE, "GETFILESTATUS&delegation=AAAAAA", 403),
        (ALICE, "GETFILESTATUS&doas=bob", 403),
    ],
)
def test_who_does_not_prove_himself_is_refused(who: Proven | None, query: str, status: int) -> None:
    assert Gateway().ask(who, "GET", query)[0] == status


def test_a_token_is_of_its_owner_alone() -> None:
    gateway = Gateway()
    text = gateway.token(ALICE)
    status, said = gateway.ask(None, "GET", f"GETFILESTATUS&doas=bob&delegation={text}")
    assert (status, said["RemoteException"]["exception"]) == (403, "AuthorizationException")


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", "GETDELEGATIONTOKEN&renewer=mallory"),
        ("GET", "GETDELEGATIONTOKEN&renewer=mallory&OP=OPEN"),
        ("PUT", "RENEWDELEGATIONTOKEN&token={token}&OP=MKDIRS"),
        ("PUT", "CANCELDELEGATIONTOKEN&token={token}&OP=MKDIRS"),
    ],
)
def test_a_token_is_no_proof_for_what_is_about_tokens(method: str, query: str) -> None:
    gateway = Gateway()
    text = gateway.token(ALICE)
    asked = query.format(token=text) + f"&delegation={text}"
    assert gateway.ask(None, method, asked)[0] == 401
    # With a ticket beside it, that counts.
    assert gateway.ask(OOZIE, "GET", f"GETDELEGATIONTOKEN&delegation={text}")[0] == 200
    assert identifier(gateway.token(OOZIE, f"&delegation={text}")).owner == "oozie"


def test_who_has_too_many_tokens_is_told_so() -> None:
    gateway = Gateway(most_of_one=1)
    gateway.token(ALICE)
    status, said = gateway.ask(ALICE, "GET", "GETDELEGATIONTOKEN")
    assert (status, said["RemoteException"]["exception"]) == (403, "AccessControlException")
    assert "alice has 1 delegation tokens" in said["RemoteException"]["message"]
    full = Gateway(most=0)
    status, said = full.ask(ALICE, "GET", "GETDELEGATIONTOKEN")
    assert (status, said["RemoteException"]["exception"]) == (500, "IOException")


@pytest.mark.parametrize(
    ("method", "query", "header"),
    [("PUT", "CREATE", True), ("GET", "OPEN&noredirect=true", True), ("PUT", "CREATE", False)],
)
def test_a_token_is_in_an_address_where_it_came_by_one(
    method: str, query: str, header: bool
) -> None:
    """Not where it came by a header, which the client sends again."""
    gateway = Gateway()
    text = gateway.token(ALICE)
    headers = {"host": "gw:14000"}
    if header:
        headers["X-Hadoop-Delegation-Token"] = text
    else:
        query += f"&delegation={text}"
    response = gateway.answer(None, method, f"{query}&user.name=x", headers)
    said = response.headers.get("Location") or json.loads(response.body)["Location"]
    assert said.startswith("http://gw:14000/webhdfs/v1/?op=")
    assert "user.name=x" in said
    assert (f"delegation={text}" in said) is not header
    assert (text in said) is not header


@pytest.mark.parametrize("operation", ["RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"])
def test_what_is_no_token_is_told_so(operation: str) -> None:
    status, said = Gateway().ask(ALICE, "PUT", f"{operation}&token=nonsense")
    assert (status, said["RemoteException"]["exception"]) == (400, "IllegalArgumentException")
    status, said = Gateway().ask(ALICE, "PUT", operation)
    assert (status, said["RemoteException"]["exception"]) == (400, "IllegalArgumentException")
