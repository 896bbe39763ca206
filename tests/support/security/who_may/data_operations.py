"""The operations of data ports, and the tokens that allow them (pure).

The operations are those of the table by which datanodes read them. What comes with a request is one
of `Shown`, in place of the callers of other ports: a data port does not know who asks, but what he
has a token for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique
from typing import Final

from howdah.protocol.data_transfer.op_requests import Op
from tests.support.security.who_may.calls import (
    ACCESS,
    AUTHORIZATION,
    INVALID,
    ROWS,
    SASL,
    RpcRow,
    Rule,
)
from tests.support.security.who_may.calls import ANSWERED as CALL_ANSWERED


@unique
class Shown(Enum):
    """A token, in the words of a table's head."""

    NONE = "no token"
    EXPIRED = "expired"
    FORGED = "forged password"
    OTHER_BLOCK = "of another block"
    OTHER_POOL = "of another pool"
    OTHER_RIGHT = "of all other rights"
    OTHER_TYPE = "for other types of storages"
    OTHER_STORAGE = "for other storages"
    DELEGATION = "a delegation token"
    OTHER_USER = "of another user"
    """Who has it may use it, whoever it names. In tests it names who runs the datanode."""
    OLDER_KEY = "by an older key"
    """One that the namenode has replaced, and that is not over."""
    RIGHT = "the right one"


ANSWERED: Final = "answered"
"""Or an error that has nothing to do with tokens."""
REFUSED: Final = "ERROR_ACCESS_TOKEN"
CLOSED: Final = "closed"
"""The connection ends without an answer."""
NO_HANDSHAKE: Final = "no handshake"
"""What a handshake says that fails."""

_NEVER_GOOD: Final = frozenset(
    {Shown.NONE, Shown.EXPIRED, Shown.FORGED, Shown.OTHER_POOL, Shown.DELEGATION}
)


@dataclass(frozen=True, slots=True)
class DataRow:
    """Something that a data port is asked for."""

    what: str
    """In words for people."""
    op: Op | None
    """None is the beginning of a connection."""
    rights: tuple[str, ...] = ()
    """What the token of the block has to allow; without any no token is looked at."""
    has_types: bool = False
    """Whether it names types of storages, which a token may be limited to."""
    has_storages: bool = False
    """The same of the storages themselves."""
    of_datanode: bool = False
    """A datanode asks, which waits for no answer."""
    by_socket: bool = False
    """At the Unix domain socket, where there is no handshake."""

    def __str__(self) -> str:
        name = "connection" if self.op is None else self.op.name
        return f"{name}-{self.what}".replace(" ", "-")


_READ: Final = ("READ",)
_WRITE: Final = ("WRITE",)
_COPY: Final = ("COPY",)
_REPLACE: Final = ("REPLACE",)
DATA_ROWS: Final = (
    DataRow("the handshake, where data is not encrypted", None),
    DataRow("", Op.READ_BLOCK, _READ),
    DataRow("by the Unix domain socket", Op.READ_BLOCK, _READ, by_socket=True),
    DataRow("by a client, last in the pipeline", Op.WRITE_BLOCK, _WRITE, True),
    DataRow("by a client, with datanodes behind", Op.WRITE_BLOCK, _WRITE, True, True),
    DataRow("by a datanode", Op.WRITE_BLOCK, _WRITE, True, of_datanode=True),
    DataRow("", Op.TRANSFER_BLOCK, _COPY, True, True),
    DataRow("", Op.COPY_BLOCK, _COPY),
    DataRow("", Op.REPLACE_BLOCK, _REPLACE, True, True),
    DataRow("", Op.BLOCK_CHECKSUM, _READ),
    DataRow("", Op.BLOCK_GROUP_CHECKSUM, _READ),
    DataRow("", Op.REQUEST_SHORT_CIRCUIT_FDS, _READ),
    DataRow("by the Unix domain socket", Op.REQUEST_SHORT_CIRCUIT_FDS, _READ, by_socket=True),
    # About memory that the other side has, whose name nobody guesses.
    DataRow("", Op.RELEASE_SHORT_CIRCUIT_FDS),
    DataRow("by the Unix domain socket", Op.RELEASE_SHORT_CIRCUIT_FDS, by_socket=True),
    DataRow("", Op.REQUEST_SHORT_CIRCUIT_SHM),
    DataRow("by the Unix domain socket", Op.REQUEST_SHORT_CIRCUIT_SHM, by_socket=True),
    DataRow("(not served)", Op.READ_METADATA),
    DataRow("(not served)", Op.CUSTOM),
)


def expected_of_data(row: DataRow, shown: Shown) -> str:
    """What is heard of a request that comes with a token."""
    if row.op is None:
        if shown is Shown.NONE:
            return CLOSED
        return NO_HANDSHAKE if shown in _NEVER_GOOD else ANSWERED
    if not row.rights or _is_good(row, shown):
        return ANSWERED
    return CLOSED if row.of_datanode else REFUSED


def _is_good(row: DataRow, shown: Shown) -> bool:
    match shown:
        case Shown.OTHER_BLOCK | Shown.OTHER_RIGHT:
            return False
        case Shown.OTHER_TYPE:
            return not row.has_types
        case Shown.OTHER_STORAGE:
            return not row.has_storages
    return shown not in _NEVER_GOOD


# -- calls at the RPC port, where block tokens are taken as well -------------------------

TOKEN_ROWS: Final = tuple(row for row in ROWS if row.port == "datanode")
"""The calls of a datanode. Without a token they are those of `calls`."""
CALLERS: Final = tuple(shown for shown in Shown if shown is not Shown.NONE)


def expected_by_token(row: RpcRow, shown: Shown) -> str:
    """The Java class of the exception by which a call is refused that is made by a block token."""
    match shown:
        case Shown.FORGED:
            return SASL
        case Shown.EXPIRED | Shown.OTHER_POOL | Shown.DELEGATION:
            return INVALID
    match row.rule:
        case Rule.EVERYBODY:
            return CALL_ANSWERED
        case Rule.DATANODES:
            return AUTHORIZATION
        case Rule.BLOCK_TOKEN:
            is_of_it = shown not in (Shown.OTHER_BLOCK, Shown.OTHER_RIGHT)
            return CALL_ANSWERED if is_of_it else INVALID
    return ACCESS
