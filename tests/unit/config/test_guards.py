"""Keys that ask for a protection: acted on, or refused at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from howdah import errors
from howdah.cli.servers import check_configuration
from howdah.config import Configuration, check_protection, keys
from howdah.config.keys.guards import GUARDS
from howdah.config.keys.names.hadoop_names import HADOOP_NAMES
from howdah.web.configuration import Property, respond_conf
from howdah.web.http import Request

OPERATING = Path(__file__).parents[3] / "docs" / "operating.md"
MAPPING = "org.apache.hadoop.security."


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hadoop.rpc.protection", "privacy"),
        ("hadoop.rpc.protection", "authentication,integrity"),
        ("dfs.data.transfer.protection", "integrity"),
        ("hadoop.http.authentication.type", "kerberos"),
        ("hadoop.http.authentication.simple.anonymous.allowed", "false"),
        ("dfs.web.authentication.simple.anonymous.allowed", "false"),
        ("hadoop.http.filter.initializers", f"{MAPPING}AuthenticationFilterInitializer"),
        ("dfs.datanode.httpserver.filter.handlers", "com.example.MyHandler"),
        ("hadoop.security.instrumentation.requires.admin", "true"),
        ("hadoop.security.group.mapping", f"{MAPPING}LdapGroupsMapping"),
        ("dfs.namenode.inode.attributes.provider.class", "org.apache.ranger.Authorizer"),
        ("dfs.namenode.reject-unresolved-dn-topology-mapping", "true"),
        ("hadoop.ssl.require.client.cert", "TRUE"),
        ("hadoop.zk.ssl.enabled", "true"),
        ("dfs.namenode.send.qop.enabled", "true"),
        ("dfs.encrypt.data.overwrite.downstream.derived.qop", "true"),
    ],
)
def test_protection_that_is_not_here_stops_the_start(name: str, value: str) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=f"{name} = .*is not supported"):
        check_configuration(Configuration({name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hadoop.rpc.protection", " authentication "),
        ("hadoop.http.authentication.type", "simple"),
        ("hadoop.http.filter.initializers", "org.apache.hadoop.http.lib.StaticUserWebFilter"),
        ("hadoop.security.group.mapping", f"{MAPPING}ShellBasedUnixGroupsMapping"),
        ("hadoop.security.group.mapping", f"{MAPPING}JniBasedUnixGroupsMappingWithFallback"),
        ("dfs.namenode.inode.attributes.provider.class", ""),
        ("hadoop.ssl.require.client.cert", "false"),
    ],
)
def test_hadoops_defaults_ask_for_nothing(name: str, value: str) -> None:
    check_protection(Configuration({name: value}))


def test_every_guard_is_a_key_of_hadoops_that_is_not_acted_on() -> None:
    assert GUARDS.keys() <= HADOOP_NAMES
    # Clients and servers secured by Kerberos go by these: others would leave open what they ask.
    assert GUARDS.keys() & keys.KNOWN.keys() == {
        "hadoop.http.authentication.simple.anonymous.allowed",
        "hadoop.http.authentication.type",
        "hadoop.security.instrumentation.requires.admin",
        "dfs.data.transfer.protection",
        "hadoop.rpc.protection",
    }
    guide = OPERATING.read_text()
    assert [name for name in GUARDS if f"`{name}`" not in guide] == []


def test_other_keys_of_hadoops_servers_are_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    conf = Configuration(
        {
            "dfs.namenode.fslock.fair": "false",
            "dfs.datanode.lock.fair": "false",
            "dfs.use.dfs.network.topology": "false",
            "dfs.client.congestion.backoff.max.time": "5",
            "fs.s3a.access.key": "k",
            "dfs.replication": "2",
        }
    )
    check_configuration(conf)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        "3 keys of Hadoop's servers are set and have no effect here: dfs.datanode.lock.fair, "
        "dfs.namenode.fslock.fair, dfs.use.dfs.network.topology"
    )


def test_administrator_names_more_keys_that_conf_does_not_show() -> None:
    properties = [
        Property("my.pin", "1234", "x"),
        Property("my.name", "joe", "x"),
        Property("hadoop.security.sensitive-config-keys", "pin$, other\n*odd", "x"),
    ]
    request = Request("GET", "/conf", {"format": "json"}, {}, "127.0.0.1")
    body = bytes(respond_conf(request, properties).body).decode()
    assert "1234" not in body
    assert "joe" in body
