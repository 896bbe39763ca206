"""What an acceptor of contexts makes of what the library of Kerberos says of them. MIT's own
clients always ask for integrity, so a library stands in that found none."""

from __future__ import annotations

from typing import Any

import pytest

from howdah import errors
from howdah.security import gssapi


class Library:
    """Accepts any context, with the flags that it is given."""

    def __init__(self, flags: int, mechanism: bytes = gssapi.KRB5) -> None:
        self._flags = flags
        self._mechanism = gssapi._oid(mechanism)

    def gss_accept_sec_context(self, *arguments: Any) -> int:
        arguments[6]._obj.contents = self._mechanism[0]
        arguments[8]._obj.value = self._flags
        return 0

    def gss_release_buffer(self, *arguments: Any) -> int:
        return 0


class Credential:
    handle = gssapi._Handle("gss_release_cred")


ALL = gssapi._FLAGS


def accepted(monkeypatch: pytest.MonkeyPatch, flags: int) -> gssapi.AcceptedContext:
    monkeypatch.setattr(gssapi, "library", lambda: Library(flags))
    monkeypatch.setattr(gssapi, "_shown_name", lambda handle: "alice@EXAMPLE.COM")
    credential: Any = Credential()
    context = gssapi.AcceptedContext(credential)
    context.step(b"AP-REQ")
    return context


def test_a_context_without_integrity_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client could not be told from who changes messages on their way."""
    with pytest.raises(errors.AuthenticationFailed, match="whether a message was changed"):
        accepted(monkeypatch, ALL & ~gssapi._INTEGRITY)


@pytest.mark.parametrize(
    ("lacking", "can"),
    [(0, (True, True)), (gssapi._CONFIDENTIALITY, (False, True)), (gssapi._REPLAY, (True, False))],
)
def test_a_context_says_what_it_can(
    monkeypatch: pytest.MonkeyPatch, lacking: int, can: tuple[bool, bool]
) -> None:
    context = accepted(monkeypatch, ALL & ~lacking)
    assert context.client == "alice@EXAMPLE.COM"
    assert (context.is_confidential, context.is_ordered) == can


def test_spnego_may_agree_on_kerberos_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Integrity is of no use over HTTP, and browsers do not ask for it."""
    ntlm = bytes.fromhex("2b06010401823702020a")
    credential: Any = Credential()
    monkeypatch.setattr(gssapi, "_shown_name", lambda handle: "alice@EXAMPLE.COM")
    monkeypatch.setattr(gssapi, "library", lambda: Library(0))
    context = gssapi.AcceptedContext(credential, for_spnego=True)
    context.step(b"token")
    assert context.client == "alice@EXAMPLE.COM"
    monkeypatch.setattr(gssapi, "library", lambda: Library(ALL, ntlm))
    for for_spnego in (True, False):
        context = gssapi.AcceptedContext(credential, for_spnego=for_spnego)
        with pytest.raises(errors.AuthenticationFailed, match="other than Kerberos"):
            context.step(b"token")
        assert not context.is_established
