"""How a client gets to the datanode whose replicas it reads from their files.

`UnixSockets` is for everybody on the machine, `OwnDatanode` for the datanode's own control
process, which needs no socket with a name: its data process was forked from it.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Protocol

from howdah import errors
from howdah.protocol.data_transfer.blocks import DatanodeAddress
from howdah.runtime.sockets import Connection, connect_local, is_local_address


class LocalAccess(Protocol):
    """Leads to datanodes of this machine. Thread-safe."""

    def socket_path(self, node: DatanodeAddress) -> str | None:
        """Where `node` is asked for files; None where this way does not lead."""

    def connect(self, place: str, timeout_s: float) -> Connection:
        """A connection that takes descriptors. Raises `Unreachable`."""

    def has_read(self, length_bytes: int) -> None:
        """A reader lets go of a replica, of whose file it has read so much."""


class UnixSockets:
    """By `dfs.domain.socket.path`, to each datanode of this machine."""

    def __init__(self, path: str) -> None:
        """`_PORT` in `path` stands for the datanode's data port."""
        self._path = path
        self._local_hosts: dict[str, bool] = {}

    def socket_path(self, node: DatanodeAddress) -> str | None:
        here = self._local_hosts.get(node.ip)
        if here is None:
            here = self._local_hosts[node.ip] = is_local_address(node.ip)
        return self._path.replace("_PORT", str(node.transfer_port)) if here else None

    def connect(self, place: str, timeout_s: float) -> Connection:
        return connect_local(place, timeout_s=timeout_s, takes_descriptors=True)

    def has_read(self, length_bytes: int) -> None:
        """Datanodes count what they read themselves."""


class OwnDatanode:
    """To the datanode of which this process is a part, and to no other."""

    def __init__(
        self,
        uuid: str,
        dial: Callable[[], socket.socket],
        has_read: Callable[[int], None] = lambda length_bytes: None,
    ) -> None:
        """`dial` makes one end of a new connection, whose other end the data process serves."""
        self.uuid = uuid
        self._dial = dial
        self._has_read = has_read

    def socket_path(self, node: DatanodeAddress) -> str | None:
        return self.uuid if node.uuid == self.uuid else None

    def connect(self, place: str, timeout_s: float) -> Connection:
        try:
            sock = self._dial()
        except OSError as error:
            raise errors.Unreachable(
                f"the data process of datanode {place} cannot be asked for files: {error}"
            ).numbered_as(error) from error
        return Connection(
            sock, read_timeout_s=timeout_s, write_timeout_s=timeout_s, takes_descriptors=True
        )

    def has_read(self, length_bytes: int) -> None:
        self._has_read(length_bytes)
