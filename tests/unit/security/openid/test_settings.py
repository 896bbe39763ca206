"""How users log in by OpenID Connect, as it is configured."""

from __future__ import annotations

import importlib.util
import logging
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.protocol.web_authentication.openid.tokens import ALGORITHMS
from howdah.security.openid import settings as module
from howdah.security.openid.settings import openid_settings

pytest.importorskip("authlib", reason="authlib is not installed")

PREFIX = "howdah.http.authentication.oidc."
VALUES = {
    "howdah.http.authentication": "oidc",
    f"{PREFIX}issuer": "https://id.example.com",
    f"{PREFIX}client-id": "howdah",
}


def conf(**values: str | None) -> Configuration:
    changes = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in values.items()}
    whole = {**VALUES, **changes}
    return Configuration({name: value for name, value in whole.items() if value is not None})


def test_issuer_and_client_are_enough() -> None:
    found = openid_settings(conf())
    assert found.scopes == ("openid", "profile")
    assert found.algorithms == ALGORITHMS
    assert (found.username_claim, found.client_secret, found.bearer_audience) == (
        "preferred_username",
        None,
        None,
    )
    assert openid_settings(conf(scopes="email")).scopes == ("openid", "email")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"issuer": None}, "oidc.issuer is not set"),
        ({"client_id": None}, "oidc.client-id is not set"),
        ({"issuer": "http://id.example.com"}, "is not encrypted"),
        ({"issuer": "https://id.example.com?a=b"}, "no query"),
        ({"issuer": "id.example.com"}, "no address of https"),
        ({"algorithms": "RS256,none"}, "these are supported: RS256"),
        ({"algorithms": "HS256"}, "these are supported: RS256"),
        ({"user_rules": "RULE:[1:$1"}, "no rule begins at"),
        ({"client_secret_file": "/nowhere/secret"}, "there is no file"),
        ({"ca_file": "/nowhere/ca.pem"}, "there is no file"),
    ],
)
def test_what_lets_nobody_in_is_found_at_the_start(
    values: dict[str, str | None], said: str
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=said):
        openid_settings(conf(**values))


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec

    def missing(name: str) -> ModuleSpec | None:
        return None if name == "authlib" else there(name)

    monkeypatch.setattr(module, "find_spec", missing)
    with pytest.raises(errors.InvalidConfiguration, match=r"pip install 'howdah\[oidc\]'"):
        openid_settings(conf())


def test_the_secret_is_the_line_of_a_file_that_others_cannot_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "secret"
    path.write_text("planted\n")
    path.chmod(0o600)
    with caplog.at_level(logging.DEBUG):
        found = openid_settings(conf(client_secret_file=str(path)))
        assert found.client_secret == "planted"
        path.chmod(0o666)
        with pytest.raises(errors.InvalidConfiguration, match="can be written by others") as open_:
            openid_settings(conf(client_secret_file=str(path)))
        path.chmod(0o644)
        openid_settings(conf(client_secret_file=str(path)))
    assert "can be read or changed by others" in caplog.text
    for shown in (repr(found), caplog.text, str(open_.value)):
        assert "planted" not in shown
    for content in (b"", b"\n", b"\xff", b"x" * 5000):
        path.write_bytes(content)
        with pytest.raises(errors.InvalidConfiguration, match="has no secret"):
            openid_settings(conf(client_secret_file=str(path)))


def test_all_that_decides_who_somebody_is_ends_cookies() -> None:
    stamps = {
        openid_settings(each).stamp
        for each in (
            conf(),
            conf(issuer="https://other.example.com"),
            conf(client_id="other"),
            conf(username_claim="sub"),
            conf(user_rules="DEFAULT"),
        )
    }
    assert len(stamps) == 5
    assert openid_settings(conf(scopes="email")).stamp in stamps
