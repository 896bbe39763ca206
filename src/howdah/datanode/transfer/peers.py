"""Connections to the data ports of other datanodes, where each asks who may have what (shell)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from howdah.datanode.settings import DataSettings
from howdah.datanode.state.block_tokens import Mode
from howdah.protocol.data_transfer.blocks import (
    NO_TOKEN,
    BlockToken,
    DatanodeAddress,
    ExtendedBlock,
    StorageType,
)
from howdah.runtime.sockets import Connection, Dialing, PeerClosed, connect

log = logging.getLogger(__name__)


def connect_to(
    node: DatanodeAddress,
    settings: DataSettings,
    silence_s: float,
    pool_id: str,
    token: BlockToken,
    *,
    write_timeout_s: float | None = None,
    dialing: Callable[[Connection | Dialing], None] = lambda _: None,
) -> Connection:
    """Connect to a datanode, which may be silent for so long, to ask it for a block of a pool by a
    token. `dialing` gets what is waited for, which may be shut down meanwhile.

    Raises Unreachable, and what the handshake does.
    """
    address = node.connect_to(use_hostname=settings.use_hostname)

    def connected() -> Connection:
        return connect(
            address,
            connect_timeout_s=silence_s,
            read_timeout_s=silence_s,
            write_timeout_s=settings.write_timeout_s
            if write_timeout_s is None
            else write_timeout_s,
            dialing=dialing,
        )

    connection, guard = connected(), settings.guard
    if guard is None:
        return connection
    dialing(connection)
    try:
        return guard.initiate(connection, address[1], pool_id, token)
    except PeerClosed as error:
        if not guard.takes_simple:
            raise
        # It may have block tokens and know no handshakes, as without Kerberos.
        log.info("%s takes no handshake, and is asked without one: %s", node, error)
        return connected()


def own_token(
    settings: DataSettings,
    block: ExtendedBlock,
    mode: Mode,
    storage_types: Sequence[StorageType] = (),
    storage_ids: Sequence[str] = (),
) -> BlockToken:
    """What this datanode asks another one by, where that is wanted. Raises InvalidToken."""
    if settings.guard is None:
        return NO_TOKEN
    return settings.guard.own_token(block, mode, storage_types, storage_ids)
