"""Under which names a web port may be asked for."""

from __future__ import annotations

import socket
from pathlib import Path
from unittest import mock

import pytest

from howdah.config import Configuration
from howdah.web import own_hosts
from howdah.web.known_hosts import (
    KnownHosts,
    domains_in_resolver,
    host_of,
    hosts_in,
    names_in_hosts,
    own_names,
)
from howdah.web.own_hosts import OwnHosts, hosts_of

STRANGERS = (
    "attacker.example",
    "attacker.example:9870",
    "nn1.example.com.attacker.example",
    "xnn1.example.com",
    "127.0.0.1.attacker.example:9870",
    "localhost.attacker.example",
    "notlocalhost",
    "localhost@attacker.example",
    "attacker.example@localhost",
    "localhost:80@attacker.example",
    "[attacker.example]:9870",
    "localhost attacker.example",
    "localhost/..",
    "127.1.attacker.example",
    "",
    ":9870",
    "localhost:9870:x",
    "127.0.0.1%.attacker.example",
    "127.0.0.1%.attacker.example:9870",
    "[127.0.0.1]",
    "[127.0.0.1%.attacker.example]:9870",
)


@pytest.mark.parametrize("header", STRANGERS)
def test_a_strangers_name_is_none_of_this_machine(header: str) -> None:
    assert not KnownHosts(["nn1.example.com"]).allows(header)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "localhost",
        "LocalHost:9870",
        "a.localhost:1",
        "127.0.0.1:9870",
        "10.20.30.40",
        "[::1]:9870",
        "[fe80::1%25eth0]:80",
        "nn1.example.com:50070",
        "NN1.Example.com.",
        "any.thing.lan:9870",
    ],
)
def test_own_names_configured_ones_and_addresses_are_let_in(header: str | None) -> None:
    assert KnownHosts(["nn1.example.com", "*.lan"]).allows(header)


def test_a_star_lets_all_names_in() -> None:
    assert all(KnownHosts(["*"]).allows(each) for each in STRANGERS)
    assert not KnownHosts(["*.lan"]).allows("lan")


def test_the_hosts_of_a_configuration_are_those_in_its_addresses() -> None:
    values = [
        ("dfs.namenode.http-address.ns.nn1", "NN1.example.com:9870"),
        ("dfs.namenode.rpc-address.ns.nn2", "nn2:8020"),
        ("dfs.datanode.hostname", "dn7.rack"),
        ("fs.defaultFS", "hdfs://lake.example.com:8020/"),
        ("dfs.namenode.shared.edits.dir", "qjournal://jn1:8485/ns"),
        ("hadoop.proxyuser.hive.hosts", "elsewhere.example"),
    ]
    assert hosts_in(values) == {"nn1.example.com", "nn2", "dn7.rack", "lake.example.com"}


def test_an_address_of_the_configuration_is_no_pattern() -> None:
    stars = [("dfs.namenode.http-address", "*:9870"), ("dfs.namenode.rpc-bind-host", "*")]
    known = KnownHosts(hosts_in([*stars, ("a.hostname", "*.attacker.example")]))
    assert not known.allows("attacker.example")
    assert not known.allows("nn.attacker.example")


def test_a_name_may_be_given_with_its_port() -> None:
    known = KnownHosts(["Proxy.example.com:8443", "*.lan:80"])
    assert known.allows("proxy.example.com:8443")
    assert known.allows("proxy.example.com")
    assert known.allows("a.lan")
    assert not known.allows("lan")


def test_a_machine_has_its_full_name_the_first_part_and_what_its_resolver_completes() -> None:
    assert own_names("dn1", ["dn1.rack.lan", "10.0.0.1"], []) == {"dn1", "dn1.rack.lan"}
    pod = "nn-0.nn.lake.svc.cluster.local"
    found = own_names(pod, [], ["lake.svc.cluster.local", "cluster.local", "other"])
    assert found == {"nn-0", "nn-0.nn", "nn-0.nn.lake.svc", pod}
    # Anybody may register nn.io.
    assert "nn.io" not in own_names("nn.io.example.com", [], [])


def test_the_resolver_completes_names_by_the_domains_in_its_file() -> None:
    text = "# search x\nnameserver 10.0.0.2\nsearch Rack.lan lan.\ndomain example.com\noptions x\n"
    assert domains_in_resolver(text) == {"rack.lan", "lan", "example.com"}


def test_names_of_the_machine_in_its_file_of_hosts() -> None:
    text = "127.0.0.1 localhost\n10.0.0.5 dn1 alias # own\n10.0.0.6 other\n\n# 10.0.0.5 x\n"
    assert names_in_hosts(text, {"127.0.0.1", "10.0.0.5"}) == {"localhost", "dn1", "alias"}


def test_the_full_name_is_looked_up_when_nobody_knows_a_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(own_hosts, "_RESOLVER", tmp_path / "resolv.conf")
    hosts = OwnHosts()
    with mock.patch.object(socket, "getfqdn", return_value="this.rack.lan") as look:
        assert hosts.allows("localhost")
        assert look.call_count == 0
        assert hosts.allows("this.rack.lan:9870")
        assert hosts.allows("this")
        assert not hosts.allows("this.rack")
        assert not hosts.allows("attacker.example")
        assert not hosts.allows("attacker.example")
        assert look.call_count == 1


def test_a_key_names_more_hosts() -> None:
    conf = Configuration({"howdah.http.hosts": "proxy.example.com, *.lan"})
    hosts = hosts_of(conf)
    assert hosts.allows("proxy.example.com")
    assert hosts.allows("a.lan:1")
    assert hosts.allows(socket.gethostname())
    with mock.patch.object(socket, "getfqdn", return_value="x"):
        assert not hosts.allows("attacker.example")


def test_what_is_no_host_has_no_name() -> None:
    assert host_of("a:b") is None
    assert host_of("[::1") is None
