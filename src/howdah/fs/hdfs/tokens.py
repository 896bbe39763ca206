"""Delegation tokens as a client keeps them: with the service that they are good at."""

from __future__ import annotations

import socket

from howdah.client.namenodes.target import target_of
from howdah.config import Configuration
from howdah.formats.tokens.token import LOGICAL_SERVICE, Token
from howdah.proto import rpc_pb2


def with_service(proto: rpc_pb2.TokenProto, authority: str, conf: Configuration) -> Token:
    """The token of a namenode, which does not say by which name its clients call it: by that of
    a nameservice, or by address and port, as Hadoop's clients look for it."""
    token = Token.from_proto(proto)
    target = target_of(authority, conf)
    if target.nameservice is not None:
        return token.at(f"{LOGICAL_SERVICE}{target.nameservice}")
    ((host, port),) = target.namenodes.values()
    try:
        host = str(socket.getaddrinfo(host, port, socket.AF_INET)[0][4][0])
    except OSError:
        pass  # What has no address now was called by its name.
    return token.at(f"{host}:{port}")
