"""Names of users, and of those who are acted for (pure)."""

from __future__ import annotations

from typing import Final

from howdah import errors

PROXY: Final = "PROXY"
"""How Hadoop calls the authentication of who is acted for."""
MOST_CHARACTERS: Final = 1024
"""Of the name of a user."""


class ProxyUser(str):
    """The name of a user for whom `real_user` acts: createProxyUser of Hadoop's
    UserGroupInformation.

    It is a name like any other, and goes wherever names go. Only what makes a connection looks
    at `real_user`.

    >>> user = ProxyUser("joe", "hive")
    >>> user, user.real_user
    ('joe', 'hive')
    """

    __slots__ = ("real_user",)

    real_user: str

    def __new__(cls, user: str, real_user: str) -> ProxyUser:
        """Raises IllegalArgument for what is no name."""
        check_name(user)
        check_name(real_user)
        made = super().__new__(cls, user)
        made.real_user = str(real_user)
        return made

    def __reduce__(self) -> tuple[type[ProxyUser], tuple[str, str]]:
        return type(self), (str(self), self.real_user)


def real_user_of(user: str) -> str | None:
    """Who acts for a user, if somebody does."""
    return user.real_user if isinstance(user, ProxyUser) else None


def check_name(name: str) -> None:
    """Raises IllegalArgument for what nobody can be called who is acted for."""
    if not name:
        raise errors.IllegalArgument("the name of the user who is acted for is empty")
    if len(name) > MOST_CHARACTERS:
        raise errors.IllegalArgument(
            f"a user name of {len(name)} characters; at most {MOST_CHARACTERS} are allowed"
        )
    if not name.isprintable():
        raise errors.IllegalArgument(f"{name!r} is no name of a user: it cannot be printed")


def display_name(user: str, real_user: str | None = None) -> str:
    """A user as Hadoop's UserGroupInformation shows him, with whom he acts by.

    >>> shown("joe", "hive")
    'joe (auth:PROXY) via hive (auth:SIMPLE)'
    """
    if real_user is None:
        return f"{user} (auth:SIMPLE)"
    return f"{user} (auth:{PROXY}) via {real_user} (auth:SIMPLE)"


def not_allowed(real_user: str, user: str) -> errors.AuthorizationFailed:
    """What everybody hears who may not act for `user`."""
    return errors.AuthorizationFailed(f"User: {real_user} is not allowed to impersonate {user}")


class ProvenUser(str):
    """The name of a user that is proven at the beginning of a connection.

    `howdah.security.users` has what proves it. Only what makes a connection looks at that.
    """

    __slots__ = ()

    @property
    def carried(self) -> tuple[object, ...]:
        """The tokens that go with the name to other processes."""
        return ()

    def proves_itself_at(self, address: tuple[str, int]) -> bool:
        """Whether there is an authentication at the beginning of a connection to `address`."""
        return True
