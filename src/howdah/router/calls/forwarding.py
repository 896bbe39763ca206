"""ClientProtocol as a router answers it: every method has a home, or is refused (shell).

A call that goes to one destination takes the short way (`howdah.router.calls.fast_path`). Any other
is a task on the loop, and its answer is deferred. Their number, and the bytes of their
requests, are bounded: above that callers are told to try again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

from google.protobuf.message import Message

from howdah import errors
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.service import Answer, Deferred, Service, snake_case
from howdah.router.calls import fast_path
from howdah.router.calls.caching import CachingCalls
from howdah.router.calls.cluster import ClusterCalls, cluster_methods
from howdah.router.calls.core import Core
from howdah.router.calls.files import FileCalls
from howdah.router.calls.listing import ListingCalls
from howdah.router.calls.paths import Work, path_methods
from howdah.router.calls.snapshots import SnapshotCalls
from howdah.router.calls.tokens import TokenCalls
from howdah.router.calls.tree import TreeCalls
from howdah.router.namenodes.connections import CLIENT_PROTOCOL
from howdah.router.state.deferred import settle
from howdah.router.state.methods import DESCRIPTOR, REFUSED
from howdah.router.tokens import RouterTokens

log = logging.getLogger(__name__)

MOST_CALLS: Final = 20_000
MOST_BYTES: Final = 256 << 20


class Forwarding:
    """The calls that are under way, and the service that begins them."""

    def __init__(self, core: Core, tokens: RouterTokens | None = None) -> None:
        """Without `tokens` no delegation tokens are issued."""
        self._core = core
        self._tasks: dict[asyncio.Task[None], int] = {}
        self._quick = fast_path.Quick(core)
        self._held_bytes = 0
        self.listing = ListingCalls(core)
        families = (
            FileCalls(core),
            TreeCalls(core),
            self.listing,
            ClusterCalls(core),
            CachingCalls(core),
            SnapshotCalls(core),
            TokenCalls(tokens),
        )
        plain = {**path_methods(core), **cluster_methods(core)}
        handlers: dict[str, Callable[[Any, Caller], Answer]] = {}
        for method in DESCRIPTOR.methods:
            name = snake_case(method.name)
            homes: list[Work] = [getattr(one, name) for one in families if hasattr(one, name)]
            homes += [plain[method.name]] if method.name in plain else []
            assert len(homes) < 2, f"{method.name} has {len(homes)} homes"
            if homes:
                handlers[name] = self._beginning(method.name, homes[0])
        self.service = Service(
            CLIENT_PROTOCOL, 1, DESCRIPTOR, SimpleNamespace(**handlers), refused=REFUSED
        )

    @property
    def held_bytes(self) -> int:
        """Of the requests of calls under way."""
        return self._held_bytes + self._quick.held_bytes

    @property
    def under_way(self) -> int:
        return len(self._tasks) + self._quick.under_way

    def _beginning(self, method: str, work: Work) -> Callable[[Any, Caller], Answer]:
        is_quick = method in fast_path.FIELDS

        def begin(request: Message, caller: Caller) -> Answer:
            self._core.check_writes(method)
            caller = self._core.nameservices.identified(caller)
            size = request.ByteSize()
            if self.under_way >= MOST_CALLS or self.held_bytes + size > MOST_BYTES:
                raise errors.RetriableError(
                    f"Router {self._core.name} has {self.under_way} calls with "
                    f"{self.held_bytes} bytes under way, and takes no more: try again"
                )
            answer = Deferred()

            def long_way() -> None:
                task = asyncio.create_task(settle(method, work(request, caller), answer))
                self._tasks[task] = size
                self._held_bytes += size
                task.add_done_callback(self._done)

            if not is_quick or not self._quick.begin(
                method, request, caller, answer, size, long_way
            ):
                long_way()
            return answer

        return begin

    def _done(self, task: asyncio.Task[None]) -> None:
        self._held_bytes -= self._tasks.pop(task)
