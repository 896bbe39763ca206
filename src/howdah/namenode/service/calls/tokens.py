"""Delegation tokens: the calls about them, and what the active namenode does with them (pure).

Who calls is who he has proven to be, with his full name; where somebody acts for him, both. Hadoop:
FSNamesystem and DelegationTokenSecretManager.

Everything runs on the namenode's loop: a token is looked up there when a client shows it, too. A
standby is asked for nothing, so it believes no token; an observer may not know one yet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container
from typing import Final

from howdah import errors
from howdah.formats.tokens.identifiers import DelegationTokenIdentifier
from howdah.formats.tokens.token import Token
from howdah.namenode.service.delegation_tokens import TokenManager, TokenTimes
from howdah.namenode.service.incremental_tasks import Round
from howdah.namenode.service.namesystem import Namesystem
from howdah.protocol.rpc.call import Caller

log = logging.getLogger(__name__)


class TokenCalls:
    """Of one namenode."""

    def __init__(
        self,
        namesystem: Namesystem,
        times: TokenTimes,
        short_name: Callable[[str], str],
        new_key: Callable[[], bytes],
        *,
        proofs: Container[str] | None,
        believes_strangers: bool = False,
    ) -> None:
        """`new_key` makes a random key. Tokens are issued and renewed for who has proven who he is
        by one of `proofs`; None: for everybody. With `believes_strangers` who proves nothing is
        served, and gets no token."""
        self._namesystem = namesystem
        self._clock = namesystem.clock
        self._manager: Final = TokenManager(
            namesystem.namespace.tokens, namesystem.commit, short_name, times
        )
        self._times = times
        self._new_key = new_key
        self._proofs = proofs
        self._believes_strangers = believes_strangers
        self._next_scan_ms = 0

    # -- what is asked -----------------------------------------------------------------

    def are_for(self, caller: Caller) -> bool:
        """Whether a caller may hope for one. Clients of a cluster without Kerberos ask, and go on
        without a token."""
        return not self._believes_strangers or caller.proven is not None

    def issue(self, caller: Caller, renewer: str) -> Token:
        """Raises SafeMode, HowdahError for who shows no ticket."""
        self._check(caller, "issue", "issued")
        self._roll_if_due()
        owner, real_user = caller.full_names
        return self._manager.issue(owner, renewer, real_user, now_ms=self._clock.wall_ms())

    def renew(self, caller: Caller, token: Token) -> int:
        """Until when the token is good now. Raises as `issue`, and AccessDenied, InvalidToken."""
        self._check(caller, "renew", "renewed")
        return self._manager.renew(token, caller.user, self._clock.wall_ms())

    def cancel(self, caller: Caller, token: Token) -> DelegationTokenIdentifier:
        """Raises SafeMode, AccessDenied, InvalidToken."""
        self._namesystem.safe_mode.check("Cannot cancel delegation token")
        return self._manager.cancel(token.identifier, caller.full_names[0])

    def password_of(
        self, identifier: bytes, check_read: Callable[[], None], *, is_active: bool
    ) -> bytes:
        """Return the password of a token that is good; `check_read` raises where nobody may read.

        Raises InvalidToken, and StandbyError or RetriableError where this namenode cannot tell.
        """
        check_read()
        return self._manager.password_of(identifier, self._clock.wall_ms(), is_active=is_active)

    def _check(self, caller: Caller, doing: str, done: str) -> None:
        self._namesystem.safe_mode.check(f"Cannot {doing} delegation token")
        proven = caller.proven
        if self._proofs is not None and (proven is None or proven.method not in self._proofs):
            raise errors.HowdahError(
                f"Delegation Token can be {done} only with kerberos or web authentication"
            )

    # -- the active's duties -----------------------------------------------------------

    def became_active(self) -> None:
        """It begins with a key of its own."""
        self._manager.begin()
        self._next_scan_ms = 0

    def turn(self) -> Round | None:
        """Another key, where one is due; and the removal of tokens that are over."""
        if self._namesystem.safe_mode.on:
            return None
        self._roll_if_due()
        now_ms = self._clock.monotonic_ms()
        if now_ms < self._next_scan_ms:
            return None
        self._next_scan_ms = now_ms + self._times.scan_ms
        return self._removal()

    def _removal(self) -> Round:
        removed = 0
        for count in self._manager.removing(self._clock.wall_ms()):
            removed += count
            yield ()
        if removed:
            log.info("%d delegation tokens are over, and are removed", removed)

    def _roll_if_due(self) -> None:
        now_ms = self._clock.wall_ms()
        if self._manager.is_key_due(now_ms):
            self._manager.roll(self._new_key(), now_ms)
            log.info("delegation tokens are made by another key from now on")
