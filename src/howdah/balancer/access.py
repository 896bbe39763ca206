"""How datanodes are asked to move replicas where they want a proof (shell): KeyManager in Hadoop.

A move is nobody's file: no namenode gives out a token for it. So a balancer gets the keys of the
tokens, which only the superuser does, and signs its own; these also open its data connections.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from howdah.client.data_transfer_security import ConnectsData, connect_plain
from howdah.formats.tokens.block_keys import BlockKeys
from howdah.protocol.data_transfer.blocks import NO_TOKEN, BlockToken, ExtendedBlock, StorageType

_MODES: Final = ("COPY", "REPLACE")
_RENEWALS_IN_AN_INTERVAL: Final = 4
"""Keys are asked for so often while the namenode makes one new key, as Hadoop's balancer does."""


class MoveAccess:
    """Of one namespace. Thread-safe."""

    def __init__(
        self, keys: Callable[[], BlockKeys | None], user: str, connect: ConnectsData
    ) -> None:
        """`keys` asks the namenode; `connect` makes data connections as its clients do."""
        self._ask = keys
        self._user = user
        self.connect = connect
        self._lock = threading.Lock()
        self._keys: BlockKeys | None = None
        self._renew_at_s = 0.0

    def token(self, block: ExtendedBlock, storage_type: StorageType) -> BlockToken:
        """The right to move a replica to storage of a type. Raises what the namenode raises."""
        with self._lock:
            if time.monotonic() >= self._renew_at_s:
                self._keys = self._ask()
                life_s = 3600.0
                if self._keys is not None:
                    life_s = self._keys.update_interval_ms / 1000 / _RENEWALS_IN_AN_INTERVAL
                self._renew_at_s = time.monotonic() + life_s
            keys = self._keys
        if keys is None:
            return NO_TOKEN
        now_ms = time.time_ns() // 1_000_000
        return keys.token(self._user, block, _MODES, (storage_type,), now_ms)


OPEN: Final = MoveAccess(lambda: None, "", connect_plain)
"""Of a namespace that asks for nothing."""
