"""A call, and who makes it (pure).

Both are made once, when a call's frame is read (`ServerSession`), and nobody changes them after
that. When its turn came, and where it stands in a trace, belongs to the server (`answering.Turn`);
what is answered is what the handler returns.

Their fields are `Final` for the type checker, and the classes are not frozen: that would cost a
microsecond a call, a fifteenth of a cheap one. They have an `__init__` of their own since the
compiler takes that, and not the one that `dataclass` makes: objects of which each call has one
are made in a tenth of the time then.

Hadoop: Server.Call, and what Server.getRemoteUser and its neighbours say of the current one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from howdah.protocol.call_ids import NO_CALL_ID, NO_CLIENT_ID, is_identity
from howdah.protocol.rpc.proven import Proven
from howdah.runtime.users.names import display_name


@dataclass(slots=True, init=False)
class Caller:
    """Who calls, from where, and the call's identity for the retry cache.

    What a client sends besides an identity (`howdah.protocol.call_ids`) is replaced by the markers
    for "none", here and nowhere else.
    """

    user: Final[str]
    client_id: Final[bytes]
    call_id: Final[int]
    retry_count: Final[int]
    address: Final[str]
    port: Final[int]
    context: Final[tuple[str, bytes] | None]
    """What the client says of itself (Hadoop's CallerContext): a text and its signature."""
    proto: Final[str]
    """By what the call came, for the audit log: `rpc` or `webhdfs`."""
    federated_state: Final[bytes]
    """What the client has seen of each nameservice behind a router (routerFederatedState)."""
    real_user: Final[str | None]
    """Who acts for `user`, if somebody does."""
    origin_machine: Final[str | None]
    """Where the client of a router is, as that says."""
    proven: Final[Proven | None]
    """Who the connection has proven to be of; None where everybody is believed."""

    def __init__(
        self,
        user: str,
        client_id: bytes,
        call_id: int,
        retry_count: int,
        address: str,
        port: int = 0,
        context: tuple[str, bytes] | None = None,
        proto: str = "rpc",
        federated_state: bytes = b"",
        real_user: str | None = None,
        origin_machine: str | None = None,
        proven: Proven | None = None,
    ) -> None:
        if not is_identity(client_id, call_id):
            client_id, call_id = NO_CLIENT_ID, NO_CALL_ID
        self.user = user
        self.client_id = client_id
        self.call_id = call_id
        self.retry_count = retry_count
        self.address = address
        self.port = port
        self.context = context
        self.proto = proto
        self.federated_state = federated_state
        self.real_user = real_user
        self.origin_machine = origin_machine
        self.proven = proven

    @property
    def is_identified(self) -> bool:
        """Whether a retry cache can know the call."""
        return bool(self.client_id)

    @property
    def machine(self) -> str:
        """The IP address of the client, wherever its call came through."""
        return self.origin_machine or self.address

    @property
    def display_name(self) -> str:
        """As Hadoop shows users."""
        if self.proven is not None:
            return self.proven.display_name(self.user, self.real_user)
        return display_name(self.user, self.real_user)

    @property
    def full_names(self) -> tuple[str, str]:
        """Of the user and of who acts for him, by their principals where these are proven; the
        second is empty where nobody acts."""
        if self.proven is not None:
            return self.proven.acting(self.user, self.real_user)
        return self.user, self.real_user or ""


@dataclass(slots=True, init=False)
class Call:
    """What is asked, and by whom."""

    caller: Final[Caller]
    protocol: Final[str]
    protocol_version: Final[int]
    method: Final[str]
    body: Final[bytes]
    """The serialized request."""
    call_id: Final[int]
    """As it came, for the answer's header, whether or not it identifies the call."""
    client_id: Final[bytes]
    """The same."""
    state_id: Final[int | None]
    """The last transaction that the caller has seen; None from those who do not say."""
    trace: Final[bytes]
    """The context of the caller's span, as it came."""

    def __init__(
        self,
        caller: Caller,
        protocol: str,
        protocol_version: int,
        method: str,
        body: bytes,
        call_id: int = NO_CALL_ID,
        client_id: bytes = NO_CLIENT_ID,
        state_id: int | None = None,
        trace: bytes = b"",
    ) -> None:
        """A call that came without a frame, as one over HTTP, needs no ids for its answer."""
        self.caller = caller
        self.protocol = protocol
        self.protocol_version = protocol_version
        self.method = method
        self.body = body
        self.call_id = call_id
        self.client_id = client_id
        self.state_id = state_id
        self.trace = trace
