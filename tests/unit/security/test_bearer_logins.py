"""The access token of commands: from which file, and to which servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.runtime.tls.http_policy import Place
from howdah.security.bearer_logins import VARIABLE, BearerLogins, logins_of_user
from howdah.security.netrc_logins import NetrcLogins

SECURE = Place(True, "nn.example.com", 9871)


def test_a_token_goes_over_tls_or_to_this_machine_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.write_text("a.b.c\n")
    monkeypatch.setenv(VARIABLE, str(path))
    for place in (SECURE, Place(False, "127.0.0.1", 9870)):
        proof = BearerLogins().proof(place)
        assert proof.headers == {"Authorization": "Bearer a.b.c"}
        assert "a.b.c" not in repr(proof)
    with pytest.raises(errors.LoginFailed, match="not encrypted"):
        BearerLogins().proof(Place(False, "nn.example.com", 9870))


@pytest.mark.parametrize("content", [b"", b"\n", b"a b", b"a\r\nX: y", b"\xff", b"a" * 20_000])
def test_what_is_no_token_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    monkeypatch.setenv(VARIABLE, str(path))
    with pytest.raises(errors.LoginFailed, match="has no access token"):
        BearerLogins().proof(SECURE)


def test_a_user_shows_the_token_that_he_names_and_else_a_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert isinstance(logins_of_user(), NetrcLogins)
    with pytest.raises(errors.LoginFailed, match=f"name that in {VARIABLE}"):
        BearerLogins().proof(SECURE)
    monkeypatch.setenv(VARIABLE, "/nowhere/token")
    assert isinstance(logins_of_user(), BearerLogins)
    with pytest.raises(errors.LoginFailed, match="cannot be read"):
        BearerLogins().proof(SECURE)
