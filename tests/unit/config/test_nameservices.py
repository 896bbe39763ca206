"""Nameservices and namenodes, as a configuration names them."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration, keys, nameservices
from howdah.config.nameservices import Identity, datanode_nameservices, lifeline_addresses
from howdah.runtime.local_addresses import is_this_host

HA = {
    "dfs.nameservices": "east, west",
    "dfs.ha.namenodes.east": "nn1,nn2",
    "dfs.namenode.rpc-address.east.nn1": "e1:8020",
    "dfs.namenode.rpc-address.east.nn2": "e2",
    "dfs.namenode.rpc-address.west": "w:9000",
}


def test_without_nameservices_there_is_one_namenode() -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://nn:9000"})
    assert datanode_nameservices(conf) == {"": (("nn", 9000),)}


def test_the_service_address_comes_first() -> None:
    values = {"fs.defaultFS": "hdfs://nn", "dfs.namenode.servicerpc-address": "nn:8021"}
    assert datanode_nameservices(Configuration(values)) == {"": (("nn", 8021),)}
    values = HA | {"dfs.namenode.servicerpc-address.east.nn1": "e1-internal"}
    assert datanode_nameservices(Configuration(values))["east"][0] == ("e1-internal", 8021)


def test_each_namenode_of_each_nameservice_is_found() -> None:
    assert datanode_nameservices(Configuration(HA)) == {
        "east": (("e1", 8020), ("e2", 8020)),
        "west": (("w", 9000),),
    }


def test_internal_nameservices_are_those_that_datanodes_report_to() -> None:
    values = HA | {"dfs.internal.nameservices": "west"}
    assert list(datanode_nameservices(Configuration(values))) == ["west"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dfs.internal.nameservices": "north"}, "names north, which is not in dfs.nameservices"),
        ({"dfs.nameservices": "south"}, "set dfs.namenode.servicerpc-address.south or"),
        ({"dfs.ha.namenodes.east": "nn1,nn3"}, "no address of namenode east.nn3"),
        ({"dfs.namenode.rpc-address.west": "w:port"}, "dfs.namenode.rpc-address.west = 'w:port'"),
        ({"dfs.namenode.rpc-address.west": "e2:8020"}, "e2:8020 is the address of two namenodes"),
        (
            {"dfs.namenode.rpc-address.east.nn2": "e1:8020"},
            "e1:8020 is the address of two namenodes",
        ),
    ],
)
def test_a_configuration_that_contradicts_itself_is_refused(
    changes: dict[str, str], message: str
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=message):
        datanode_nameservices(Configuration(HA | changes))


# -- names and addresses ---------------------------------------------------------------


def test_a_nameservice_without_named_namenodes_has_one() -> None:
    conf = Configuration(HA)
    assert nameservices.nameservices(conf) == ("east", "west")
    assert nameservices.namenode_ids(conf, "east") == ("nn1", "nn2")
    assert nameservices.namenode_ids(conf, "west") == ()
    assert nameservices.rpc_addresses(conf, "west") == {"": ("w", 9000)}
    assert [nameservices.is_highly_available(conf, name) for name in ("east", "west", None)] == [
        True,
        False,
        False,
    ]


def test_pages_are_at_the_host_of_the_calls_unless_said() -> None:
    values = HA | {
        "dfs.namenode.http-address.east.nn1": "0.0.0.0:9871",
        "dfs.namenode.http-address.west": "pages:80",
    }
    conf = Configuration(values)
    assert nameservices.http_addresses(conf, "east") == {"nn1": ("e1", 9871), "nn2": ("e2", 9870)}
    assert nameservices.http_addresses(conf, "west") == {"": ("pages", 80)}
    assert nameservices.http_addresses(Configuration({"fs.defaultFS": "hdfs://nn"}), None) == {
        "": ("127.0.0.1", 9870)
    }


def test_a_bad_address_names_its_key() -> None:
    conf = Configuration(HA | {"dfs.namenode.rpc-address.east.nn2": "e2:port"})
    with pytest.raises(errors.InvalidConfiguration, match=r"dfs.namenode.rpc-address.east.nn2"):
        nameservices.rpc_addresses(conf, "east")


# -- which of them a server is ---------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "local", "identity"),
    [
        ({}, "e2", Identity("east", "nn2")),
        ({}, "w", Identity("west", None)),
        ({"dfs.ha.namenode.id": "nn1"}, "elsewhere", Identity("east", "nn1")),
        ({"dfs.nameservice.id": "west"}, "elsewhere", Identity("west", None)),
        ({"dfs.nameservice.id": "east"}, "e1", Identity("east", "nn1")),
        ({"dfs.nameservices": "west"}, "elsewhere", Identity("west", None)),
    ],
)
def test_a_server_is_found_by_its_names_or_its_address(
    changes: dict[str, str], local: str, identity: Identity
) -> None:
    conf = Configuration(HA | changes)
    assert nameservices.this_namenode(conf, lambda host: host == local) == identity


def test_without_nameservices_a_server_has_no_names() -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://nn"})
    assert nameservices.this_namenode(conf, lambda _: False) == Identity(None, None)


@pytest.mark.parametrize(
    ("changes", "local", "message"),
    [
        ({}, (), "no namenode has an address of this machine. Set dfs.nameservice.id"),
        ({}, ("e1", "w"), "address of this machine: east.nn1, west. Set"),
        ({"dfs.nameservice.id": "north"}, (), "dfs.nameservice.id = north is not in"),
        ({"dfs.ha.namenode.id": "nn3"}, (), "dfs.ha.namenode.id = nn3 is not in"),
        ({"dfs.nameservices": "", "dfs.ha.namenode.id": "nn1"}, (), "dfs.nameservices is not set"),
    ],
)
def test_a_server_that_is_not_found_says_what_to_set(
    changes: dict[str, str], local: tuple[str, ...], message: str
) -> None:
    with pytest.raises(errors.InvalidConfiguration, match=message):
        nameservices.this_namenode(Configuration(HA | changes), local.__contains__)


def test_the_longest_name_of_a_key_wins() -> None:
    values = HA | {
        "dfs.namenode.name.dir": "/all",
        "dfs.namenode.name.dir.east": "/east",
        "dfs.namenode.name.dir.east.nn2": "/${user.home}/nn2",
        "dfs.ha.automatic-failover.enabled.east": "true",
        "dfs.ha.automatic-failover.enabled.east.nn2": "false",
        "ha.zookeeper.quorum.east": "z1:2181",
    }
    conf = Configuration(values)

    def directory(nameservice: str, namenode: str | None) -> str | None:
        own = nameservices.specialise(conf, nameservice, namenode)
        return dict(own.items())["dfs.namenode.name.dir"]

    assert directory("west", None) == "/all"
    assert directory("east", "nn1") == "/east"
    assert directory("east", "nn2") == "/${user.home}/nn2"
    own = nameservices.specialise(conf, "east", "nn2")
    assert own.raw("dfs.ha.automatic-failover.enabled") == "true"
    assert own.raw("ha.zookeeper.quorum") == "z1:2181"
    assert own.get(keys.DFS_NAMENODE_RPC_ADDRESS) == ("e2", 8020)
    assert nameservices.this_namenode(own, lambda _: False) == Identity("east", "nn2")
    assert own.source("dfs.namenode.name.dir") == "dfs.namenode.name.dir.east.nn2 from code"


def test_the_others_are_those_of_the_same_nameservice() -> None:
    others = nameservices.others(Configuration(HA), Identity("east", "nn1"))
    assert {name: conf.get(keys.DFS_NAMENODE_RPC_ADDRESS) for name, conf in others.items()} == {
        "nn2": ("e2", 8020)
    }
    assert nameservices.others(Configuration(HA), Identity("west", None)) == {}


def test_loopback_is_this_machine_and_a_test_network_is_not() -> None:
    assert is_this_host("127.0.0.1")
    assert is_this_host("localhost")
    assert not is_this_host("192.0.2.1")
    assert not is_this_host("")
    assert not is_this_host("a..b")


def test_lifelines_go_to_the_namenode_that_takes_the_heartbeats() -> None:
    values = {"fs.defaultFS": "hdfs://nn", "dfs.namenode.lifeline.rpc-address": "nn:8050"}
    assert lifeline_addresses(Configuration(values)) == {("nn", 8020): ("nn", 8050)}
    values = HA | {
        "dfs.namenode.servicerpc-address.east.nn1": "e1-internal:8021",
        "dfs.namenode.lifeline.rpc-address.east.nn1": "e1-internal:8050",
    }
    assert lifeline_addresses(Configuration(values)) == {
        ("e1-internal", 8021): ("e1-internal", 8050)
    }
    assert lifeline_addresses(Configuration(HA)) == {}
