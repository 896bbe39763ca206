"""Handshakes on data connections, both sides (shell): what comes of them takes the connection's
place. `howdah.protocol.data_transfer.handshake` has what is said."""

from __future__ import annotations

import logging
from typing import Final

from howdah import errors
from howdah.protocol.data_transfer.handshake import (
    MAGIC,
    ClientHandshake,
    ServerHandshake,
    StreamKeys,
    refusal,
)
from howdah.protocol.sasl.mechanism import Layer
from howdah.protocol.varint import read_delimited
from howdah.runtime import sockets
from howdah.runtime.sockets import Connection
from howdah.security.data_connections import EncryptedConnection, WrappedConnection

log = logging.getLogger(__name__)

_MOST_MESSAGE_BYTES: Final = 64 * 1024
"""Of a handshake: a token has some hundred bytes."""


def initiate(connection: Connection, handshake: ClientHandshake, setting: str) -> Connection:
    """The connection as it is from now on; it is closed where that fails. `setting` is the key
    that the datanode must have, too.

    Raises what the handshake does, and PeerClosed, PeerSilent.
    """
    try:
        request = handshake.begin()
        while not handshake.is_done:
            connection.send_all(request)
            request = handshake.receive(read_delimited(connection))
        return _protected(connection, handshake.keys, handshake.mechanism.layer)
    except sockets.PeerClosed as error:
        connection.close()
        raise sockets.PeerClosed(
            f"{error} in the middle of the SASL handshake: does the datanode have {setting} as "
            "this side does?"
        ) from error
    except BaseException:
        connection.close()
        raise


def accept(connection: Connection, handshake: ServerHandshake, setting: str) -> Connection:
    """The connection of a client as it is from now on. Who is refused is told why. `setting` is the
    key that has handshakes asked for.

    Raises what the handshake does, ProtocolViolation for who begins without one, and PeerClosed,
    PeerSilent.
    """
    begin = connection.recv_exactly(len(MAGIC))
    if begin != MAGIC:
        raise errors.ProtocolViolation(
            f"{connection.peer} opens a data connection without SASL, which this datanode wants "
            f"({setting})"
        )
    try:
        while not handshake.is_done:
            message = read_delimited(connection, _MOST_MESSAGE_BYTES)
            connection.send_all(handshake.receive(message))
    except (sockets.PeerClosed, sockets.PeerSilent):
        raise
    except errors.HowdahError as error:
        connection.send_all(refusal(error))
        raise
    return _protected(connection, handshake.keys, handshake.mechanism.layer)


def _protected(connection: Connection, keys: StreamKeys | None, layer: Layer | None) -> Connection:
    if keys is not None:
        return EncryptedConnection(connection, keys)
    if layer is not None:
        return WrappedConnection(connection, layer)
    return connection
