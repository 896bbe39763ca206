"""Java's DFSInotifyEventInputStream reads our events."""

from __future__ import annotations

from typing import Any

import pytest

from howdah.fs.acl import parse_acl
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.testing import MiniCluster

pytestmark = pytest.mark.timeout(300)


def test_java_sees_what_happens(howdah_cluster: MiniCluster, spark: Any) -> None:
    jvm = spark._jvm
    conf = spark._jsc.hadoopConfiguration()
    admin = jvm.org.apache.hadoop.hdfs.client.HdfsAdmin(jvm.java.net.URI(howdah_cluster.uri), conf)
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/java-watches")
        stream = admin.getInotifyEventStream(fs.inotify().read_txid)
        with fs.create("/java-watches/f", replication=1) as out:
            out.write(b"12345")
        fs.set_replication("/java-watches/f", 2)
        fs.modify_acl_entries("/java-watches/f", parse_acl("user:bob:r--"))
        fs.set_xattr("/java-watches/f", "user.mark", b"x")
        fs.truncate("/java-watches/f", 0)
        fs.rename("/java-watches/f", "/java-watches/g")
        fs.delete("/java-watches", recursive=True)
        told: list[str] = []
        while not told or not told[-1].startswith("UnlinkEvent"):
            batch = stream.poll(20, jvm.java.util.concurrent.TimeUnit.SECONDS)
            assert batch is not None, f"nothing came behind {told}"
            told += [event.toString() for event in batch.getEvents()]
    told = [line for line in told if "/java-watches" in line]
    assert [line.split(" ")[0] for line in told] == [
        "CreateEvent",
        "CloseEvent",
        "MetadataUpdateEvent",
        "MetadataUpdateEvent",
        "MetadataUpdateEvent",
        "TruncateEvent",
        "RenameEvent",
        "UnlinkEvent",
    ]
    assert "fileSize=5" in told[1]
    assert "replication=2" in told[2]
    assert "user:bob:r--" in told[3]
