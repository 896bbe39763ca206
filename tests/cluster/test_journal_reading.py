"""The log of a running namenode, read by another process that changes nothing."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from howdah.formats.edits import edits
from howdah.fs.hdfs.filesystem import HdfsFileSystem
from howdah.namenode.journal.directory_journal import DirectorySource
from howdah.namenode.journal.log_reader import LogReader
from howdah.storage.layout import StorageDirectory
from howdah.testing import MiniCluster


def durable_txid(cluster: MiniCluster) -> int:
    with urllib.request.urlopen(f"{cluster.http}/status.json", timeout=20) as answer:
        return int(json.load(answer)["durable_txid"])


def edits_directory(cluster: MiniCluster) -> Path:
    (root,) = cluster.data_dirs("namenode")
    return StorageDirectory(root).current


def made(reader: LogReader, from_txid: int, to_txid: int | None) -> list[str]:
    """The directories below /tailed that the edits make."""
    return [
        placed.logged.edit.path
        for _, placed in reader.edits(from_txid, to_txid)
        if isinstance(placed.logged.edit, edits.MkdirOp)
        and placed.logged.edit.path.startswith("/tailed/")
    ]


def test_a_reader_beside_the_namenode_follows_its_log_over_segments(
    howdah_cluster: MiniCluster,
) -> None:
    current = edits_directory(howdah_cluster)
    lock = StorageDirectory(current.parent).lock_file
    holder = lock.read_bytes()
    reader = LogReader(lambda: [DirectorySource(current)])
    with howdah_cluster.connect() as fs:
        assert isinstance(fs, HdfsFileSystem)
        fs.mkdirs("/tailed")
        first = fs.administration.roll_edits()
        fs.mkdirs("/tailed/unfinished")
        durable = durable_txid(howdah_cluster)
        assert made(reader, first, durable) == ["/tailed/unfinished"]
        second = fs.administration.roll_edits()
        fs.mkdirs("/tailed/later")
        assert made(reader, durable + 1, durable_txid(howdah_cluster)) == ["/tailed/later"]
        assert made(reader, first, None) == ["/tailed/unfinished"], "what is finished"
        third = fs.administration.roll_edits()
        assert third > second > durable
        assert made(reader, first, None) == ["/tailed/unfinished", "/tailed/later"]
        fs.delete("/tailed", recursive=True)
    assert lock.read_bytes() == holder
