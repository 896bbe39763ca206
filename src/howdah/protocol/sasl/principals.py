"""Kerberos principals: whom a client expects at the other end, and whom it finds there.

A server says who it is before it proves it. The name that a ticket is asked for is the one of the
configuration, which the offer has to match: who went by the offer alone could be sent to any
service of the realm. SecurityUtil.getServerPrincipal and SaslRpcClient in Hadoop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from howdah import errors

HOST_PLACEHOLDER: Final = "_HOST"
_MOST_CHARACTERS: Final = 1024


@dataclass(frozen=True, slots=True)
class Principal:
    """`primary/instance@REALM`; instance and realm may be empty."""

    primary: str
    instance: str = ""
    realm: str = ""

    def __str__(self) -> str:
        text = f"{self.primary}/{self.instance}" if self.instance else self.primary
        return f"{text}@{self.realm}" if self.realm else text

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Raises InvalidConfiguration for what is no principal."""
        name, at, realm = text.strip().partition("@")
        primary, slash, instance = name.partition("/")
        bad = (
            not primary
            or (slash and not instance)
            or (at and not realm)
            or "/" in instance
            or "@" in realm
            or len(text) > _MOST_CHARACTERS
            or not text.strip().isprintable()
        )
        if bad:
            raise errors.InvalidConfiguration(
                f"{text[:_MOST_CHARACTERS]!r} is not a Kerberos principal, as "
                "nn/host@REALM or alice@REALM"
            )
        return cls(primary, instance, realm)


@dataclass(frozen=True, slots=True)
class ServerPrincipals:
    """Which principals a server may have, by two keys of the configuration.

    `principal` is one, in which `_HOST` stands for the server's host; `pattern` a glob, which
    takes its place.
    """

    key: str
    principal: str = ""
    pattern: str = ""

    @property
    def pattern_key(self) -> str:
        return f"{self.key}.pattern"

    def accept(self, protocol: str, server_id: str, hosts: Sequence[str], server: str) -> Principal:
        """Return the principal to ask a ticket for, if a server may be `protocol/server_id`.

        `hosts` are the names of the server's host, by preference, and `server` its address, for
        messages. Raises AuthenticationFailed.
        """
        if not protocol or not server_id:
            raise errors.AuthenticationFailed(
                f"{server} offers Kerberos and does not say who it is"
            )
        try:
            found = Principal.parse(f"{protocol}/{server_id}")
        except errors.InvalidConfiguration as error:
            raise errors.AuthenticationFailed(f"{server} offers Kerberos as {error}") from None
        if found.realm:
            raise errors.AuthenticationFailed(
                f"{server} offers Kerberos as {protocol}/{server_id}: a server names no realm"
            )
        if self.pattern:
            return self._by_pattern(found, server)
        if not self.principal:
            raise errors.AuthenticationFailed(
                f"{server} is secured by Kerberos, and {self.key} is not set here: it names the "
                f"principal that this server must have (it says that it is {found})"
            )
        expected = Principal.parse(self.principal)
        if not expected.instance:
            raise errors.AuthenticationFailed(
                f"{self.key} = {self.principal} has no host: write it as "
                f"{expected.primary}/{HOST_PLACEHOLDER}@{expected.realm or 'REALM'}"
            )
        instances = [expected.instance]
        if expected.instance == HOST_PLACEHOLDER:
            instances = [host.rstrip(".").lower() for host in hosts]
        if found.primary == expected.primary and found.instance.lower() in (
            instance.lower() for instance in instances
        ):
            return Principal(found.primary, found.instance, expected.realm)
        names = " or ".join(
            str(Principal(expected.primary, instance, expected.realm)) for instance in instances
        )
        raise errors.AuthenticationFailed(
            f"{server} says that it is {found}, and {names} is expected there "
            f"({self.key} = {self.principal})"
        )

    def _by_pattern(self, found: Principal, server: str) -> Principal:
        wanted, _, realm = self.pattern.rpartition("@")
        if not wanted:
            wanted, realm = realm, ""
        # A server does not say its realm. One that the pattern leaves open is the KDC's to find.
        if matches(wanted, f"{found.primary}/{found.instance}"):
            literal = realm if realm and not set(realm) & _WILD else ""
            return Principal(found.primary, found.instance, literal)
        raise errors.AuthenticationFailed(
            f"{server} says that it is {found}, which does not match {self.pattern_key} = "
            f"{self.pattern}"
        )


_WILD: Final = frozenset("*?[]{}\\")


def matches(pattern: str, name: str) -> bool:
    """Whether a glob of Hadoop (`*`, `?`, `[...]`, `{a,b}`, a backslash) fits the whole name.

    Raises InvalidConfiguration for one that is malformed.
    """
    return _regex(pattern).fullmatch(name) is not None


def _regex(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    depth, position = 0, 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "\\" and position < len(pattern):
            parts.append(re.escape(pattern[position]))
            position += 1
        elif char == "*":
            parts.append(".*")
        elif char == "?":
            parts.append(".")
        elif char == "[":
            end = pattern.find("]", position + 1)
            if end < 0:
                raise errors.InvalidConfiguration(f"{pattern!r}: a [ without its ]")
            inner = pattern[position:end]
            negated = inner[:1] in ("^", "!")
            body = re.sub(r"([\\\[\]^&|~])", r"\\\1", inner[negated:])
            parts.append(f"[{'^' if negated else ''}{body}]")
            position = end + 1
        elif char == "{":
            depth += 1
            parts.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            parts.append(")")
        elif char == "," and depth:
            parts.append("|")
        else:
            parts.append(re.escape(char))
    if depth:
        raise errors.InvalidConfiguration(f"{pattern!r}: a {{ without its }}")
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise errors.InvalidConfiguration(f"{pattern!r} is no pattern: {error}") from error
