"""The delegation tokens that go along where the namenode leads its clients to datanodes (shell: on
the threads of connections).

Hadoop's namenode makes one for each redirection, which is an edit each, and all are kept for a day.
Here a client that comes again is led on with the token that was made for it before, while that is
young:

1. A token is kept for one caller: who proved to ask, by what, for whom, and from which address.
2. It is not used for longer than half its life, so the other half is left to a datanode.
3. It is looked up in the namespace each time: whoever was led on by it may have cancelled it.
4. So many are kept, and those that were not used for longest are forgotten first. A token that was
   forgotten stays good.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final

from howdah.formats.tokens.token import Token
from howdah.protocol.rpc.proven import Proven
from howdah.runtime.users.names import real_user_of
from howdah.web.webhdfs.call_chain import Step
from howdah.web.webhdfs.parameters import ParsedRequest
from howdah.web.webhdfs.tokens import issued_token

_MOST_TOKENS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Caller:
    """Whom a token is kept for (1)."""

    method: str
    full_name: str
    user: str
    real_user: str | None
    address: str
    renewer: str
    is_secure: bool
    """Whether it is of the kind that goes over TLS."""


@dataclass(frozen=True, slots=True)
class _Kept:
    token: Token = field(repr=False)
    until_s: float


class RedirectTokens:
    """Of one namenode. Thread-safe."""

    def __init__(
        self,
        life_s: float,
        is_good: Callable[[Token], bool],
        clock_s: Callable[[], float],
        *,
        most: int = _MOST_TOKENS,
    ) -> None:
        """`life_s` is for how long a token is good that nobody renews; `is_good` looks one up, and
        may wait and raise."""
        self._young_s = life_s / 2
        self._is_good = is_good
        self._clock_s = clock_s
        self._most = most
        self._lock = threading.Lock()
        self._tokens: OrderedDict[_Caller, _Kept] = OrderedDict()

    def issued(
        self, asked: ParsedRequest, user: str, proven: Proven, address: str
    ) -> Generator[Step, Any, Token | None]:
        """A token for `user`, who is also its renewer; one is made if there is none that is young.
        None where none are made."""
        caller = _Caller(
            proven.method,
            proven.full_name,
            str(user),
            real_user_of(user),
            address,
            str(user),
            asked.is_secure,
        )
        token = self._kept(caller)
        if token is None:
            begun_s = self._clock_s()
            token = yield from issued_token(asked, user)
            if token is not None:
                self._keep(caller, _Kept(token, begun_s + self._young_s))
        return token

    def _kept(self, caller: _Caller) -> Token | None:
        with self._lock:
            kept = self._tokens.get(caller)
            if kept is None:
                return None
            self._tokens.move_to_end(caller)
        if self._clock_s() < kept.until_s and self._is_good(kept.token):
            return kept.token
        with self._lock:
            if self._tokens.get(caller) is kept:
                del self._tokens[caller]
        return None

    def _keep(self, caller: _Caller, kept: _Kept) -> None:
        with self._lock:
            self._tokens[caller] = kept
            self._tokens.move_to_end(caller)
            while len(self._tokens) > self._most:
                self._tokens.popitem(last=False)
