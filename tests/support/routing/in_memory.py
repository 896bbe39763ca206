"""A router before namenodes in memory: no process, no socket, no clock.

What a router sends to a nameservice goes straight to an `InMemoryNamenode`, unless the nameservice
is down. Each such call is noted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc.call import Call, Caller
from howdah.protocol.rpc.service import Deferred, Registry
from howdah.router.calls.core import Core
from howdah.router.calls.forwarding import Forwarding
from howdah.router.namenodes.connections import CLIENT_PROTOCOL, Connections
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.state.namenodes.identity import Identity
from howdah.router.state.table.mount_table import MountEntry, MountTable
from howdah.testing.in_memory import SUPERUSER, InMemoryNamenode

M = TypeVar("M", bound=Message)


class InMemoryNameservices(Nameservices):
    """Nameservices of one namenode each. Those in `down` cannot be reached."""

    def __init__(self, behind: Mapping[str, InMemoryNamenode | None]) -> None:
        self.behind = {name: each for name, each in behind.items() if each is not None}
        self.down: set[str] = set()
        self.asked: list[tuple[str, str]] = []
        """Who was called by what, those in `down` included."""
        addresses = {name: {"": (name, 8020)} for name in behind}
        connections = Connections(
            connect_timeout_s=1, call_timeout_s=1, idle_limit_s=1, most_bytes=1
        )
        super().__init__(
            addresses,
            connections,
            user=SUPERUSER,
            heartbeat_interval_s=1,
            heartbeat_timeout_s=1,
        )
        for name, members in self.members.items():
            members.namenodes[0].block_pool = f"BP-{name}"

    async def call(
        self,
        nameservice: str,
        method: str,
        request: Message,
        kind: type[M],
        identity: Identity,
        *,
        timeout_s: float | None = None,
        seen: int | None = None,
    ) -> M:
        self._members(nameservice)
        self.asked.append((nameservice, method))
        if nameservice in self.down:
            raise errors.NoNamenodes(f"No namenodes available under nameservice {nameservice}")
        answer = self.behind[nameservice].call(
            method,
            request,
            user=identity.user,
            client_id=identity.client_id,
            call_id=identity.call_id,
        )
        if isinstance(answer, Deferred):
            raise errors.CallTimeout(f"{method} waits for something that does not happen here")
        return kind.FromString(answer.SerializeToString())

    def send(self, *args: Any, **named: Any) -> bool:
        """No connection is there: each call goes the long way."""
        return False

    async def heartbeat(self) -> None:
        """Nothing is heard that is not known."""


class InMemoryRouter:
    """A mount table, and calls of clients."""

    def __init__(
        self,
        entries: Sequence[MountEntry],
        names: Sequence[str],
        default: str = "",
        *,
        nameservices: InMemoryNameservices | None = None,
    ) -> None:
        self.nameservices = nameservices or InMemoryNameservices(
            {name: InMemoryNamenode() for name in names}
        )
        self.core = Core(
            self.nameservices,
            "router",
            SUPERUSER,
            "supergroup",
            MountTable(entries, default),
            quotas_enabled=True,
            default_nameservice=default,
        )
        self.forwarding = Forwarding(self.core)
        self._registry = Registry([self.forwarding.service], lambda *call: None)
        self._numbers = iter(range(1, 1 << 30))

    def call(
        self,
        method: str,
        request: Message,
        *,
        user: str = SUPERUSER,
        client_id: bytes = b"c" * 16,
        call_id: int | None = None,
    ) -> Any:
        """The answer. Raises what the client would be told."""
        number = next(self._numbers) if call_id is None else call_id
        caller = Caller(user, client_id, number, 0, "10.9.9.9")
        call = Call(caller, CLIENT_PROTOCOL, 1, method, request.SerializeToString())

        async def made() -> Any:
            answer = self._registry.dispatch(call)
            if not isinstance(answer, Deferred):
                return answer
            done = asyncio.get_running_loop().create_future()
            answer.when_settled(done.set_result)
            return await done

        outcome = asyncio.run(made())
        if isinstance(outcome, errors.HowdahError):
            raise outcome
        return outcome

    def at(self, nameservice: str, method: str, request: Message) -> Any:
        """A call straight to a namenode."""
        return self.nameservices.behind[nameservice].call(method, request)
