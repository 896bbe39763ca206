"""The configuration of web ports that ask for a proof."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.protocol.web_authentication.negotiation import Known
from howdah.security.server_methods import ServerIdentity
from howdah.security.web_settings import WebSecurity, web_security

PRINCIPAL = {"dfs.web.authentication.kerberos.principal": "HTTP/_HOST@EXAMPLE.COM"}
SECRET = "hadoop.http.authentication.signature.secret.file"


@pytest.fixture(autouse=True)
def any_keytab(monkeypatch: pytest.MonkeyPatch) -> list[ServerIdentity]:
    """No keytab is read."""
    seen: list[ServerIdentity] = []
    monkeypatch.setattr(ServerIdentity, "check", lambda identity: seen.append(identity))
    return seen


def made(**conf: str) -> WebSecurity:
    values = {name.replace("__", "."): value for name, value in conf.items()}
    found = web_security(Configuration({**PRINCIPAL, **values}), "Host.Example.com", "/own")
    assert found is not None
    return found


def test_without_a_principal_nobody_is_proven() -> None:
    assert web_security(Configuration(), "host", "/own") is None


def test_the_principal_is_of_the_host_and_its_keytab_the_nearest(
    any_keytab: list[ServerIdentity],
) -> None:
    assert str(made().identity.principal) == "HTTP/host.example.com@EXAMPLE.COM"
    assert made().identity.keytab == "/own"
    general = {"hadoop.http.authentication.kerberos.keytab": "/general"}
    assert made(**general).identity.keytab == "/general"
    both = {**general, "dfs.web.authentication.kerberos.keytab": "/web"}
    assert made(**both).identity.keytab == "/web"
    assert len(any_keytab) >= 3, "each is looked at"


@pytest.mark.parametrize("principal", ["*", "HTTP", "HTTP/_HOST"])
def test_a_principal_that_names_none_is_refused(principal: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs\.web\.authentication"):
        made(dfs__web__authentication__kerberos__principal=principal)


@pytest.mark.parametrize("mode", [0o620, 0o660, 0o602, 0o666])
def test_a_secret_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"a planted secret")
    secret.chmod(mode)
    with pytest.raises(
        errors.InvalidConfiguration, match=f"{SECRET} .*written by others .*{mode:04o}.*chmod go-w"
    ) as caught:
        made(**{SECRET: str(secret)})
    assert "planted" not in str(caught.value)
    secret.chmod(mode & ~0o022)
    assert made(**{SECRET: str(secret)})


def test_cookies_are_signed_by_the_whole_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a planted secret\n")
    second.write_bytes(b"a planted secret")
    first.chmod(0o640)
    with caplog.at_level(logging.WARNING):
        ours = made(**{SECRET: str(first)})
    assert "chmod 600" in caplog.text
    assert "planted" not in caplog.text + repr(ours)
    cookie = ours.negotiation.accepted("a", "a@R", b"", 0, is_secure=False)["Set-Cookie"]
    headers = {"cookie": cookie.partition(";")[0]}
    same, other, random = (
        made(**conf) for conf in ({SECRET: str(first)}, {SECRET: str(second)}, {})
    )
    assert isinstance(same.negotiation.begin(headers, 1), Known)
    for stranger in (other, random, made()):
        assert not isinstance(stranger.negotiation.begin(headers, 1), Known)


@pytest.mark.parametrize("content", [b"x" * 15, b"  " * 16 + b"\n", b"Of a moment\n"])
def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    with pytest.raises(errors.InvalidConfiguration) as caught:
        made(**{SECRET: str(path)})
    assert f"has {len(content.strip())} bytes" in str(caught.value)
    assert f"openssl rand -hex 32 > {path}" in str(caught.value)
    assert "moment" not in str(caught.value)
    path.write_bytes(b"hadoop httpfs secret\n")
    with pytest.raises(errors.InvalidConfiguration, match="everybody knows"):
        made(**{SECRET: str(path)})
    path.write_bytes(b"x" * 16)
    made(**{SECRET: str(path)})


@pytest.mark.parametrize("content", [None, b"", b" \n"])
def test_a_secret_that_is_asked_for_has_to_be_there(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(errors.InvalidConfiguration, match=r"signature\.secret\.file"):
        made(**{SECRET: str(path)})
    with pytest.raises(errors.InvalidConfiguration, match="cannot be read"):
        made(**{SECRET: str(tmp_path)})


def test_a_cookie_counts_for_as_long_as_is_said_and_where_it_is_said() -> None:
    ours = made(
        **{
            "hadoop.http.authentication.token.validity": "5",
            "hadoop.http.authentication.cookie.domain": "example.com",
        }
    )
    cookie = ours.negotiation.accepted("a", "a@R", b"", 0, is_secure=False)["Set-Cookie"]
    assert "&e=5000&" in cookie
    assert "; Domain=example.com" in cookie
    with pytest.raises(errors.InvalidConfiguration, match="does not fit into a cookie"):
        made(**{"hadoop.http.authentication.cookie.domain": "a; Path=/x"})


@pytest.mark.parametrize(
    ("conf", "is_open"),
    [
        ({}, False),
        ({"hadoop.http.authentication.type": "simple"}, True),
        ({"hadoop.http.authentication.type": "kerberos"}, False),
        (
            {
                "hadoop.http.authentication.type": "simple",
                "hadoop.http.authentication.simple.anonymous.allowed": "false",
            },
            False,
        ),
    ],
)
def test_pages_are_open_where_that_is_said_alone(conf: dict[str, str], is_open: bool) -> None:
    assert made(**conf).pages_are_open is is_open
