"""Delegation tokens (pure): the part of ClientProtocol by which they are got, renewed, cancelled.

A namenode that issues none says so by an answer without a token, as Hadoop's does, and refuses the
other two calls by name.
"""

from __future__ import annotations

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.namenode.service.calls.tokens import TokenCalls
from howdah.proto import rpc_pb2
from howdah.protocol.rpc.call import Caller


class TokenMethods:
    """Calls about delegation tokens."""

    def __init__(self, tokens: TokenCalls | None) -> None:
        self._tokens = tokens

    def get_delegation_token(
        self, request: rpc_pb2.GetDelegationTokenRequestProto, caller: Caller
    ) -> rpc_pb2.GetDelegationTokenResponseProto:
        if self._tokens is None or not self._tokens.are_for(caller):
            return rpc_pb2.GetDelegationTokenResponseProto()
        token = self._tokens.issue(caller, request.renewer)
        return rpc_pb2.GetDelegationTokenResponseProto(token=token.to_proto())

    def renew_delegation_token(
        self, request: rpc_pb2.RenewDelegationTokenRequestProto, caller: Caller
    ) -> rpc_pb2.RenewDelegationTokenResponseProto:
        until_ms = self._issuer("renewDelegationToken").renew(
            caller, Token.from_proto(request.token)
        )
        return rpc_pb2.RenewDelegationTokenResponseProto(newExpiryTime=until_ms)

    def cancel_delegation_token(
        self, request: rpc_pb2.CancelDelegationTokenRequestProto, caller: Caller
    ) -> rpc_pb2.CancelDelegationTokenResponseProto:
        self._issuer("cancelDelegationToken").cancel(caller, Token.from_proto(request.token))
        return rpc_pb2.CancelDelegationTokenResponseProto()

    def _issuer(self, method: str) -> TokenCalls:
        if self._tokens is None:
            raise errors.UnsupportedOperation(
                f"{method} is not supported by this server: it issues no delegation tokens"
            )
        return self._tokens
