"""Delegation tokens of all routers that share a state store (shell: the store, dice, the clock).

The store has them, and the keys that they are made by. What is in it counts: a token that a client
shows is looked up there, so one that another router has issued is good at once, and one that it has
cancelled is not. A router that is killed leaves nothing undone, and knows all when it is back.

1. A key makes tokens for `delegation-token.update-interval.sec`, and stays until the last of them
   is over. Whichever router first finds none that still makes tokens makes the next one. The id of
   the first is drawn: after the store was emptied no key has the id of one before. A key that is
   removed from the store is revoked, and all tokens by it: it is looked up for each token.
2. A token's sequence number is its name in the store. It is drawn, and a name that is taken is
   drawn again: routers need not agree on a counter.
3. Any router removes what is over.

Who may renew and cancel: `howdah.security.delegation_tokens`. Hadoop: RouterSecurityManager,
ZKDelegationTokenSecretManagerImpl.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationKey, DelegationTokenIdentifier
from howdah.formats.tokens.token import HDFS_DELEGATION, Token
from howdah.protocol.rpc.call import Caller
from howdah.protocol.rpc.proven import KERBEROS
from howdah.router.state.tokens import TokenTimes
from howdah.router.store.state_store import StateStore
from howdah.router.store.worker import LIMIT_S, StoreWorker
from howdah.security import delegation_tokens as rules
from howdah.security.server_methods import IssuedTokens
from howdah.security.stored_tokens import StoredToken

log = logging.getLogger(__name__)

_KEY_BYTES: Final = 20
_MOST_NUMBER: Final = (1 << 31) - 1
_MOST_FIRST_KEY: Final = 1 << 30
_TRIES: Final = 20
_REMOVED_AT_ONCE: Final = 100


class RouterTokens:
    """Of one router, on its loop."""

    def __init__(
        self,
        store: StoreWorker,
        times: TokenTimes,
        short_name: rules.ShortName,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        believes_strangers: bool = False,
    ) -> None:
        """`short_name` has the user of a principal. With `believes_strangers` who proves nothing is
        served, and gets no token."""
        self._store = store
        self._times = times
        self._short_name = short_name
        self._now_ms = now_ms
        self._believes_strangers = believes_strangers
        self._rolling = asyncio.Lock()
        self._known_keys: dict[int, DelegationKey] = {}
        """As they were in the store when they were read last."""

    # -- what is asked -----------------------------------------------------------------

    def are_for(self, caller: Caller) -> bool:
        """Whether a caller may hope for one. Clients of a cluster without Kerberos ask, and go on
        without a token."""
        return not self._believes_strangers or caller.proven is not None

    async def issue(self, caller: Caller, renewer: str) -> Token:
        """Raises HowdahError for who shows no ticket, AuthenticationFailed for a renewer who is
        nobody here, IllegalArgument, OSError."""
        _check_ticket(caller, "issued")
        named = rules.renewer_named(renewer, self._short_name)
        key = await self._key_to_issue_by()
        owner, real_user = caller.full_names
        for _ in range(_TRIES):
            now_ms = self._now_ms()
            longest_ms = self._times.longest_ms(now_ms)
            number = 1 + secrets.randbelow(_MOST_NUMBER)
            identifier = DelegationTokenIdentifier(
                owner, named, real_user, now_ms, longest_ms, number, key.key_id
            )
            stored = StoredToken(identifier, self._times.renewed_ms(longest_ms, now_ms))
            if await self._store.run(partial(StateStore.add_token, token=stored)):
                encoded = identifier.encode()
                password = rules.password_by(key, identifier, encoded)
                log.info("%s got a %s", caller.display_name, identifier)
                return Token(encoded, password, HDFS_DELEGATION, "")
        raise errors.RetriableError("no number is free for a delegation token: try again")

    async def renew(self, caller: Caller, token: Token) -> int:
        """Until when the token is good now. Raises as `issue`, and AccessDenied, InvalidToken."""
        _check_ticket(caller, "renewed")
        identifier = rules.read_identifier(token.identifier)
        now_ms = self._now_ms()
        rules.check_renewal(identifier, caller.user, now_ms)
        key = await self._store.run(lambda store: store.key(identifier.master_key_id))
        password = rules.password_by(key, identifier, token.identifier)
        rules.check_password(identifier, token.password, password, caller.user)
        until_ms = self._times.renewed_ms(identifier.max_date_ms, now_ms)
        renewed = StoredToken(identifier, until_ms)
        if not await self._store.run(lambda store: store.renew_token(renewed)):
            raise rules.unknown_to_renew(identifier)
        log.info("%s renewed the %s until %d", caller.display_name, identifier, until_ms)
        return until_ms

    async def cancel(self, caller: Caller, token: Token) -> None:
        """Raises AccessDenied, InvalidToken, OSError."""
        identifier = rules.read_identifier(token.identifier)
        rules.check_cancellation(identifier, caller.full_names[0], self._short_name)
        if not await self._store.run(lambda store: store.remove_token(identifier)):
            raise rules.unknown_to_cancel(identifier)
        log.info("%s cancelled the %s", caller.display_name, identifier)

    async def password_of(self, identifier: bytes) -> bytes:
        """Return the password of a token that is good.

        Raises InvalidToken, and RetriableError where the store cannot be asked.
        """
        token = rules.read_identifier(identifier)
        try:
            stored, key = await self._store.run(
                lambda store: (store.token(token), store.key(token.master_key_id))
            )
            if stored is None:
                raise errors.InvalidToken(rules.unknown(token))
            if key is not None:
                # Another router may have made it.
                self._known_keys[key.key_id] = key
            rules.check_in_time(token, stored.until_ms, self._now_ms())
            # The key is looked up each time: it may have been revoked.
            return rules.password_by(key, token, identifier)
        except OSError as error:
            if isinstance(error, errors.HowdahError):
                raise
            log.error("a delegation token cannot be looked up: %s", error)
            raise errors.RetriableError(
                "the state store cannot be asked for a delegation token: try again"
            ) from error

    def known_password_of(self, identifier: bytes) -> bytes | None:
        """Return the password of a token by a key that was in the store lately; None without one.
        Whether the token is good is another question: the store alone has the answer."""
        try:
            token = rules.read_identifier(identifier)
            return rules.password_by(self._known_keys.get(token.master_key_id), token, identifier)
        except errors.InvalidToken:
            return None

    # -- keys --------------------------------------------------------------------------

    async def prepare(self) -> None:
        """Have a key to make tokens by. Raises OSError."""
        await self._key_to_issue_by()

    async def _key_to_issue_by(self) -> DelegationKey:
        """Raises OSError."""
        async with self._rolling:
            for _ in range(_TRIES):
                # Looked up each time: the last one may have been revoked, or the store restored.
                known, names = await self._store.run(
                    lambda store: (store.keys(), store.key_names())
                )
                self._known_keys = {each.key_id: each for each in known}
                latest = max(known, key=lambda each: each.key_id, default=None)
                if latest is not None and self._is_current(latest):
                    return latest
                made = self._times.new_key(
                    _following(names), secrets.token_bytes(_KEY_BYTES), self._now_ms()
                )
                if await self._store.run(partial(StateStore.add_key, key=made)):
                    self._known_keys[made.key_id] = made
                    log.info("delegation tokens are made by another key from now on")
                    return made
                # Another router was faster.
        raise errors.RetriableError("no key for delegation tokens can be made: try again")

    def _is_current(self, key: DelegationKey) -> bool:
        return self._times.is_current(key, self._now_ms())

    # -- what is over ------------------------------------------------------------------

    @property
    def sweep_interval_s(self) -> float:
        """How often `sweep` is to be called."""
        times = self._times
        return max(min(times.scan_s, times.renewal_s, times.key_s) / 2, 0.05)

    async def sweep(self) -> None:
        """Remove tokens and keys that are over; make the next key, where one is due. Raises
        OSError."""
        await self._key_to_issue_by()
        names = await self._store.run(StateStore.token_names)
        removed = 0
        for start in range(0, len(names), _REMOVED_AT_ONCE):
            some = names[start : start + _REMOVED_AT_ONCE]
            now_ms = self._now_ms()
            removed += await self._store.run(
                partial(StateStore.remove_tokens_over, names=some, now_ms=now_ms)
            )
        now_ms = self._now_ms()
        await self._store.run(lambda store: store.remove_keys_over(now_ms))
        if removed:
            log.info("%d delegation tokens are over, and are removed", removed)


class TokensShown(IssuedTokens):
    """The tokens of a router for the threads that evaluate proofs: they wait for its loop."""

    def __init__(self, tokens: RouterTokens, loop: asyncio.AbstractEventLoop) -> None:
        self._tokens = tokens
        self._loop = loop

    def password_of(self, identifier: bytes) -> bytes:
        asked = asyncio.run_coroutine_threadsafe(self._tokens.password_of(identifier), self._loop)
        try:
            return asked.result(2 * LIMIT_S)
        except (concurrent.futures.CancelledError, TimeoutError) as error:
            asked.cancel()
            raise errors.RetriableError(
                "this router stops, or its state store does not answer: try again"
            ) from error


def _following(names: Iterable[str]) -> int:
    """The id of a new key: above all that are there, readable or not."""
    known = [int(name) for name in names if name.isascii() and name.isdigit()]
    ids = [each for each in known if each < _MOST_NUMBER]
    return 1 + (max(ids) if ids else secrets.randbelow(_MOST_FIRST_KEY))


def _check_ticket(caller: Caller, done: str) -> None:
    """Whoever came by a token gets no other one by it: that would outlive the first."""
    if caller.proven is None or caller.proven.method != KERBEROS:
        raise errors.HowdahError(
            f"Delegation Token can be {done} only with kerberos or web authentication"
        )
