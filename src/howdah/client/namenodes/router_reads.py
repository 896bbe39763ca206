"""Reads through routers that send them to observers.

Hadoop: RouterObserverReadProxyProvider, for one address that routers share, and
RouterObserverReadConfiguredFailoverProxyProvider, for routers that are listed as namenodes.

Any router serves any call. Which namenode answers a read is the router's affair; the client says
with each call what it has seen of every nameservice (`howdah.rpc.identity.SeenState`), so that
it sees what it has done itself, and asks for what others have done as a client of observers does.
"""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

from howdah.client.namenodes.calls import NamenodeCalls
from howdah.client.namenodes.msync import MsyncTracker
from howdah.config.value_types import Address
from howdah.protocol.client_methods import OBSERVER_METHODS
from howdah.rpc.client import AnswerType

M = TypeVar("M")


class RouterReads:
    """The `NamenodeCalls` of routers; its connections carry what the client has seen."""

    def __init__(self, routers: NamenodeCalls, syncing: MsyncTracker) -> None:
        self._routers = routers
        self._syncing = syncing

    @property
    def user(self) -> str:
        return self._routers.user

    @property
    def address(self) -> Address:
        return self._routers.address

    def call(self, method: str, request: Message, response_type: AnswerType[M]) -> M:
        """Raises what a router answers; `NoActiveNamenode`."""
        if method in OBSERVER_METHODS:
            self._syncing.before_a_read()
        return self._routers.call(method, request, response_type)

    def close(self) -> None:
        self._routers.close()
