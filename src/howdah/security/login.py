"""What a process is somebody by: a ticket cache, or a keytab (shell: asks files and KDCs).

With a keytab there is no `kinit`: the library gets a ticket into a cache in memory, and another
one when the first is about to end. A ticket cache is whatever MIT's library finds: KRB5CCNAME, the
default of krb5.conf, of any type. A login keeps nothing between two contexts but the name of that
cache, so it may be used by threads, and after a fork.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from howdah import errors
from howdah.protocol.sasl.keytab import principals_in
from howdah.protocol.sasl.principals import Principal
from howdah.security import gssapi, kdc
from howdah.security.gssapi import KRB5, SPNEGO, Context, Credential, GssFailure, Inquiry

T = TypeVar("T")

_CACHES: Final = itertools.count(1)
_KEYTAB_MAGIC: Final = (b"\x05\x01", b"\x05\x02")
_CLOCK_TIMEOUT_S: Final = 2.0
_DRIFT_S: Final = 60.0
_NO_CACHE: Final = "No credentials cache found"
_CACHE_MAGIC: Final = (b"\x05\x03", b"\x05\x04")


@dataclass(frozen=True, slots=True)
class LoginSource:
    """Where a login comes from; all empty is the default ticket cache."""

    keytab: str = ""
    principal: str = ""
    ticket_cache: str = ""

    def __str__(self) -> str:
        if self.keytab:
            return f"the keytab {self.keytab}"
        if self.ticket_cache:
            return f"the ticket cache {self.ticket_cache}"
        named = os.environ.get("KRB5CCNAME")
        return f"the ticket cache {named} (KRB5CCNAME)" if named else "the default ticket cache"


class KerberosLogin:
    """Makes contexts for one principal. Raises LoginFailed, which says what is missing."""

    def __init__(self, source: LoginSource) -> None:
        self.source = source
        self._store: dict[str, str] = {}
        if source.keytab:
            self._store = {
                "client_keytab": _with_type(source.keytab),
                "ccache": f"MEMORY:howdah_{os.getpid()}_{next(_CACHES)}",
            }
        elif source.ticket_cache:
            self._store = {"ccache": source.ticket_cache}

    def __repr__(self) -> str:
        return f"KerberosLogin({self.source})"

    def inquire(self, timeout_s: float) -> Inquiry:
        """Whose credentials these are, and for how long still."""

        def asked() -> Inquiry:
            inquiry = self._credential().inquire()
            if not inquiry.lifetime_s:
                raise errors.LoginFailed(self._explain("Ticket expired"))
            return inquiry

        return self._within(timeout_s, "a ticket", asked)

    def context(self, target: Principal, timeout_s: float, *, spnego: bool = False) -> LoginContext:
        """A context with a service, whose first token is there already: a KDC was asked for a
        ticket where there was none, for at most `timeout_s`."""

        def begun() -> LoginContext:
            mechanism = SPNEGO if spnego else KRB5
            context = Context(self._credential(for_spnego=spnego), target, mechanism)
            return LoginContext(self, target, context, context.step(b""))

        return self._within(timeout_s, f"a ticket for {target}", begun, target)

    def _credential(self, *, for_spnego: bool = False) -> Credential:
        self._check_files()
        return Credential(self._store, self.source.principal or None, for_spnego=for_spnego)

    def _check_files(self) -> None:
        """The library's words for these do not say which file it was."""
        if self.source.keytab:
            path = _path(self.source.keytab)
            if path is None:
                return
            if _begin(path, "keytab") in _CACHE_MAGIC:
                raise errors.LoginFailed(
                    f"{path} is a ticket cache, and no keytab: name it by KRB5CCNAME, or as "
                    "the ticket cache"
                )
            self._check_principal(path)
            return
        named = self.source.ticket_cache or os.environ.get("KRB5CCNAME", "")
        file = _path(named) if named else None
        if file is not None and file.exists() and _begin(file, "ticket cache") in _KEYTAB_MAGIC:
            raise errors.LoginFailed(
                f"{file} is a keytab, and no ticket cache: give it as keytab= with principal=, by "
                "howdah.client.keytab.file, or by KRB5KEYTAB and KRB5PRINCIPAL"
            )

    def _check_principal(self, path: Path) -> None:
        try:
            known = principals_in(path.read_bytes())
        except errors.LoginFailed as error:
            raise errors.LoginFailed(f"{path}: {error}") from None
        wanted = self.source.principal
        if wanted and not any(wanted == name or wanted == name.partition("@")[0] for name in known):
            raise errors.LoginFailed(
                f"the keytab {path} has no key of {wanted}: it is of {', '.join(known) or 'nobody'}"
            )

    def keytab_principals(self) -> tuple[str, ...]:
        """All that a keytab has keys of; none without one, or for one that is no file."""
        path = _path(self.source.keytab) if self.source.keytab else None
        if path is None:
            return ()
        self._check_files()
        return principals_in(path.read_bytes())

    def keytab_principal(self) -> str | None:
        """The principal that a keytab logs in as; None without one, or for one that is no file."""
        path = _path(self.source.keytab) if self.source.keytab else None
        if path is None:
            return None
        self._check_files()
        known = principals_in(path.read_bytes())
        wanted = self.source.principal
        if wanted:
            return next(
                name for name in known if wanted == name or wanted == name.partition("@")[0]
            )
        if not known:
            raise errors.LoginFailed(f"the keytab {path} has no keys")
        return known[0]

    def _within(
        self, timeout_s: float, aim: str, ask: Callable[[], T], target: Principal | None = None
    ) -> T:
        """The library waits for KDCs as long as krb5.conf says, and cannot be interrupted."""
        outcome: list[T] = []
        failures: list[Exception] = []

        def run() -> None:
            try:
                outcome.append(ask())
            except Exception as error:  # noqa: BLE001 - who waits raises it
                failures.append(error)

        thread = threading.Thread(target=run, name="kerberos", daemon=True)
        thread.start()
        thread.join(timeout_s)
        if outcome:
            return outcome[0]
        if not failures:
            raise errors.LoginFailed(
                f"the KDC gave no answer to the request for {aim} within {timeout_s:g} s "
                "(krb5.conf says where it is)"
            )
        error = failures[0]
        if isinstance(error, GssFailure):
            raise errors.LoginFailed(
                f"{self._explain(str(error), target)}{_skew(error)}"
            ) from error
        raise error

    def explain(self, failure: GssFailure, target: Principal) -> errors.AuthenticationFailed:
        """The error for what the library refused of a server's answers."""
        return errors.AuthenticationFailed(self._explain(str(failure), target))

    def _explain(self, words: str, target: Principal | None = None) -> str:
        asked = f"no context with {target}" if target is not None else "no Kerberos login"
        foreign = _FOREIGN.search(words)
        if foreign is not None:
            advice = (
                f"the realm {foreign[2]} does not know the realm {foreign[1]}: is it misspelt in "
                "the principal of the server, or does krb5.conf ([domain_realm]) send its host "
                "there? Realms that trust each other need a key in common"
            )
        else:
            advice = next((text for part, text in _ADVICE if re.search(part, words)), "")
            advice = advice.format(
                source=self.source, target=target, principal=self.source.principal
            )
        return f"{asked} from {self.source}: {words}{f' ({advice})' if advice else ''}"


_FOREIGN: Final = re.compile(r"Server krbtgt/([^@\s]+)@(\S+) not found")
_ADVICE: Final = (
    ("credential has expired", "the ticket is over: get another one by kinit, or log in by a "
     "keytab"),
    ("Ticket expired", "the ticket is over: get another one by kinit, or log in by a keytab"),
    ("Clock skew", "the clocks of this machine and of the KDC differ by more than is allowed, "
     "usually 5 minutes: set them by NTP"),
    (_NO_CACHE, "there is no such ticket cache: get a ticket by kinit -c"),
    ("No Kerberos credentials available", "there is no ticket: get one by kinit, or log in by a "
     "keytab (keytab= and principal=, or howdah.client.keytab.file)"),
    (r"Server \S+ not found in Kerberos", "the KDC knows no {target}: the principal of the "
     "server, _HOST included, is set by *.kerberos.principal"),
    ("not found in Kerberos database", "the KDC does not know the principal"),
    ("Cannot contact any KDC", "is the KDC up, and does krb5.conf name it?"),
    ("Cannot find KDC", "krb5.conf names no KDC of that realm"),
    ("Decrypt integrity check failed", "the key of the keytab is an old one: export it again"),
    ("Preauthentication failed", "the key of the keytab is an old one: export it again"),
    ("Password incorrect", "the key of the keytab is an old one: export it again"),
    ("Keytab contains no suitable keys", "{source} has no key of {principal}: klist -k shows which "
     "principals it has"),
    ("No key table entry found", "{source} has no key of {principal}: klist -k shows which "
     "principals it has"),
    ("Can't find client principal", "the ticket cache is of another principal than {principal}"),
)  # fmt: skip


def _skew(error: GssFailure) -> str:
    """By how much clocks differ, where that may be what was refused."""
    return clock_difference() if re.search("skew|expired|not yet valid", str(error)) else ""


def clock_difference() -> str:
    """How far this machine's clock is from that of the default realm's KDC, for messages; empty
    where it is not far, or no KDC says so."""
    realm = default_realm()
    ahead_s = kdc.seconds_ahead(realm, _CLOCK_TIMEOUT_S) if realm else None
    if ahead_s is None or abs(ahead_s) < _DRIFT_S:
        return ""
    side = "behind" if ahead_s > 0 else "ahead of"
    return f"; this machine's clock is {abs(ahead_s):.0f} s {side} that of the KDC of {realm}"


class LoginContext:
    """A security context, as a mechanism uses it; what the library refuses is explained."""

    def __init__(
        self, login: KerberosLogin, target: Principal, context: Context, first: bytes
    ) -> None:
        self._login = login
        self._target = target
        self._context = context
        self._first: bytes | None = first

    @property
    def is_established(self) -> bool:
        return self._first is None and self._context.is_established

    def step(self, token: bytes) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return self._context.step(token)
        except GssFailure as failure:
            raise self._login.explain(failure, self._target) from failure

    def wrap(self, data: bytes, *, confidential: bool) -> bytes:
        try:
            return self._context.wrap(data, confidential=confidential)
        except GssFailure as failure:
            raise self._login.explain(failure, self._target) from failure

    def unwrap(self, token: bytes) -> tuple[bytes, bool]:
        return self._context.unwrap(token)

    def wrap_limit(self, most_bytes: int, *, confidential: bool) -> int:
        return self._context.wrap_limit(most_bytes, confidential=confidential)


def default_realm() -> str:
    """The realm of principals that name none, by krb5.conf; empty if there is none."""
    return gssapi.default_realm()


def _with_type(name: str) -> str:
    return name if _path(name) is None else f"FILE:{_path(name)}"


def _path(name: str) -> Path | None:
    """The file that a keytab or a cache is; None for one of another type."""
    kind, colon, rest = name.partition(":")
    if not colon or "/" in kind:
        return Path(name).expanduser().absolute()
    return Path(rest) if kind in ("FILE", "WRFILE") else None


def _begin(path: Path, kind: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(2)
    except OSError as error:
        raise errors.LoginFailed(
            f"the {kind} {path} cannot be read: {error.strerror or error}"
        ) from error
