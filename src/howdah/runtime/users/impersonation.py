"""May this connection act for that user? (shell; ProxyUsers in Hadoop)

The rules are `proxy_users`; what they depend on is asked here: the groups of a user, and the
addresses of the machines that `hosts` names. A loop never asks: `OnLoop` has it looked up beside
it and calls back. `OnThread` waits, for servers that have a thread for each connection.

Hadoop looks the machines up when it reads the rules; here that is done when one wants to act for
another, and kept for some minutes.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.runtime.known_names import FAILURE_LASTS_S, KnownNames
from howdah.runtime.users.async_groups import Lookups, Loop
from howdah.runtime.users.groups import groups_from
from howdah.runtime.users.proxy_users import ProxyUsers

log = logging.getLogger(__name__)

PREFIX: Final = "hadoop.proxyuser."
_THREADS: Final = 2
_MOST_REMEMBERED: Final = 10_000
_PROVIDERS: Final = ("", "org.apache.hadoop.security.authorize.DefaultImpersonationProvider")

Done = Callable[[errors.HowdahError | None], None]
"""Is told that one may act for the other, or why not."""


def read_rules(conf: Configuration, prefix: str = PREFIX) -> ProxyUsers:
    """Read the rules. Raises InvalidConfiguration for what is no rule, and for rules of another
    kind."""
    provider = conf.get(keys.HADOOP_SECURITY_IMPERSONATION_PROVIDER_CLASS) or ""
    if provider not in _PROVIDERS:
        raise errors.InvalidConfiguration(
            f"{keys.HADOOP_SECURITY_IMPERSONATION_PROVIDER_CLASS.name} = {provider} is not "
            f"supported: who may act for whom is said by {PREFIX}*"
        )
    settings = [(key, conf.raw(key) or "") for key, _ in conf.items() if key.startswith(prefix)]
    return ProxyUsers.parse(settings, prefix)


def addresses_of(name: str) -> tuple[str, ...]:
    """Return the addresses of a machine; none of an unknown one. Raises OSError if nobody could be
    asked."""
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise
        log.warning("the machine %s has no address: %s", name, error)
        return ()
    except UnicodeError as error:
        log.warning("%r is no name of a machine: %s", name, error)
        return ()
    return tuple(str(info[4][0]) for info in infos)


def known_machines(resolve: Callable[[str], Sequence[str]]) -> KnownNames[Sequence[str]]:
    """The addresses of machines, which are not looked up each time."""
    return KnownNames(resolve, lambda name, addresses: bool(addresses))


class Machines:
    """The addresses of machines, for a loop, which never waits for them."""

    def __init__(self, resolve: Callable[[str], Sequence[str]], loop: Loop) -> None:
        """`resolve` is asked on a thread, and raises OSError if nobody could be asked."""
        self._known = known = known_machines(resolve)
        self._lookups: Lookups[Sequence[str]] = Lookups(
            "the addresses of machines",
            lambda names: [tuple(known(name)) for name in names],
            loop,
            # What is behind it says for how long what counts.
            fresh_s=FAILURE_LASTS_S,
            threads=_THREADS,
        )

    def get(self, name: str) -> Sequence[str] | None:
        """None if it has to be looked up first."""
        return self._lookups.get(name)

    def look_up(
        self, name: str, done: Callable[[Sequence[str] | errors.HowdahError], None]
    ) -> None:
        """`done` hears what came of it, on the loop."""
        self._lookups.look_up(name, done)

    def forget(self) -> None:
        """All are looked up anew."""
        self._known.forget()
        self._lookups.forget()


class Remembered:
    """What was answered stays so for a while. Thread-safe."""

    def __init__(
        self,
        ask: Callable[[str], Sequence[str]],
        fresh_s: float,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ask = ask
        self._fresh_s = fresh_s
        self._clock_s = clock_s
        self._known: dict[str, tuple[float, Sequence[str]]] = {}

    def __call__(self, name: str) -> Sequence[str]:
        now_s = self._clock_s()
        asked_s, addresses = self._known.get(name, (now_s - self._fresh_s, ()))
        if now_s - asked_s < self._fresh_s:
            return addresses
        addresses = tuple(self._ask(name))
        if len(self._known) >= _MOST_REMEMBERED:
            self._known = {}
        self._known[name] = now_s, addresses
        return addresses


class OnThread:
    """For callers that may wait. Thread-safe."""

    def __init__(
        self,
        rules: ProxyUsers,
        groups: Callable[[str], Sequence[str]],
        resolve: Callable[[str], Sequence[str]] = addresses_of,
    ) -> None:
        self.rules = rules
        self._groups = groups
        self._resolve = resolve

    @classmethod
    def of(cls, conf: Configuration, prefix: str = PREFIX) -> OnThread:
        """Raises InvalidConfiguration."""
        return cls(
            read_rules(conf, prefix),
            Remembered(groups_from(conf), conf.get(keys.HADOOP_SECURITY_GROUPS_CACHE_SECS)),
            known_machines(addresses_of),
        )

    def check(self, real_user: str, user: str, address: str) -> None:
        """Raises AuthorizationFailed unless `real_user`, at `address`, may act for `user`."""
        rules = self.rules
        if rules.needs_groups(real_user, user):
            rules.check_groups(real_user, user, self._groups(user))
        names = rules.names_to_look_up(real_user, address)
        if names:
            rules.check_looked_up(real_user, address, self._looked_up(names))

    def _looked_up(self, names: Sequence[str]) -> list[str]:
        addresses: list[str] = []
        for name in names:
            try:
                addresses += self._resolve(name)
            except OSError as error:
                log.warning("the machine %s cannot be looked up: %s", name, error)
        return addresses


class OnLoop:
    """For a loop, which it never keeps waiting. To be used on that loop."""

    def __init__(
        self,
        rules: ProxyUsers,
        once_known: Callable[[str, Done], None],
        groups: Callable[[str], Sequence[str]],
        loop: Loop,
        resolve: Callable[[str], Sequence[str]] = addresses_of,
    ) -> None:
        """`once_known` calls back when `groups` knows those of a user."""
        self.rules = rules
        self._once_known = once_known
        self._groups = groups
        self._machines = Machines(resolve, loop)

    def replace(self, rules: ProxyUsers) -> None:
        """These hold from now on; machines are looked up anew."""
        self.rules = rules
        self._machines.forget()

    def authorize(self, real_user: str, user: str, address: str, done: Done) -> None:
        """Call `done`, now or later: with AuthorizationFailed unless `real_user`, at `address`,
        may act for `user`."""
        rules = self.rules

        def known(error: errors.HowdahError | None) -> None:
            if error is None:
                try:
                    rules.check_groups(real_user, user, self._groups(user))
                except errors.AuthorizationFailed as refusal:
                    error = refusal
            if error is None:
                self._check_place(rules, real_user, address, done)
            else:
                done(error)

        try:
            depends = rules.needs_groups(real_user, user)
        except errors.AuthorizationFailed as refusal:
            done(refusal)
            return
        if depends:
            self._once_known(user, known)
        else:
            self._check_place(rules, real_user, address, done)

    def _check_place(self, rules: ProxyUsers, real_user: str, address: str, done: Done) -> None:
        try:
            names = rules.names_to_look_up(real_user, address)
        except errors.AuthorizationFailed as refusal:
            done(refusal)
            return
        if not names:
            done(None)
            return
        place = _Place(rules, real_user, address, names, done)
        for name in names:
            known = self._machines.get(name)
            if known is None:
                self._machines.look_up(name, partial(place.set_result, name))
            else:
                place.set_result(name, known)


class _Place:
    """A connection that waits for the addresses of machines. The first that fits will do."""

    def __init__(
        self, rules: ProxyUsers, real_user: str, address: str, names: Sequence[str], done: Done
    ) -> None:
        self._rules = rules
        self._real_user, self._address = real_user, address
        self._missing = set(names)
        self._done = done
        self._is_over = False

    def set_result(self, name: str, outcome: Sequence[str] | errors.HowdahError) -> None:
        self._missing.discard(name)
        if self._is_over:
            return
        refusal: errors.AuthorizationFailed | None = None
        try:
            known = () if isinstance(outcome, errors.HowdahError) else outcome
            self._rules.check_looked_up(self._real_user, self._address, known)
        except errors.AuthorizationFailed as error:
            refusal = error
        if refusal is None or not self._missing:
            self._is_over = True
            self._done(refusal)
