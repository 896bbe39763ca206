"""Addresses that a namenode cannot listen at stop its start, with their keys."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.errors import InvalidConfiguration
from howdah.namenode.server.nameservice.bound_addresses import Endpoint, check, endpoints
from howdah.namenode.server.process.server import run


def test_each_address_is_known_with_its_key() -> None:
    conf = Configuration(
        {
            "fs.defaultFS": "hdfs://nn:8020",
            "dfs.namenode.rpc-bind-host": "0.0.0.0",
            "dfs.namenode.rpc-address.auxiliary-ports": "8022, 8023",
            "dfs.namenode.servicerpc-address": "nn:8021",
            "dfs.namenode.http-address": "nn:9870",
        }
    )
    assert list(endpoints(conf)) == [
        Endpoint("dfs.namenode.rpc-bind-host", "0.0.0.0", 8020),
        Endpoint("dfs.namenode.rpc-address.auxiliary-ports", "0.0.0.0", 8022),
        Endpoint("dfs.namenode.rpc-address.auxiliary-ports", "0.0.0.0", 8023),
        Endpoint("dfs.namenode.servicerpc-address", "nn", 8021),
        Endpoint("dfs.namenode.http-address", "nn", 9870),
    ]


def test_an_address_in_use_is_told_with_its_key() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            InvalidConfiguration,
            match=rf"^fs\.defaultFS: cannot listen at 127\.0\.0\.1:{port}: Address already in use",
        ):
            check(Endpoint("fs.defaultFS", "127.0.0.1", port))


def test_a_host_that_is_none_stops_the_start_before_anything_is_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conf = Configuration(
        {
            "fs.defaultFS": "hdfs://127.0.0.1:0",
            "dfs.namenode.http-address": "no.such.host.invalid",
            "dfs.namenode.name.dir": str(tmp_path / "missing"),
        }
    )
    assert run(conf) == 1
    assert "dfs.namenode.http-address: cannot listen at no.such.host.invalid:9870" in caplog.text
    assert "missing" not in caplog.text
