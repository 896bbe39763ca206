"""Delegation tokens: the part of ClientProtocol by which they are got, renewed, cancelled (shell).

They are the router's own, good at all routers that share its state store and at no namenode. A
router without Kerberos issues none.
"""

from __future__ import annotations

from google.protobuf.message import Message

from howdah import errors
from howdah.formats.tokens.token import Token
from howdah.proto import rpc_pb2
from howdah.protocol.rpc.call import Caller
from howdah.router.tokens import RouterTokens


class TokenCalls:
    """Calls about delegation tokens."""

    def __init__(self, tokens: RouterTokens | None) -> None:
        """None where none are issued."""
        self._tokens = tokens

    async def get_delegation_token(
        self, request: rpc_pb2.GetDelegationTokenRequestProto, caller: Caller
    ) -> Message:
        """None, as of a namenode that issues none."""
        if self._tokens is None or not self._tokens.are_for(caller):
            return rpc_pb2.GetDelegationTokenResponseProto()
        try:
            token = await self._tokens.issue(caller, request.renewer)
        except OSError as error:
            raise _store_failed("getDelegationToken", error) from error
        return rpc_pb2.GetDelegationTokenResponseProto(token=token.to_proto())

    async def renew_delegation_token(
        self, request: rpc_pb2.RenewDelegationTokenRequestProto, caller: Caller
    ) -> Message:
        method = "renewDelegationToken"
        try:
            until_ms = await self._issuer(method).renew(caller, Token.from_proto(request.token))
        except OSError as error:
            raise _store_failed(method, error) from error
        return rpc_pb2.RenewDelegationTokenResponseProto(newExpiryTime=until_ms)

    async def cancel_delegation_token(
        self, request: rpc_pb2.CancelDelegationTokenRequestProto, caller: Caller
    ) -> Message:
        method = "cancelDelegationToken"
        try:
            await self._issuer(method).cancel(caller, Token.from_proto(request.token))
        except OSError as error:
            raise _store_failed(method, error) from error
        return rpc_pb2.CancelDelegationTokenResponseProto()

    def _issuer(self, method: str) -> RouterTokens:
        if self._tokens is None:
            raise errors.UnsupportedOperation(
                f"{method} is not supported by this router: it issues no delegation tokens"
            )
        return self._tokens


def _store_failed(method: str, error: OSError) -> errors.HowdahError:
    if isinstance(error, errors.HowdahError):
        return error
    return errors.RetriableError(f"{method}: the state store failed: {error}")
