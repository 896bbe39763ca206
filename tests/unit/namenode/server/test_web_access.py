"""Who gets images and edits of a secured namenode, through its guard."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.config.nameservices import specialise
from howdah.namenode.server.web_access import web_guard
from howdah.security import server_principals
from tests.support.security.guards import WEB_PRINCIPAL, answered

CONF = {
    "fs.defaultFS": "hdfs://localhost:8020",
    "hadoop.security.authentication": "kerberos",
    "dfs.namenode.kerberos.principal": "nn/_HOST@EXAMPLE.COM",
    "dfs.datanode.kerberos.principal": "dn/_HOST@EXAMPLE.COM",
    "dfs.secondary.namenode.kerberos.principal": "sn/elsewhere@EXAMPLE.COM",
    **WEB_PRINCIPAL,
}
ALL_ARE_HDFS = {
    "hadoop.security.auth_to_local": ("RULE:[2:$1@$0]([njds]n@EXAMPLE.COM)s/.*/hdfs/ DEFAULT"),
    "dfs.cluster.administrators": "hdfs",
}


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_principals, "host_names", lambda host: [host])


@pytest.mark.parametrize("rules", [{}, ALL_ARE_HDFS], ids=["default", "all-are-hdfs"])
@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("nn/localhost@EXAMPLE.COM", 200),
        ("sn/elsewhere@EXAMPLE.COM", 200),
        ("nn/localhost@OTHER.ORG", 403),
        ("nn/other.example.com@EXAMPLE.COM", 403),
        ("nn@EXAMPLE.COM", 403),
        ("dn/localhost@EXAMPLE.COM", 403),
        ("sn/localhost@EXAMPLE.COM", 403),
        ("nn/a/localhost@EXAMPLE.COM", 403),
        ("alice@EXAMPLE.COM", 403),
    ],
)
def test_only_namenodes_and_the_secondary_get_images(
    monkeypatch: pytest.MonkeyPatch, rules: dict[str, str], principal: str, expected: int
) -> None:
    """Whatever short names others have."""
    ask = answered(monkeypatch, web_guard, Configuration({**CONF, **rules}), "nn")
    assert ask(principal, "127.0.0.1", "/imagetransfer") == expected


def test_listed_administrators_get_images(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = answered(monkeypatch, web_guard, Configuration({**CONF, **ALL_ARE_HDFS}), "nn")
    assert ask("hdfs@EXAMPLE.COM", "127.0.0.1", "/imagetransfer") == 200
    assert ask("nn/anywhere@EXAMPLE.COM", "127.0.0.1", "/logs") == 200


def test_namenodes_of_other_nameservices_get_no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration names remote clusters, too, for those who copy between them."""
    conf = Configuration(
        {
            **CONF,
            "dfs.nameservices": "here,there",
            "dfs.ha.namenodes.here": "a,b",
            "dfs.namenode.rpc-address.here.a": "a.example.com:8020",
            "dfs.namenode.rpc-address.here.b": "b.example.com:8020",
            "dfs.ha.namenodes.there": "a,b",
            "dfs.namenode.rpc-address.there.a": "c.example.com:8020",
            "dfs.namenode.rpc-address.there.b": "d.example.com:8020",
        }
    )
    ask = answered(monkeypatch, web_guard, specialise(conf, "here", "a"), "nn")
    got = [
        ask(f"nn/{host}.example.com@EXAMPLE.COM", "10.0.0.1", "/imagetransfer") for host in "abcd"
    ]
    assert got == [200, 200, 403, 403]


def test_a_nameservice_of_one_namenode_needs_no_address_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    conf = specialise(Configuration({**CONF, "dfs.nameservices": "here"}), "here", None)
    ask = answered(monkeypatch, web_guard, conf, "nn")
    assert ask("nn/localhost@EXAMPLE.COM", "127.0.0.1", "/imagetransfer") == 200


def test_a_principal_that_is_none_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of breaking each connection off that asks for an image."""
    key = "dfs.secondary.namenode.kerberos.principal"
    with pytest.raises(errors.InvalidConfiguration, match=rf"{key}.*is not a Kerberos principal"):
        answered(monkeypatch, web_guard, Configuration({**CONF, key: "sn/_HOST/x@R"}), "nn")
