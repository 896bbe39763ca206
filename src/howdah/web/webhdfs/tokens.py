"""Operations about delegation tokens, as calls of ClientProtocol, and the token that goes with a
client to a datanode (pure). NamenodeWebHdfsMethods in Hadoop.

A namenode that issues none says so by an answer without a token, as over RPC: Java's client asks
before it goes on without one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any, Final

from howdah import errors
from howdah.formats.tokens.token import SWEBHDFS_DELEGATION, WEBHDFS_DELEGATION, Token
from howdah.proto import rpc_pb2
from howdah.web.webhdfs.call_chain import EMPTY, Rpc, Step, Steps, json_response
from howdah.web.webhdfs.parameters import InvalidParameter, ParsedRequest


def issued_token(asked: ParsedRequest, renewer: str) -> Generator[Step, Any, Token | None]:
    """Have a token made for the caller, which is good over HTTP; None where none are made."""
    answer = yield Rpc(
        "getDelegationToken", rpc_pb2.GetDelegationTokenRequestProto(renewer=renewer)
    )
    if not answer.HasField("token"):
        return None
    kind = SWEBHDFS_DELEGATION if asked.is_secure else WEBHDFS_DELEGATION
    return replace(Token.from_proto(answer.token), kind=kind)


def _get(asked: ParsedRequest, user: str) -> Steps:
    if asked.delegation is not None:
        raise errors.IllegalArgument("delegation parameter is not null.")
    token = yield from issued_token(asked, asked.given.get("renewer") or user)
    if token is None:
        return json_response({"Token": None})
    kind, service = asked.given.get("kind"), asked.given.get("service")
    token = replace(token, kind=kind or token.kind, service=service or token.service)
    return json_response({"Token": {"urlString": token.url_string}})


def _renew(asked: ParsedRequest, user: str) -> Steps:
    answer = yield Rpc(
        "renewDelegationToken",
        rpc_pb2.RenewDelegationTokenRequestProto(token=token_of(asked).to_proto()),
    )
    return json_response({"long": answer.newExpiryTime})


def _cancel(asked: ParsedRequest, user: str) -> Steps:
    yield Rpc(
        "cancelDelegationToken",
        rpc_pb2.CancelDelegationTokenRequestProto(token=token_of(asked).to_proto()),
    )
    return EMPTY


def token_of(asked: ParsedRequest) -> Token:
    """The token that a request is about. Raises InvalidParameter."""
    try:
        return Token.from_url_string(asked.text("token") or "")
    except errors.IllegalArgument as error:
        raise InvalidParameter("token", error.message) from None


OF_TOKENS: Final[Mapping[str, Callable[[ParsedRequest, str], Steps]]] = {
    "CANCELDELEGATIONTOKEN": _cancel,
    "GETDELEGATIONTOKEN": _get,
    "RENEWDELEGATIONTOKEN": _renew,
}
