"""What identifies a call: the client's id and the call's number (pure).

A client id has 16 bytes, and a call's number is not negative. Hadoop's readers of the edit log
take no other id but an empty one, which says that no call stands behind an edit. So whatever else
a client sends, or an old log has, counts as no identity.

Hadoop: ClientId, RpcConstants.
"""

from __future__ import annotations

from typing import Final

CLIENT_ID_BYTES: Final = 16
NO_CLIENT_ID: Final = b""
NO_CALL_ID: Final = -2


def is_identity(client_id: bytes, call_id: int) -> bool:
    """Whether a retry cache can know a call by these two."""
    return len(client_id) == CLIENT_ID_BYTES and call_id >= 0
