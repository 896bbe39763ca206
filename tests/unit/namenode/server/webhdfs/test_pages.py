"""What a namenode tells datanodes about itself."""

from __future__ import annotations

import pytest

from howdah.config import Configuration
from howdah.config.nameservices import specialise
from howdah.namenode.server.webhdfs.pages import told_to_datanodes

ONE = {"fs.defaultFS": "hdfs://nn:8020"}
NAMED = {
    "dfs.nameservices": "home",
    "dfs.namenode.rpc-address.home": "nn:8020",
}
TWO = {
    "dfs.nameservices": "home",
    "dfs.ha.namenodes.home": "a,b",
    "dfs.namenode.rpc-address.home.a": "nn1:8020",
    "dfs.namenode.rpc-address.home.b": "nn2:8020",
}


@pytest.mark.req("FS-218")
@pytest.mark.parametrize(
    ("values", "nameservice", "namenode", "told"),
    [
        (ONE, None, None, "nn:8021"),
        (NAMED, "home", None, "nn:8021"),
        (TWO, "home", "a", "home"),
    ],
)
def test_a_datanode_asks_the_nameservice_where_another_namenode_may_become_active(
    values: dict[str, str], nameservice: str | None, namenode: str | None, told: str
) -> None:
    conf = specialise(Configuration(values), nameservice, namenode)
    assert told_to_datanodes(conf, lambda: 8021)() == told
