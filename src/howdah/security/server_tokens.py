"""Delegation tokens that a web server issues: HttpFS gateways and key servers (shell: the clock).

Tokens and the keys that they are made by are in a store: in memory, in a directory, or in
ZooKeeper. What is in the store counts. All servers over one store have the same tokens: one that a
server has issued is good at all of them at once, and one that was cancelled at none.

There is a limit to the tokens of one owner, and to all: who asks for one more is refused. The
oldest token is not dropped for it, since a job may run by that one.

Tokens are issued and renewed for who shows a ticket. Who may do what is in
`howdah.security.delegation_tokens`. Hadoop: DelegationTokenManager.
"""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.protocol.rpc.proven import TOKEN, Proven
from howdah.security import delegation_tokens as rules
from howdah.security.stored_tokens import StoredToken, TokenTimes

log = logging.getLogger(__name__)

KEY_BYTES: Final = 20
MOST_OF_ONE: Final = 10_000
"""Of one owner. Who has seven made each minute, and never has one cancelled or renewed, has as many
in the day that each is good: a loop that went wrong, and not a cluster's jobs."""
MOST: Final = 100_000
"""Of all owners: some 50 MB, or 250 MB with the longest names."""
_MS: Final = 1000
_SCAN_WHEN_FULL_MS: Final = 10 * 1000
"""At most so often tokens that are over are removed where there is no room for another."""
_TRIES: Final = 20


class TokenStore(Protocol):
    """Where tokens and the keys that they are made by are kept. Thread-safe.

    Every method raises a HowdahError where the store does not answer.
    """

    @property
    def whose(self) -> str:
        """Whose tokens they are, as a refusal names them."""

    def key(self, key_id: int) -> DelegationKey | None:
        """Return a key; None for one that is not there."""

    def key_to_issue_by(self, times: TokenTimes, now_ms: int) -> DelegationKey:
        """Return a key that still makes tokens; where none is there, a new one."""

    def new_number(self) -> int:
        """Return a sequence number for a token. `add` may still find it taken."""

    def add(self, token: StoredToken, password: bytes) -> bool:
        """Add a token for good; False where another one has its number."""

    def renew(self, token: StoredToken, password: bytes) -> bool:
        """Say anew until when a token is good; False for one that is not there."""

    def remove(self, token: DelegationTokenIdentifier) -> bool:
        """Remove a token; False where it is not there."""

    def until_ms(self, token: DelegationTokenIdentifier) -> int | None:
        """Return until when a token is good; None for one that is not there."""

    def count(self) -> int:
        """Return how many tokens are there."""

    def count_of(self, owner: str) -> int:
        """Return how many tokens an owner has."""

    def remove_over(self, now_ms: int) -> int:
        """Remove tokens and keys that are over; return how many tokens."""

    def close(self) -> None:
        """End what is open of the store: the server stops, and asks no more."""


class ServerTokens:
    """Of one server. Thread-safe."""

    def __init__(
        self,
        times: TokenTimes,
        store: TokenStore,
        kind: str,
        short_name: rules.ShortName,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        most_of_one: int = MOST_OF_ONE,
        most: int = MOST,
    ) -> None:
        """`short_name` has the user of a principal, `now_ms` is the time of day."""
        self._times = times
        self._store = store
        self._kind = kind
        self._short_name = short_name
        self._now_ms = now_ms
        self._most_of_one = most_of_one
        self._most = most
        self._lock = threading.Lock()
        self._last_scan_ms = 0

    def __len__(self) -> int:
        return self._store.count()

    def close(self) -> None:
        """The server stops."""
        self._store.close()

    def issue(self, owner: str, renewer: str, real_user: str, service: str) -> Token:
        """Issue a token to `owner`, for whom `real_user` asked unless that is empty. Without a
        renewer its owner may renew it.

        Raises AuthenticationFailed for a renewer who is nobody here, IllegalArgument; AccessDenied
        for an owner who has as many as one may have, and RemoteError where there are too many;
        RetriableError, and what the store raises.
        """
        named = rules.renewer_named(renewer or owner, self._short_name)
        scan_s = min(self._times.scan_s, self._times.renewal_s)
        self._remove_what_is_over(self._now_ms(), scan_s * _MS)
        self._check_room(owner)
        for _ in range(_TRIES):
            now_ms = self._now_ms()
            key = self._store.key_to_issue_by(self._times, now_ms)
            longest_ms = self._times.longest_ms(now_ms)
            identifier = DelegationTokenIdentifier(
                owner, named, real_user, now_ms, longest_ms, self._store.new_number(), key.key_id
            )
            encoded = identifier.encode()
            password = rules.password_by(key, identifier, encoded)
            until_ms = self._times.renewed_ms(longest_ms, now_ms)
            if self._store.add(StoredToken(identifier, until_ms), password):
                log.info("issued a %s", identifier)
                return Token(encoded, password, self._kind, service)
        raise errors.RetriableError("no number is free for a delegation token: try again")

    def renew(self, token: Token, renewer: str) -> int:
        """Renew a token for its renewer, by his short name; until when it is good now.

        Raises AccessDenied, InvalidToken, and what the store raises.
        """
        identifier = rules.read_identifier(token.identifier)
        now_ms = self._now_ms()
        rules.check_renewal(identifier, renewer, now_ms)
        password = self._password(identifier, token.identifier)
        rules.check_password(identifier, token.password, password, renewer)
        until_ms = self._times.renewed_ms(identifier.max_date_ms, now_ms)
        if not self._store.renew(StoredToken(identifier, until_ms), password):
            raise rules.unknown_to_renew(identifier)
        log.info("%s renewed the %s until %d", renewer, identifier, until_ms)
        return until_ms

    def cancel(self, token: Token, canceller: str) -> None:
        """Cancel a token for its owner or its renewer. Raises AccessDenied, InvalidToken, and what
        the store raises."""
        identifier = rules.read_identifier(token.identifier)
        rules.check_cancellation(identifier, canceller, self._short_name)
        if not self._store.remove(identifier):
            raise rules.unknown_to_cancel(identifier)
        log.info("%s cancelled the %s", canceller, identifier)

    def proven(self, token: Token) -> Proven:
        """Return whom a token proves. Raises InvalidToken, AuthenticationFailed, and what the store
        raises."""
        identifier = rules.read_identifier(token.identifier)
        until_ms = self._store.until_ms(identifier)
        if until_ms is None:
            raise errors.InvalidToken(rules.unknown(identifier))
        rules.check_in_time(identifier, until_ms, self._now_ms())
        password = self._password(identifier, token.identifier)
        if not hmac.compare_digest(password, token.password):
            raise errors.InvalidToken("the password of the token is wrong")
        owner, real = identifier.owner, identifier.real_user
        user = self._short_name(owner)
        if not real or real == owner:
            return Proven(TOKEN, user, owner)
        return Proven(TOKEN, user, owner, self._short_name(real), real)

    def _password(self, token: DelegationTokenIdentifier, identifier: bytes) -> bytes:
        """By the key as the store has it now: one that was removed makes its tokens void."""
        return rules.password_by(self._store.key(token.master_key_id), token, identifier)

    def _check_room(self, owner: str) -> None:
        """Raises AccessDenied, RemoteError."""
        if self._refusal_of_more(owner) is None:
            return
        self._remove_what_is_over(self._now_ms(), _SCAN_WHEN_FULL_MS)
        refusal = self._refusal_of_more(owner)
        if refusal is not None:
            raise refusal

    def _refusal_of_more(self, owner: str) -> errors.HowdahError | None:
        """What an owner hears who gets no more tokens; None for one who gets another."""
        total, whose = self._store.count(), self._store.whose
        # As long as all have fewer together nobody has to be counted.
        if total >= self._most_of_one:
            count = self._store.count_of(owner)
            if count >= self._most_of_one:
                return errors.AccessDenied(
                    f"{owner} has {count} delegation tokens of {whose}, and no user may have "
                    "more: cancel some, or wait until they end"
                )
        if total >= self._most:
            return errors.RemoteError(
                f"there are {total} delegation tokens of {whose}, and no more are kept: some "
                "have to be cancelled, or to end, before another one is issued"
            )
        return None

    def _remove_what_is_over(self, now_ms: int, interval_ms: int) -> None:
        """Unless it was done within the interval."""
        with self._lock:
            if now_ms < self._last_scan_ms + interval_ms:
                return
            self._last_scan_ms = now_ms
        removed = self._store.remove_over(now_ms)
        if removed:
            log.info("%d delegation tokens are over, and are removed", removed)
