"""Filesystems that travel to executors."""

from __future__ import annotations

import pickle

from howdah.config import Configuration
from howdah.copy.common.filesystems import Place
from howdah.fs.hdfs.filesystem import HdfsFileSystem


def test_a_nameservice_travels_with_its_namenodes() -> None:
    """An executor has no configuration of its own."""
    values = {
        "fs.defaultFS": "hdfs://ns",
        "dfs.nameservices": "ns",
        "dfs.ha.namenodes.ns": "a,b",
        "dfs.namenode.rpc-address.ns.a": "one:1",
        "dfs.namenode.rpc-address.ns.b": "two:2",
        "dfs.client.failover.random.order": "false",
    }
    place = Place.of("hdfs://ns/data", Configuration(values), "anna")
    there: Place = pickle.loads(pickle.dumps(place))
    fs = there.connect()
    assert isinstance(fs, HdfsFileSystem)
    assert (fs.uri, fs.user) == ("hdfs://ns", "anna")
    assert fs.client.namenode.address == ("one", 1)
