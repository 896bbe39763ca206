"""Under which client and call id a call is passed on (pure).

A namenode's retry cache knows a call by its client id and call id. The router passes on those
of its client, so that a call which the client sends once more, by this router or another one,
is not executed twice. One call of a client may become several at one namenode. So those at the
second and later destinations of a mount point get a client id of their own, which is the same
whenever the client repeats the call. A call without an identity gets one of the router's, which
no other call has.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from howdah.protocol.bounded_cache import cache_short
from howdah.protocol.rpc.call import Caller
from howdah.runtime.users.names import ProxyUser

MOST_CONTEXT_CHARACTERS: Final = 128
"""hadoop.caller.context.max.size: what namenodes keep."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who calls, under which ids, and what the client says of itself."""

    user: str
    """A `ProxyUser` where somebody acts for him."""
    client_id: bytes
    call_id: int
    retry_count: int = -1
    context: tuple[str, bytes] | None = None


def user_of(caller: Caller) -> str:
    """Whose calls the router passes on. Without Kerberos, who acts for him does so at the namenode,
    too, which is to allow it from the router's machine; with Kerberos the router acts for him. Both
    as with a router of Hadoop's."""
    if caller.real_user is None:
        return caller.user
    return ProxyUser(caller.user, caller.real_user)


def identity_of(caller: Caller, part: str = "") -> Identity:
    """That of a client's call, or of a part of it which another part must not be taken for."""
    assert caller.is_identified, "a router gives each call an identity that has none"
    client_id = caller.client_id
    if part:
        seed = client_id + part.encode("utf-8", "surrogateescape")
        client_id = hashlib.md5(seed, usedforsecurity=False).digest()
    own, signature = caller.context or ("", b"")
    real_user = caller.full_names[1]
    context_of = _context.of(len(own) + len(signature) + len(real_user))
    context = context_of(own, signature, caller.address, caller.port, real_user)
    return Identity(user_of(caller), client_id, caller.call_id, caller.retry_count, context)


@cache_short(4096)
def _context(
    own: str, signature: bytes, address: str, port: int, real_user: str
) -> tuple[str, bytes]:
    """The client's own context, where the client is, and who acts at the router: namenodes see the
    router's address, and a router that proves itself as who acts. Hadoop: CallerContext with
    clientIp, clientPort and realUser.

    A namenode of Hadoop's takes what follows the first of these names, wherever it stands. So they
    come first, and nothing of the client's that has one of the names anywhere is passed on.
    """
    place = f"clientIp:{address},clientPort:{port}"
    if real_user:
        # Without Kerberos it is any text.
        place = f"{place},realUser:{real_user.translate(_NO_SEPARATORS)}"
    kept = [part for part in own.split(",") if not any(name in part for name in _SAID_BY_ROUTERS)]
    said = ",".join([place, *filter(None, kept)])
    return said[:MOST_CONTEXT_CHARACTERS].rstrip(","), signature


_SAID_BY_ROUTERS: Final = ("clientIp:", "clientPort:", "clientId:", "clientCallId:", "realUser:")
_NO_SEPARATORS: Final = str.maketrans(",:", "__")
