"""Our writer and reader on Hadoop's journal nodes, and on a quorum of both kinds."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from howdah.config import Configuration
from howdah.config.journal_uri import JournalUri
from howdah.formats.edits import edits
from howdah.formats.edits.codec import encode_record
from howdah.formats.edits.edits import LoggedEdit
from howdah.local.ports import LOOPBACK, Ports
from howdah.namenode.journal.quorum.quorum_journal import QuorumJournal
from howdah.namenode.journal.quorum.quorum_log import QuorumLog
from howdah.namenode.journal.quorum.settings import QuorumSettings
from howdah.namenode.state.edit_log.journal import Batch
from howdah.storage.segments import list_segments
from howdah.testing.orphan_killer import Guard
from howdah.testing.waiting import wait_until
from tests.support.hadoop.java import hadoop_java
from tests.support.hadoop.mixed import WEB_APPS
from tests.support.journals.quorum import VERSION

JOURNAL_NODE = "org.apache.hadoop.hdfs.qjournal.server.JournalNode"
START_TIMEOUT_S = 60
LEASE = {"howdah.ha.lease.ms": "300"}


class Nodes:
    """Journal nodes as processes; some are Hadoop's, some are ours."""

    def __init__(self, base: Path, kinds: tuple[str, ...], class_path: str) -> None:
        self._base = base
        self._kinds = kinds
        self._class_path = class_path
        self._guard = Guard()
        free = Ports()
        ports = [free.free(LOOPBACK) for _ in range(2 * len(kinds))]
        self._rpc, self._http = ports[: len(kinds)], ports[len(kinds) :]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for number in range(len(kinds)):
            self._begin(number)
        for number in range(len(kinds)):
            self._wait(number)

    def directory(self, number: int) -> Path:
        return self._base / f"jn{number}"

    def log(self, **settings: str) -> QuorumLog:
        uri = JournalUri(tuple(("127.0.0.1", port) for port in self._rpc), "ns")
        return QuorumLog(uri, VERSION, QuorumSettings.of(Configuration(settings), None), "ns")

    def start(self, number: int) -> None:
        self._begin(number)
        self._wait(number)

    def kill(self, number: int) -> None:
        process = self._processes.pop(number)
        process.kill()
        process.wait()

    def close(self) -> None:
        self._guard.close()
        for process in self._processes.values():
            process.wait()

    def _begin(self, number: int) -> None:
        conf = self._base / f"conf{number}"
        conf.mkdir(exist_ok=True)
        for pages in WEB_APPS:
            (conf / "webapps" / pages).mkdir(parents=True, exist_ok=True)
        (conf / "hdfs-site.xml").write_text(
            Configuration(
                {
                    "dfs.journalnode.rpc-address": f"127.0.0.1:{self._rpc[number]}",
                    "dfs.journalnode.http-address": f"127.0.0.1:{self._http[number]}",
                    "dfs.journalnode.edits.dir": str(self.directory(number)),
                    "dfs.ha.tail-edits.in-progress": "true",
                }
            ).to_xml()
        )
        if self._kinds[number] == "hadoop":
            command = [*hadoop_java(self._class_path, conf), JOURNAL_NODE]
        else:
            command = [sys.executable, "-m", "howdah", "journalnode", "--conf", str(conf)]
        with (self._base / f"jn{number}.log").open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={k: v for k, v in os.environ.items() if k != "HADOOP_CONF_DIR"},
                start_new_session=True,
            )
        self._guard.watch(process.pid)
        self._processes[number] = process

    def _wait(self, number: int) -> None:
        def listens() -> bool:
            with socket.socket() as connection:
                return connection.connect_ex(("127.0.0.1", self._rpc[number])) == 0

        wait_until(listens, START_TIMEOUT_S, f"journal node {number} listens")


@pytest.fixture(
    params=[
        pytest.param(("hadoop", "hadoop", "howdah"), id="mixed"),
        pytest.param(("hadoop",) * 3, id="hadoop", marks=pytest.mark.torture),
    ]
)
def nodes(request: pytest.FixtureRequest, tmp_path: Path, hadoop_classpath: str) -> Iterator[Nodes]:
    started = Nodes(tmp_path, request.param, hadoop_classpath)
    yield started
    started.close()


def record(txid: int, edit: edits.Edit | None = None) -> Batch:
    return Batch(txid, 1, encode_record(txid, edit or edits.SetReplicationOp(f"/{txid}", 2)))


def write(journal: QuorumJournal, first_txid: int, last_txid: int, *, ends: bool = True) -> None:
    journal.begin_segment(first_txid)
    journal.append(record(first_txid, edits.StartLogSegmentOp()))
    for txid in range(first_txid + 1, last_txid):
        journal.append(record(txid))
    journal.append(record(last_txid, edits.EndLogSegmentOp() if ends else None))
    journal.make_durable()
    if ends:
        journal.end_segment(last_txid)


def txids(found: Iterable[LoggedEdit]) -> list[int]:
    return [logged.txid for logged in found]


def finished(directory: Path) -> list[tuple[int, int | None]]:
    segments = list_segments(directory / "ns" / "current")
    return [(each.first_txid, each.last_txid) for each in segments]


@pytest.mark.req("FS-060", "FS-061", "FS-070", "FS-071", "LM-015", "LM-016")
def test_our_writer_and_reader_on_journal_nodes_of_hadoop(nodes: Nodes) -> None:
    log = nodes.log(**LEASE)
    assert not log.is_formatted()
    log.format(VERSION)
    assert log.is_formatted()
    first = log.take_over()
    write(first, 1, 5)
    write(first, 6, 9, ends=False)
    assert txids(log.edits(1, unfinished=False)) == [1, 2, 3, 4, 5]
    assert txids(log.edits(7, unfinished=True)) == [7, 8, 9]
    # A reader that comes late reads files of segments, and the unfinished one from memory.
    assert txids(nodes.log().edits(2, unfinished=True)) == list(range(2, 10))
    until_ms = first.lease_until_ms()
    assert until_ms > 0

    # One node dies, and misses edits: another writer recovers what was acknowledged.
    nodes.kill(0)
    first.append(record(10))
    first.make_durable()
    nodes.start(0)
    wait_until(lambda: first.wants_segment, 20, "the node that restarted is back")
    second = nodes.log(**LEASE).take_over()
    assert second.epoch == 2
    assert second.recovered.segment is not None
    assert second.recovered.segment.last_txid == 10
    assert second.serve_from_ms() >= first.lease_until_ms()
    first.append(record(11))
    with pytest.raises(OSError, match="is less than the last promised epoch 2"):
        first.make_durable()
    write(second, 11, 14)
    assert txids(log.edits(1, unfinished=False)) == list(range(1, 15))

    def has_caught_up(current: Path) -> bool:
        return (11, 14) in finished(current)

    for number in range(3):
        wait_until(partial(has_caught_up, nodes.directory(number)), 60, "it caught up")
    second.purge_before(11)
    first.close()
    second.close()
