"""Whether a principal is a certain server's."""

from __future__ import annotations

import pytest

from howdah.protocol.sasl.principals import Principal
from howdah.security import server_principals
from howdah.security.hosts import KnownHosts
from howdah.security.server_principals import comes_from_its_host, is_of_kind

ANY_HOST = Principal.parse("dn/_HOST@R")
ONE_HOST = Principal.parse("dn/named@R")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that name servers were asked for."""
    asked: list[str] = []

    def named(address: str) -> str:
        asked.append(address)
        return {"10.0.0.1": "here"}.get(address, address)

    monkeypatch.setattr(server_principals, "_HOSTS", KnownHosts(named, lambda: 0.0))
    monkeypatch.setattr(server_principals, "host_names", lambda host: [f"{host}.org", host])
    return asked


@pytest.mark.parametrize(
    ("principal", "wanted", "address", "expected"),
    [
        ("dn/here@R", ANY_HOST, "10.0.0.1", True),
        ("dn/here.org@R", ANY_HOST, "10.0.0.1", True),
        ("dn/here@R", ANY_HOST, "10.0.0.2", False),
        ("dn/there@R", ANY_HOST, "10.0.0.1", False),
        ("dn/named@R", ONE_HOST, "10.0.0.2", True),
        ("dn/here@R", ONE_HOST, "10.0.0.1", False),
        ("dn/_HOST@R", ANY_HOST, "10.0.0.1", False),
    ],
)
@pytest.mark.usefixtures("asked")
def test_a_server_comes_from_its_host(
    principal: str, wanted: Principal, address: str, expected: bool
) -> None:
    assert comes_from_its_host(principal, wanted, address) is expected


@pytest.mark.parametrize("principal", ["nn/here@R", "dn/here@S", "dn@R", "dn/a/here@R", "alice@R"])
def test_no_name_server_is_asked_about_who_is_no_such_server(
    asked: list[str], principal: str
) -> None:
    assert not is_of_kind(principal, ANY_HOST)
    assert not comes_from_its_host(principal, ANY_HOST, "10.0.0.1")
    assert asked == []
