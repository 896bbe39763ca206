"""The groups of users (shell): the static overrides, then the system's user database.

Behind that may be a directory service on the network. So the namenode's loop never asks
it: a call waits until the groups of its caller are known (`KnownGroups.when_known`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from howdah import errors
from howdah.config import Configuration, keys
from howdah.errors import InvalidConfiguration
from howdah.runtime.users.async_groups import Lookups, Loop

THREADS: Final = 4
"""So many look-ups may hang before the others wait."""


class Groups:
    """Groups of a user, asked where the caller stands."""

    def __init__(self, overrides: str) -> None:
        self.static: dict[str, tuple[str, ...]] = {}
        for entry in overrides.split(";"):
            user, sign, names = entry.partition("=")
            if user.strip():
                if not sign:
                    raise InvalidConfiguration(
                        f"{keys.HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES.name}: {entry!r} "
                        "is not of the form user=group1,group2"
                    )
                self.static[user.strip()] = tuple(g.strip() for g in names.split(",") if g.strip())

    def __call__(self, user: str) -> Sequence[str]:
        """A user whom the system does not know is in no group."""
        known = self.static.get(user)
        if known is not None:
            return known
        try:
            import grp
            import pwd
        except ImportError:
            return ()  # as on Windows, which knows users in another way
        try:
            gid = pwd.getpwnam(user).pw_gid
        except (KeyError, ValueError):
            # A name that no system can have, as one with a zero byte, is a ValueError.
            return ()
        names = []
        for member_of in os.getgrouplist(user, gid):
            try:
                names.append(grp.getgrgid(member_of).gr_name)
            except KeyError:
                names.append(str(member_of))
        return names

    def primary(self, user: str) -> str:
        """Return the first group; a user without any is alone in one of his name."""
        groups = self(user)
        return groups[0] if groups else user


def groups_from(conf: Configuration) -> Groups:
    """Raises InvalidConfiguration for overrides that cannot be read."""
    return Groups(conf.get(keys.HADOOP_USER_GROUP_STATIC_MAPPING_OVERRIDES))


class KnownGroups:
    """Asks for groups of users beside the loop, and keeps them for `fresh_s`."""

    def __init__(
        self,
        groups: Callable[[str], Sequence[str]],
        static: Callable[[str], bool],
        loop: Loop,
        *,
        fresh_s: float,
        changed: Callable[[str], None],
        timeout_s: float = 30.0,
    ) -> None:
        """`static` says of which users `groups` knows without asking anybody; `changed`
        hears whose groups were looked up."""
        self._groups = groups
        self._static = static
        self._lookups = Lookups(
            "the groups of users",
            lambda users: [tuple(groups(user)) for user in users],
            loop,
            fresh_s=fresh_s,
            threads=THREADS,
            timeout_s=timeout_s,
            answered=changed,
        )

    def __call__(self, user: str) -> Sequence[str]:
        """For a call that was let in; for anybody else they are asked at once."""
        known = None if self._static(user) else self._lookups.get(user)
        return self._groups(user) if known is None else known

    def is_known(self, user: str) -> bool:
        return self._static(user) or self._lookups.get(user) is not None

    def when_known(self, user: str, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        """Look up a user's groups; `go_on` hears when that is done, or why it is not."""

        def done(outcome: Sequence[str] | errors.HowdahError) -> None:
            go_on(outcome if isinstance(outcome, errors.HowdahError) else None)

        self._lookups.look_up(user, done)

    def once_known(self, user: str, go_on: Callable[[errors.HowdahError | None], None]) -> None:
        """The same, and `go_on` is called at once if they are known already."""
        if self.is_known(user):
            go_on(None)
        else:
            self.when_known(user, go_on)

    def forget(self) -> None:
        self._lookups.forget()
