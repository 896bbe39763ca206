"""The names by which clients find tokens for a server."""

from __future__ import annotations

import pytest

from howdah.config import Configuration
from howdah.fs.hdfs.tokens import rpc_service, service_at
from howdah.fs.webhdfs.filesystem import WebHdfsFileSystem

PAIR = {
    "dfs.nameservices": "ns",
    "dfs.ha.namenodes.ns": "a,b",
    "dfs.namenode.rpc-address.ns.a": "h1:8020",
    "dfs.namenode.rpc-address.ns.b": "h2:8020",
    "dfs.namenode.http-address.ns.a": "h1:9870",
    "dfs.namenode.http-address.ns.b": "h2:9870",
}


@pytest.mark.parametrize(
    ("use_ip", "service"), [("true", "127.0.0.1:8020"), ("false", "localhost:8020")]
)
def test_a_server_is_named_by_its_address_or_its_name(use_ip: str, service: str) -> None:
    conf = Configuration({"hadoop.security.token.service.use_ip": use_ip})
    assert service_at(("LocalHost", 8020), conf) == service
    assert rpc_service("LocalHost", conf) == service


def test_a_nameservice_is_named_itself() -> None:
    conf = Configuration(PAIR)
    assert rpc_service("ns", conf) == "ha-hdfs:ns"
    with WebHdfsFileSystem("ns", conf, "bob") as fs:
        assert fs._token_service() == "ha-webhdfs:ns"
    with WebHdfsFileSystem("127.0.0.1:9870", conf, "bob") as fs:
        assert fs._token_service() == "127.0.0.1:9870"
