"""Who gets segments of a secured journal node, through its guard."""

from __future__ import annotations

import logging

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.journalnode.web_access import web_guard
from howdah.security import server_principals
from howdah.security.hosts import KnownHosts
from tests.support.security.guards import WEB_PRINCIPAL, answered

CONF = {
    "hadoop.security.authentication": "kerberos",
    "dfs.journalnode.kerberos.principal": "jn/_HOST@EXAMPLE.COM",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.datanode.kerberos.principal": "dn/_HOST@EXAMPLE.COM",
    **WEB_PRINCIPAL,
}
ALL_ARE_HDFS = {
    "hadoop.security.auth_to_local": ("RULE:[2:$1@$0]([njds]n@EXAMPLE.COM)s/.*/hdfs/ DEFAULT"),
    "dfs.cluster.administrators": "hdfs",
}
NAMES = {"127.0.0.1": "localhost"}


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    def named(address: str) -> str:
        return NAMES.get(address, address)

    monkeypatch.setattr(server_principals, "_HOSTS", KnownHosts(named, lambda: 0.0))
    monkeypatch.setattr(server_principals, "host_names", lambda host: [host])


@pytest.mark.parametrize("rules", [{}, ALL_ARE_HDFS], ids=["default", "all-are-hdfs"])
@pytest.mark.parametrize(
    ("principal", "address", "expected"),
    [
        ("jn/localhost@EXAMPLE.COM", "127.0.0.1", 200),
        ("nn/localhost@EXAMPLE.COM", "127.0.0.1", 200),
        ("jn/localhost@EXAMPLE.COM", "10.0.0.9", 403),
        ("jn/other.example.com@EXAMPLE.COM", "127.0.0.1", 403),
        ("nn/other.example.com@EXAMPLE.COM", "10.0.0.9", 403),
        ("dn/localhost@EXAMPLE.COM", "127.0.0.1", 403),
        ("jn@EXAMPLE.COM", "127.0.0.1", 403),
        ("alice@EXAMPLE.COM", "127.0.0.1", 403),
    ],
)
def test_only_servers_at_their_hosts_get_segments(
    monkeypatch: pytest.MonkeyPatch,
    rules: dict[str, str],
    principal: str,
    address: str,
    expected: int,
) -> None:
    """Whatever short names they have."""
    ask = answered(monkeypatch, web_guard, Configuration({**CONF, **rules}), "jn")
    assert ask(principal, address, "/getJournal") == expected


def test_listed_administrators_get_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = answered(monkeypatch, web_guard, Configuration({**CONF, **ALL_ARE_HDFS}), "jn")
    assert ask("hdfs@EXAMPLE.COM", "10.0.0.9", "/getJournal") == 200
    assert ask("jn/anywhere@EXAMPLE.COM", "10.0.0.9", "/logs") == 200


def test_without_a_principal_of_datanodes_no_server_passes_for_an_administrator(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conf = {**CONF, **ALL_ARE_HDFS}
    del conf["dfs.datanode.kerberos.principal"]
    with caplog.at_level(logging.WARNING):
        ask = answered(monkeypatch, web_guard, Configuration(conf), "jn")
    assert "dfs.datanode.kerberos.principal is not set" in caplog.text
    assert ask("dn/localhost@EXAMPLE.COM", "127.0.0.1", "/getJournal") == 403
    assert ask("hdfs@EXAMPLE.COM", "10.0.0.9", "/getJournal") == 200
    assert ask("nn/localhost@EXAMPLE.COM", "127.0.0.1", "/getJournal") == 200


@pytest.mark.parametrize("wanted", ["sn/_HOST/x@R", "sn/@R", "@R"])
def test_a_principal_that_is_none_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    """Instead of breaking each connection off that asks for a segment."""
    key = "dfs.secondary.namenode.kerberos.principal"
    with pytest.raises(errors.InvalidConfiguration, match=rf"{key}.*is not a Kerberos principal"):
        answered(monkeypatch, web_guard, Configuration({**CONF, key: wanted}), "jn")
