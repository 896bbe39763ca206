"""Whom a datanode reports to, by its configuration."""

from __future__ import annotations

import pytest

from howdah import errors
from howdah.config import Configuration
from howdah.datanode.keeper.namenode_addresses import configured_nameservices

HA = {
    "dfs.nameservices": "east, west",
    "dfs.ha.namenodes.east": "nn1,nn2",
    "dfs.namenode.rpc-address.east.nn1": "e1:8020",
    "dfs.namenode.rpc-address.east.nn2": "e2",
    "dfs.namenode.rpc-address.west": "w:9000",
}


def test_without_nameservices_there_is_one_namenode() -> None:
    conf = Configuration({"fs.defaultFS": "hdfs://nn:9000"})
    assert configured_nameservices(conf) == {"": (("nn", 9000),)}


def test_the_service_address_comes_first() -> None:
    values = {"fs.defaultFS": "hdfs://nn", "dfs.namenode.servicerpc-address": "nn:8021"}
    assert configured_nameservices(Configuration(values)) == {"": (("nn", 8021),)}
    values = HA | {"dfs.namenode.servicerpc-address.east.nn1": "e1-internal"}
    assert configured_nameservices(Configuration(values))["east"][0] == ("e1-internal", 8021)


def test_each_namenode_of_each_nameservice_is_found() -> None:
    assert configured_nameservices(Configuration(HA)) == {
        "east": (("e1", 8020), ("e2", 8020)),
        "west": (("w", 9000),),
    }


def test_internal_nameservices_are_those_that_datanodes_report_to() -> None:
    values = HA | {"dfs.internal.nameservices": "west"}
    assert list(configured_nameservices(Configuration(values))) == ["west"]


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
        configured_nameservices(Configuration(HA | changes))
