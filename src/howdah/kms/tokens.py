"""Where the delegation tokens of key servers are kept, of the kind `kms-dt` (shell: dice).

All servers over one file of keys have the same ones, and a restart loses nothing. The secrets that
tokens are made by are in an encrypted file (`howdah.kms.key_file`), and until when each token is
good is in a directory (`howdah.kms.token_records`).

1. A secret makes tokens for `delegation-token.update-interval.sec`, and stays until the last of
   them is over. Whichever server first finds none that still makes tokens makes the next one. The
   id of the first one is drawn: after the file was removed no secret has the id of one before.
2. A token's sequence number is drawn, and one that is taken is drawn again.

With `hadoop.kms.authentication.zk-dt-secret-manager.enable` tokens are in ZooKeeper instead
(`howdah.security.zookeeper_tokens`), as those of Hadoop's key servers.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from howdah import errors
from howdah.config import keys
from howdah.config.settings import setting
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.kms.token_records import TokenRecords
from howdah.security import stored_tokens
from howdah.security.server_tokens import KEY_BYTES
from howdah.security.stored_tokens import StoredToken

log = logging.getLogger(__name__)

_MOST_NUMBER: Final = (1 << 31) - 1
_MOST_FIRST_KEY: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class TokenTimes(stored_tokens.TokenTimes):
    """In seconds, as Hadoop's key servers have them."""

    renewal_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_RENEW_INTERVAL_SEC)
    lifetime_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_MAX_LIFETIME_SEC)
    key_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_UPDATE_INTERVAL_SEC)
    scan_s: int = setting(keys.HADOOP_KMS_AUTHENTICATION_DELEGATION_TOKEN_REMOVAL_SCAN_INTERVAL_SEC)


class Secrets(Protocol):
    """What tokens are made by. Thread-safe."""

    def entries(self) -> Mapping[int, DelegationKey]:
        """Return all secrets. Raises InvalidConfiguration."""

    def change(self, edit: Callable[[dict[int, DelegationKey]], None]) -> None:
        """Change them, for good when it returns. Raises InvalidConfiguration."""


class TokensInFiles:
    """Those of all key servers over one file of keys. Thread-safe. See `TokenStore`.

    Methods raise InvalidConfiguration where the files cannot be read or written.
    """

    whose: Final = "these key servers"

    def __init__(self, made_by: Secrets, records: TokenRecords) -> None:
        self._secrets = made_by
        self._records = records
        self._lock = threading.Lock()

    def key(self, key_id: int) -> DelegationKey | None:
        return self._secrets.entries().get(key_id)

    def key_to_issue_by(self, times: stored_tokens.TokenTimes, now_ms: int) -> DelegationKey:
        """Raises RetriableError as well."""

        def roll(known: dict[int, DelegationKey]) -> None:
            if times.current_of(known.values(), now_ms) is not None:
                return  # Another server was faster.
            number = 1 + (max(known) if known else secrets.randbelow(_MOST_FIRST_KEY))
            for over in [n for n, each in known.items() if each.expiry_date_ms < now_ms]:
                del known[over]
            known[number] = times.new_key(number, secrets.token_bytes(KEY_BYTES), now_ms)
            log.info("delegation tokens are made by another secret from now on")

        with self._lock:
            latest = times.current_of(self._secrets.entries().values(), now_ms)
            if latest is None:
                self._secrets.change(roll)
                latest = times.current_of(self._secrets.entries().values(), now_ms)
            if latest is None:
                raise errors.RetriableError("no secret for delegation tokens is there: try again")
            return latest

    def new_number(self) -> int:
        return 1 + secrets.randbelow(_MOST_NUMBER)

    def add(self, token: StoredToken, password: bytes) -> bool:
        return self._records.add(token)

    def renew(self, token: StoredToken, password: bytes) -> bool:
        return self._records.renew(token)

    def remove(self, token: DelegationTokenIdentifier) -> bool:
        return self._records.remove(token)

    def until_ms(self, token: DelegationTokenIdentifier) -> int | None:
        return self._records.until_ms(token)

    def count(self) -> int:
        return self._records.count()

    def count_of(self, owner: str) -> int:
        return self._records.count_of(owner)

    def remove_over(self, now_ms: int) -> int:
        """Secrets that are over go when the next one is made."""
        return self._records.remove_over(now_ms)

    def close(self) -> None:
        """Nothing is open."""
