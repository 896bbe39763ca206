"""Where the delegation tokens of a gateway are kept (shell: dice, a lock).

They are of the kind `WEBHDFS delegation`, or `SWEBHDFS delegation` where the gateway speaks TLS.
They and their keys are in memory, as those of Hadoop's HttpFS: they end with the process, and no
other gateway knows them. With `httpfs.authentication.zk-dt-secret-manager.enable` they are in
ZooKeeper (`howdah.security.zookeeper_tokens`), for all gateways.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.security import stored_tokens
from howdah.security.server_tokens import KEY_BYTES
from howdah.security.stored_tokens import StoredToken


@dataclass(frozen=True, slots=True)
class TokenTimes(stored_tokens.TokenTimes):
    """In seconds, as Hadoop's HttpFS has them."""

    renewal_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC)
    lifetime_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC)
    key_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC)
    scan_s: int = setting(keys.HTTPFS_AUTHENTICATION_DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC)


class TokensInMemory:
    """Those of one gateway, until it ends. Thread-safe. See `TokenStore`."""

    whose: Final = "this gateway"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[int, DelegationKey] = {}
        self._current: DelegationKey | None = None
        self._until_ms: dict[DelegationTokenIdentifier, int] = {}
        self._of_owner: Counter[str] = Counter()
        self._last_number = 0

    def key(self, key_id: int) -> DelegationKey | None:
        return self._keys.get(key_id)

    def key_to_issue_by(self, times: stored_tokens.TokenTimes, now_ms: int) -> DelegationKey:
        with self._lock:
            key = self._current
            if key is None or not times.is_current(key, now_ms):
                number = 1 if key is None else key.key_id + 1
                key = times.new_key(number, secrets.token_bytes(KEY_BYTES), now_ms)
                self._current = self._keys[number] = key
            return key

    def new_number(self) -> int:
        with self._lock:
            self._last_number += 1
            return self._last_number

    def add(self, token: StoredToken, password: bytes) -> bool:
        with self._lock:
            self._until_ms[token.identifier] = token.until_ms
            self._of_owner[token.identifier.owner] += 1
        return True

    def renew(self, token: StoredToken, password: bytes) -> bool:
        with self._lock:
            if token.identifier not in self._until_ms:
                return False
            self._until_ms[token.identifier] = token.until_ms
        return True

    def remove(self, token: DelegationTokenIdentifier) -> bool:
        with self._lock:
            return self._remove(token)

    def until_ms(self, token: DelegationTokenIdentifier) -> int | None:
        return self._until_ms.get(token)

    def count(self) -> int:
        return len(self._until_ms)

    def count_of(self, owner: str) -> int:
        return self._of_owner[owner]

    def remove_over(self, now_ms: int) -> int:
        with self._lock:
            over = [token for token, until_ms in self._until_ms.items() if until_ms < now_ms]
            for token in over:
                self._remove(token)
            for number in [n for n, key in self._keys.items() if key.expiry_date_ms < now_ms]:
                del self._keys[number]
        return len(over)

    def close(self) -> None:
        """Nothing is open."""

    def _remove(self, token: DelegationTokenIdentifier) -> bool:
        """With the lock held."""
        if self._until_ms.pop(token, None) is None:
            return False
        self._of_owner[token.owner] -= 1
        if not self._of_owner[token.owner]:
            del self._of_owner[token.owner]
        return True
