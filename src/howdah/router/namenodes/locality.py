"""Where the servers of nameservices are, for mount points of the order LOCAL (shell).

Namenodes are where the configuration says, by address or by a name that is looked up, on a
thread. Datanodes are asked for from the active namenodes, and only while a mount point goes by
it: a report of many of them is long. What cannot be asked or looked up now counts as where it
was; that is logged once.

Hadoop: LocalResolver.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping

from howdah import errors
from howdah.config.value_types import Address
from howdah.proto import client_namenode_pb2 as pb
from howdah.router.namenodes.connections import CLIENT_PROTOCOL
from howdah.router.namenodes.nameservices import Nameservices
from howdah.router.state.table.hosts import Hosts
from howdah.runtime.local_addresses import is_this_host

log = logging.getLogger(__name__)

Lookup = Callable[[str], frozenset[str]]


def addresses_of(host: str) -> frozenset[str]:
    """Return the IP addresses of a host. Raises OSError."""
    try:
        infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError(f"{host!r} is no name of a host") from error
    return frozenset(str(address[0]) for *_, address in infos)


class Locality:
    """Asks where servers are, and keeps what was heard last."""

    def __init__(
        self,
        addresses: Mapping[str, Mapping[str, Address]],
        nameservices: Nameservices,
        *,
        lookup: Lookup = addresses_of,
        is_here: Callable[[str], bool] = is_this_host,
    ) -> None:
        self._hosts = Hosts()
        self._nameservices = nameservices
        self._namenode_hosts = {
            name: {host for host, _ in namenodes.values()} for name, namenodes in addresses.items()
        }
        self._lookup = lookup
        self._is_here = is_here
        self._addresses: dict[str, frozenset[str]] = {}
        self._datanodes: dict[str, frozenset[str]] = {}
        self._here: dict[str, bool] = {}
        self._troubles: dict[str, str] = {}
        self._refresh: asyncio.Task[None] | None = None

    def near(self, address: str) -> tuple[frozenset[str], ...]:
        """Nameservices near a caller, the nearest group first."""
        return self._hosts.near(address)

    async def refresh(self, timeout_s: float | None = None) -> None:
        """Look up and ask; several who want it do it once. With a limit the caller goes on
        after it, and what is found later still counts."""
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self._look_and_ask())
        await asyncio.wait({self._refresh}, timeout=timeout_s)
        if self._refresh.done():
            self._refresh.result()

    async def _look_and_ask(self) -> None:
        hosts = set().union(*self._namenode_hosts.values())
        names = [name for name in self._nameservices.enabled if name in self._namenode_hosts]
        await asyncio.gather(
            *(self._look_up(host) for host in hosts),
            *(self._query_datanodes(name) for name in names),
        )
        await asyncio.to_thread(self._tell_own)
        self._hosts = Hosts.of(
            {
                name: frozenset[str]().union(*(self._addresses.get(host, ()) for host in own_hosts))
                for name, own_hosts in self._namenode_hosts.items()
            },
            self._datanodes,
            frozenset(address for address, is_own in self._here.items() if is_own),
        )

    async def _look_up(self, host: str) -> None:
        try:
            self._addresses[host] = await asyncio.to_thread(self._lookup, host)
        except OSError as error:
            self._note(host, f"the address of namenode host {host} cannot be looked up: {error}")
        else:
            self._note(host, "")

    async def _query_datanodes(self, nameservice: str) -> None:
        """Query a namenode for the addresses of its datanodes, dead ones too."""
        key = f"datanodes of {nameservice}"
        namenode = self._nameservices.members[nameservice].active
        if namenode is None:
            return  # heartbeats say so
        try:
            answer = await self._nameservices.own_call(
                namenode,
                CLIENT_PROTOCOL,
                "getDatanodeReport",
                pb.GetDatanodeReportRequestProto(type=pb.ALL),
                pb.GetDatanodeReportResponseProto,
            )
        except errors.HowdahError as error:
            self._note(key, f"the datanodes of nameservice {nameservice} cannot be asked: {error}")
        else:
            self._datanodes[nameservice] = frozenset(datanode.id.ipAddr for datanode in answer.di)
            self._note(key, "")

    def _tell_own(self) -> None:
        """Which of all addresses are this machine's; asked once of each."""
        known = frozenset[str]().union(*self._addresses.values(), *self._datanodes.values())
        self._here = {
            address: self._here[address] if address in self._here else self._is_here(address)
            for address in known
        }

    def _note(self, key: str, trouble: str) -> None:
        if trouble and trouble != self._troubles.get(key):
            log.warning("%s; the order LOCAL goes by what was known before", trouble)
        self._troubles[key] = trouble
