"""Logins at web ports without Kerberos: what keeps users out, and what lets others in (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from howdah.config import keys
from howdah.doctor.findings import Finding, error, warning
from howdah.doctor.inputs import ROUTER, Facts

_ABOUT: Final = "logins"
_MODE: Final = keys.HOWDAH_HTTP_AUTHENTICATION
_POLICY: Final = keys.DFS_HTTP_POLICY
_PLAIN: Final = keys.HOWDAH_HTTP_AUTHENTICATION_ALLOW_PLAIN_HTTP
_SECRET: Final = keys.HADOOP_HTTP_AUTHENTICATION_SIGNATURE_SECRET_FILE


def check(facts: Facts) -> Iterator[Finding]:
    conf = facts.conf
    if conf.get(_MODE) == "none" or not facts.roles:
        return
    if conf.get(keys.HADOOP_SECURITY_AUTHENTICATION) != "simple":
        yield error(
            _ABOUT,
            f"{_MODE.name} is for clusters without Kerberos, and servers do not start",
            "take one of both out",
        )
        return
    if facts.logins_problem:
        advice = "mend that"
        if conf.get(_MODE) == "file":
            key = keys.HOWDAH_HTTP_AUTHENTICATION_FILE.name
            advice = f"make the file by howdah passwd, and name it in {key}"
        yield error(
            _ABOUT,
            f"nobody can log in, and servers do not start: {facts.logins_problem}",
            advice,
        )
    if facts.provider_problem:
        yield error(
            _ABOUT,
            f"nobody can log in, as the provider does not answer: {facts.provider_problem}",
            f"look at {keys.HOWDAH_HTTP_AUTHENTICATION_OIDC_ISSUER.name}, and at the network",
        )
    if ROUTER in facts.roles:
        yield error(
            _ABOUT,
            f"routers know no logins, and do not start with {_MODE.name}",
            "give routers a configuration without it, behind a firewall",
        )
    if conf.get(_PLAIN):
        yield warning(
            _ABOUT,
            f"{_PLAIN.name} is true: whoever is in the network can read passwords and tokens",
            "set up TLS, and take it out",
        )
    elif conf.get(_POLICY) == "HTTP_ONLY":
        yield warning(
            _ABOUT,
            f"there is no TLS ({_POLICY.name}): users can log in from this machine alone",
            "set up TLS",
        )
    if not conf.is_set(_SECRET):
        yield warning(
            _ABOUT,
            f"{_SECRET.name} is not set: a restart logs all users out, and servers cannot fetch "
            "from each other",
            "set it to a file of random bytes (mode 600), the same on all servers",
        )
