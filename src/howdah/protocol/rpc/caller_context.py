"""What a proxy tells of its client in the caller context (pure).

A router calls as its client's user, from its own address and with a context that says where the
client is. Hadoop's says there too under which ids the client has called. A server believes that
of users whom an administrator has named, and of no others.

Hadoop: NameNode.getClientMachine and getClientIdAndCallId, with `dfs.namenode.ip-proxy-users`.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.call_ids import is_identity

_IP: Final = "clientIp:"
_ID: Final = "clientId:"
_CALL: Final = "clientCallId:"


@dataclass(frozen=True, slots=True)
class Origin:
    """The client for which a proxy calls; None for what the context does not say."""

    machine: str | None = None
    """Its IP address."""
    client_id: bytes | None = None
    call_id: int | None = None


def origin_in(context: str) -> Origin:
    """Invalid addresses and ids are ignored."""
    return _origin_in.of(len(context))(context)


@cache_short(4096)
def _origin_in(context: str) -> Origin:
    return Origin(_address(_value(context, _IP)), *_ids(context))


def _value(context: str, name: str) -> str:
    """Of the first part that begins with the name. Hadoop's namenodes take the name wherever it
    stands, so also in what a client calls itself."""
    parts = context.split(",")
    return next((part.removeprefix(name) for part in parts if part.startswith(name)), "")


def _address(text: str) -> str | None:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def _ids(context: str) -> tuple[bytes | None, int | None]:
    """Both, or neither: an id of a call is one of its client's."""
    try:
        client_id = bytes.fromhex(_value(context, _ID))
        call_id = int(_value(context, _CALL))
    except ValueError:
        return None, None
    return (client_id, call_id) if is_identity(client_id, call_id) else (None, None)
