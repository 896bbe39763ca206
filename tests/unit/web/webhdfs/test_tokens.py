"""Operations about delegation tokens: what is asked of the namenode, and what is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.formats.tokens.token import Token
from howdah.proto import client_namenode_pb2 as pb
from howdah.proto import rpc_pb2, types_pb2
from howdah.web.http import Response, request_of
from howdah.web.webhdfs.call_chain import Rpc, Step, Steps, Target, driven
from howdah.web.webhdfs.parameters import InvalidParameter, MissingParameter, parse_request
from howdah.web.webhdfs.redirects import redirect
from howdah.web.webhdfs.tokens import OF_TOKENS, issued_token
from howdah.web.webhdfs_names import patterns_of

TOKEN = Token(b"identifier", b"password", "HDFS_DELEGATION_TOKEN", "nn:8020")
PATTERNS = patterns_of(Configuration())


class Namenode:
    """Answers by hand; `issues` says whether it has tokens."""

    def __init__(self, *, issues: bool = True) -> None:
        self.issues = issues
        self.asked: list[Rpc] = []

    def __call__(self, step: Step) -> Any:
        if isinstance(step, Target):
            return types_pb2.DatanodeIDProto(hostName="dn", infoPort=9864, infoSecurePort=9865)
        assert isinstance(step, Rpc)
        self.asked.append(step)
        if step.method == "getDelegationToken":
            if not self.issues:
                return rpc_pb2.GetDelegationTokenResponseProto()
            return rpc_pb2.GetDelegationTokenResponseProto(token=TOKEN.to_proto())
        if step.method == "renewDelegationToken":
            return rpc_pb2.RenewDelegationTokenResponseProto(newExpiryTime=99)
        if step.method == "getServerDefaults":
            defaults = types_pb2.FsServerDefaultsProto(
                blockSize=1, bytesPerChecksum=1, writePacketSize=1, replication=1, fileBufferSize=1
            )
            return pb.GetServerDefaultsResponseProto(serverDefaults=defaults)
        return rpc_pb2.CancelDelegationTokenResponseProto()


def answered(steps: Steps, namenode: Namenode) -> Response:
    response = driven(steps, namenode)
    assert response is not None
    return response


def asked(method: str, query: str, *, is_secure: bool = False) -> Any:
    request = request_of(method.encode(), f"/webhdfs/v1/a?{query}".encode(), [])
    assert request is not None
    wanted = parse_request(request, PATTERNS, takes_tokens=True)
    if is_secure:
        from dataclasses import replace

        wanted = replace(wanted, is_secure=True)
    return wanted


@pytest.mark.parametrize(
    ("query", "is_secure", "renewer", "kind", "service"),
    [
        ("", False, "alice", "WEBHDFS delegation", "nn:8020"),
        ("&renewer=yarn", True, "yarn", "SWEBHDFS delegation", "nn:8020"),
        ("&kind=K&service=S", False, "alice", "K", "S"),
    ],
)
def test_a_token_is_issued_for_http(
    query: str, is_secure: bool, renewer: str, kind: str, service: str
) -> None:
    namenode = Namenode()
    wanted = asked("GET", f"op=GETDELEGATIONTOKEN{query}", is_secure=is_secure)
    response = answered(OF_TOKENS[wanted.operation](wanted, "alice"), namenode)
    token = Token.from_url_string(json.loads(response.body)["Token"]["urlString"])
    assert token == Token(TOKEN.identifier, TOKEN.password, kind, service)
    (call,) = namenode.asked
    assert call.request == rpc_pb2.GetDelegationTokenRequestProto(renewer=renewer)


def test_where_none_are_issued_none_is_answered() -> None:
    wanted = asked("GET", "op=GETDELEGATIONTOKEN")
    steps = OF_TOKENS[wanted.operation](wanted, "alice")
    assert json.loads(answered(steps, Namenode(issues=False)).body) == {"Token": None}


def test_a_token_gets_no_other_one() -> None:
    wanted = asked("GET", f"op=GETDELEGATIONTOKEN&delegation={TOKEN.url_string}")
    with pytest.raises(errors.IllegalArgument, match="delegation parameter is not null"):
        answered(OF_TOKENS[wanted.operation](wanted, "alice"), Namenode())


def test_a_token_is_renewed_and_cancelled() -> None:
    namenode, text = Namenode(), TOKEN.url_string
    renewed = asked("PUT", f"op=RENEWDELEGATIONTOKEN&token={text}")
    response = answered(OF_TOKENS[renewed.operation](renewed, "alice"), namenode)
    assert json.loads(response.body) == {"long": 99}
    cancelled = asked("PUT", f"op=CANCELDELEGATIONTOKEN&token={text}")
    response = answered(OF_TOKENS[cancelled.operation](cancelled, "alice"), namenode)
    assert (response.status, response.body) == (200, b"")
    calls: list[Any] = [call.request for call in namenode.asked]
    assert [call.token for call in calls] == [TOKEN.to_proto(), TOKEN.to_proto()]


@pytest.mark.parametrize("operation", ["RENEWDELEGATIONTOKEN", "CANCELDELEGATIONTOKEN"])
def test_what_is_no_token_is_refused_and_not_repeated(operation: str) -> None:
    with pytest.raises(MissingParameter, match="token"):
        asked("PUT", f"op={operation}")
    wanted = asked("PUT", f"op={operation}&token=planted-secret")
    with pytest.raises(InvalidParameter) as caught:
        answered(OF_TOKENS[operation](wanted, "alice"), Namenode())
    assert "planted" not in str(caught.value)
    assert "planted" not in repr(wanted)


def test_a_redirect_leads_on_with_a_token_and_no_name() -> None:
    namenode = Namenode()
    wanted = asked("PUT", "op=CREATE&user.name=alice&doas=bob")
    response = answered(redirect(wanted, "bob", "nn:8020", make_token=issued_token), namenode)
    location = response.headers["Location"]
    made = Token(TOKEN.identifier, TOKEN.password, "WEBHDFS delegation", "nn:8020")
    assert f"delegation={made.url_string}&namenoderpcaddress=nn:8020" in location
    assert "user.name" not in location
    assert "doas" not in location
    issued = [call.request for call in namenode.asked if call.method == "getDelegationToken"]
    assert issued == [rpc_pb2.GetDelegationTokenRequestProto(renewer="bob")]


def test_a_redirect_passes_on_the_token_that_came_along() -> None:
    namenode = Namenode()
    wanted = asked("PUT", f"op=CREATE&delegation={TOKEN.url_string}")
    response = answered(redirect(wanted, "alice", "nn:8020", make_token=issued_token), namenode)
    assert f"delegation={TOKEN.url_string}" in response.headers["Location"]
    assert "getDelegationToken" not in [call.method for call in namenode.asked]


def test_a_redirect_without_a_token_that_is_needed_is_tried_again() -> None:
    wanted = asked("PUT", "op=CREATE")
    with pytest.raises(errors.RetriableError):
        answered(redirect(wanted, "a", "nn:8020", make_token=issued_token), Namenode(issues=False))


def test_who_takes_no_tokens_says_so() -> None:
    request = request_of(b"GET", b"/webhdfs/v1/?op=LISTSTATUS&delegation=x", [])
    assert request is not None
    with pytest.raises(errors.UnsupportedOperation, match="delegation is not supported"):
        parse_request(request, PATTERNS)
